"""Every action by name in Textual's command palette, made from the table of keys."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from inspect import isawaitable

from textual import on
from textual.await_complete import AwaitComplete
from textual.command import CommandPalette, DiscoveryHit, Hit, Hits, Provider
from textual.events import Mount
from textual.timer import Timer, TimerCallback
from textual.widgets import Input, OptionList

from workers_tui.tui.key_queue import drop_text
from workers_tui.tui.keymap import DEEDS, Deed
from workers_tui.tui.screens.help import key_names
from workers_tui.tui.screens.once import in_front, nothing_to_close


class Palette(CommandPalette):
    """Textual's palette, which takes one command and closes once.

    While it opens, and while it is taken down, it has no list; Textual looks for one all the same.
    """

    def on_mount(self, event: Mount) -> None:
        """Begin to search, unless the user left while it opened."""
        if not self._has_list:
            event.prevent_default()

    @on(Input.Changed)
    @on(Input.Submitted)
    @on(OptionList.OptionSelected)
    def _only_in_front(
        self, event: Input.Changed | Input.Submitted | OptionList.OptionSelected
    ) -> None:
        if not in_front(self):
            event.stop()
            event.prevent_default()

    @property
    def _has_list(self) -> bool:
        return in_front(self) and bool(self.query(OptionList))

    def set_timer(
        self,
        delay: float,
        callback: TimerCallback | None = None,
        *,
        name: str | None = None,
        pause: bool = False,
    ) -> Timer:
        """A timer that does nothing once the palette closes."""

        async def ring() -> None:
            if callback is not None and self._has_list:
                done = callback()
                if isawaitable(done):
                    await done

        return super().set_timer(delay, ring, name=name, pause=pause)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """No page of a list that has no room yet, or never: Textual would fail."""
        if action == "command_list" and not self.query_one(OptionList).scrollable_content_region:
            return False
        return super().check_action(action, parameters)

    def dismiss(self, result: None = None) -> AwaitComplete:
        """Close once."""
        drop_text(self)
        return super().dismiss(result) if in_front(self) else nothing_to_close()


class Actions(Provider):
    """What can be done on the screen in front."""

    async def discover(self) -> Hits:
        """Everything, in the table's order."""
        for name, deed in self._possible():
            yield DiscoveryHit(self._title(deed), partial(self._do, name), help=self._help(name))

    async def search(self, query: str) -> Hits:
        """What matches what is typed."""
        matcher = self.matcher(query)
        for name, deed in self._possible():
            title = self._title(deed)
            score = matcher.match(title)
            if score > 0:
                shown = matcher.highlight(title)
                yield Hit(score, shown, partial(self._do, name), help=self._help(name))

    def _possible(self) -> Iterator[tuple[str, Deed]]:
        bound = {active.binding.id for active in self.screen.active_bindings.values()}
        return ((name, deed) for name, deed in DEEDS.items() if name in bound)

    async def _do(self, name: str) -> None:
        action = DEEDS[name].action or name
        for active in self.screen.active_bindings.values():
            if active.binding.id == name:
                await self.app.run_action(action, default_namespace=active.node)
                return

    @staticmethod
    def _title(deed: Deed) -> str:
        return deed.help.rstrip(".")

    def _help(self, name: str) -> str:
        """The keys that do it now, which may be the user's own."""
        bound = self.screen.active_bindings.items()
        return f"key: {key_names(','.join(key for key, at in bound if at.binding.id == name))}"
