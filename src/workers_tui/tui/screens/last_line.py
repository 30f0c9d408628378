"""What a screen says and asks in its last line, and what may not happen meanwhile."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, TypeVar, cast

from textual import events
from textual.geometry import Region
from textual.screen import Screen
from textual.timer import Timer

from workers_tui.engine.errors import WorkersError
from workers_tui.tui import safe
from workers_tui.tui.panes.editor import About, CellEditor
from workers_tui.tui.panes.footer import Footer
from workers_tui.tui.panes.prompt import Check, Question
from workers_tui.tui.screens.once import in_front, in_use

if TYPE_CHECKING:
    from workers_tui.tui.shell import Shell

T = TypeVar("T")

SAID_FOR, TOLD_FOR = 4.0, 8.0
"""Seconds that an answer, and news, keep the footer."""


class LastLine(Screen[None]):
    """A screen with a footer that speaks."""

    def __init__(self) -> None:
        super().__init__()
        self._silence: Timer | None = None
        self._told: deque[tuple[str, str]] = deque()
        """News that wait until the line is free: text and style."""
        self._typing = 0
        """What is being typed somewhere, or was a moment ago."""
        self._opened = False

    @property
    def ready(self) -> bool:
        """Whether everything it is made of is there to be shown something."""
        return self._opened and in_use(self)

    def say(self, text: str) -> None:
        """The answer to what the user just did, for a moment, wherever they are by now."""
        if self.ready:
            self._show(text, "message", SAID_FOR)
        else:
            cast("Shell", self.app).tell(text)

    def tell(self, text: str, style: str) -> None:
        """What the user did not just do, as soon as the line is free."""
        self._told.append((text, style))
        if self._silence is None:
            self.tell_on()

    def tell_on(self) -> None:
        """Show the next of the news, unless something is in front or being asked."""
        if self._told and self._opened and in_front(self) and not self.busy:
            self._show(*self._told.popleft(), TOLD_FOR)

    @property
    def busy(self) -> bool:
        """Whether something is being typed or asked."""
        return bool(self._typing) or self.query_one(Footer).busy

    def _show(self, text: str, style: str, seconds: float) -> None:
        self.query_one(Footer).show_message(safe.one_line(text), style)
        if self._silence is not None:
            self._silence.stop()
        self._silence = self.set_timer(seconds, self.hush)

    def hush(self) -> None:
        """Take the message back: the keys show again, or what else there is to tell."""
        if self._silence is not None:
            self._silence.stop()
            self._silence = None
        if self.ready:
            self.query_one(Footer).show_message("")
            self.tell_on()

    def forget_told(self) -> None:
        """What was going to be told is true no more."""
        self._told.clear()
        self.hush()

    async def ask(self, question: str) -> bool:
        """A question in the footer, answered with y or n; no if the screen has been left."""
        if not self.ready:
            return False
        with self.typing():
            return await self.query_one(Footer).ask(safe.one_line(question))

    def ask_anew(self, question: str) -> None:
        """Reword the question in the footer; an empty one takes it back."""
        self.query_one(Question).ask_anew(safe.one_line(question))

    async def prompt(
        self,
        label: str,
        value: str = "",
        *,
        check: Check | None = None,
        changed: Callable[[str], None] | None = None,
        hidden: bool = False,
    ) -> str | None:
        """A line of text from the footer; None when the user gave up or left."""
        if not self.ready:
            return None
        footer = self.query_one(Footer)
        live = changed is not None
        with nullcontext() if live else self.typing():
            return await footer.prompt(
                label, value, check=check, changed=changed, hidden=hidden, live=live
            )

    async def edit(self, cell: Region, value: str, about: About) -> str | None:
        """A value edited where it stands; None when the user gave up or left."""
        if not self.ready:
            return None
        self.hush()  # its keys show in the footer
        with self.typing():
            return await CellEditor.edit(self, cell, value, about)

    @contextmanager
    def typing(self) -> Iterator[None]:
        """While something is typed, and until its answer is dealt with, letters do nothing else.

        Who types ahead of the screen means text by it; a letter taken for a key could
        run a job again, which costs money.
        """
        self._typing += 1
        try:
            yield
        finally:
            self.app.call_later(self._let_pass)

    def _let_pass(self) -> None:
        """The app has handed on what was typed before; it is dropped here first."""
        self.call_later(self._let_act)

    def _let_act(self) -> None:
        self._typing -= 1
        if not self._typing and self.is_attached:
            self.refresh_bindings()
            self.tell_on()

    def on_key(self, event: events.Key) -> None:
        """Swallow letters typed ahead."""
        if self._typing and event.is_printable:
            event.stop()
            event.prevent_default()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002 - Textual's signature
        """Nothing that costs happens by a key which overtook what is being typed."""
        return not self._typing

    async def attempt(self, deed: Awaitable[T]) -> T | None:
        """Do something with the engine; say why when it is refused."""
        try:
            return await deed
        except WorkersError as error:
            self.say(str(error))
            return None

    async def look_up(self, answer: Awaitable[T]) -> T | None:
        """What the engine answers, to be shown here; says why when it is refused.

        Ends the worker that waits for it when the screen has been left meanwhile.
        """
        found = await self.attempt(answer)
        if not self.ready:
            raise asyncio.CancelledError
        return found
