"""The last line: the keys that do something now, or a question, or an input.

A question is asked here, not in a box; the focus goes back where it was.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from rich.cells import cell_len
from textual.app import ComposeResult
from textual.widget import Widget
from textual.widgets import Input, Static

from workers_tui.tui.panes.hints import Hints
from workers_tui.tui.panes.prompt import Check, Prompt, Question


class Footer(Widget):
    """Hints, a question or a prompt in one line."""

    def __init__(self) -> None:
        super().__init__(id="footer")

    def compose(self) -> ComposeResult:
        """All three; a class says which one shows."""
        yield Hints()
        yield Question()
        yield Prompt()

    @property
    def hints(self) -> Hints:
        """The keys."""
        return self.query_one(Hints)

    def show_message(self, message: str, style: str = "message") -> None:
        """Show a message instead of the keys, on as many lines as it needs."""
        self.hints.show_message(message, style)
        self._make_room()

    def on_resize(self) -> None:
        """A message may need another number of lines."""
        self._make_room()

    def _make_room(self) -> None:
        lines = len(self.hints.lines_at(self.size.width))
        self.set_class(lines == 2, "-two")
        self.set_class(lines > 2, "-three")

    @property
    def busy(self) -> bool:
        """Whether something is being asked."""
        return self.has_class("-asks") or self.has_class("-prompts")

    async def ask(self, question: str) -> bool:
        """Ask for y or n; the focus comes back afterwards."""
        if self.busy:
            return False
        asked = self.query_one(Question)
        asked.update(f" {question} y/n")
        asked.answer = asyncio.get_running_loop().create_future()
        before = self.screen.focused
        self.add_class("-asks")
        asked.focus()
        try:
            return await asked.answer
        finally:
            self.remove_class("-asks")
            self._give_back(before)

    async def prompt(
        self,
        label: str,
        value: str = "",
        *,
        check: Check | None = None,
        changed: Callable[[str], None] | None = None,
        hidden: bool = False,
        live: bool = False,
    ) -> str | None:
        """Ask for a line of text; None when the user gave up.

        `live`: it acts while it is typed, so what follows the enter are keys.
        """
        if self.busy:
            return None
        prompt = self.query_one(Prompt)
        shown = f" {label} "
        name = prompt.query_one("#prompt-label", Static)
        name.update(shown)
        name.styles.width = cell_len(shown)
        entry = prompt.query_one(Input)
        prompt.check, prompt.changed, prompt.live = check, None, live
        entry.password = hidden
        entry.value = value
        entry.cursor_position = len(value)
        remark = check(value) if check else ""
        prompt.query_one("#prompt-remark", Static).update(remark.removeprefix("!"))
        prompt.changed = changed
        prompt.answer = asyncio.get_running_loop().create_future()
        before = self.screen.focused
        self.add_class("-prompts")
        entry.focus()
        try:
            return await prompt.answer
        finally:
            prompt.check = prompt.changed = None
            self.remove_class("-prompts")
            entry.value = ""
            self._give_back(before)

    def _give_back(self, before: Widget | None) -> None:
        if before is not None and before.is_attached and self.is_attached:
            before.focus(scroll_visible=False)
