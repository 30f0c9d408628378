"""A cell that becomes an input where it stands, with a line beside it about what is typed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.geometry import Region
from textual.screen import Screen
from textual.widgets import Input, Static

NOTE_WIDTH = 46


class CellEditor(Vertical):
    """An input over a cell. Made by `edit`, gone when it is answered."""

    def __init__(self, cell: Region, value: str, about: Callable[[str], str]) -> None:
        super().__init__()
        self._cell = cell
        self._value = value
        self._about = about
        self.answer: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()

    @classmethod
    async def edit(
        cls, screen: Screen[None], cell: Region, value: str, about: Callable[[str], str]
    ) -> str | None:
        """Let the user edit a value; None when they gave up.

        `about` says what a text would mean; from `!` on it refuses the text.
        """
        if screen.query(cls):
            return None
        before = screen.focused
        editor = cls(cell, value, about)
        await screen.mount(editor)
        try:
            return await editor.answer
        finally:
            await editor.remove()
            if before is not None and before.is_attached:
                before.focus(scroll_visible=False)

    def compose(self) -> ComposeResult:
        """The input and the line about it."""
        yield Input(self._value, compact=True, select_on_focus=True)
        yield Static(self._about(self._value), markup=False)

    def on_mount(self) -> None:
        """Lie over the cell, moved to the left where the line would leave the screen."""
        self.place(self.screen.size.width)
        self.query_one(Input).focus()

    def place(self, screen_width: int) -> None:
        """Take the cell's place on a screen of this width."""
        width = min(max(self._cell.width, NOTE_WIDTH), screen_width)
        x = max(0, min(self._cell.x, screen_width - width))
        self.styles.width = width
        self.styles.offset = (x, self._cell.y)

    def on_input_changed(self, event: Input.Changed) -> None:
        """Say what the text would mean."""
        event.stop()
        said = self._about(event.value)
        self.query_one(Static).update(said.removeprefix("!"))
        self.set_class(said.startswith("!"), "-wrong")

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Take the text unless it is refused."""
        event.stop()
        if not self._about(event.value).startswith("!"):
            self._settle(event.value)

    def on_key(self, event: events.Key) -> None:
        """Escape gives up."""
        if event.key == "escape":
            event.stop()
            self._settle(None)

    def on_descendant_blur(self) -> None:
        """The user went elsewhere: that gives up, too."""
        self._settle(None)

    def _settle(self, value: str | None) -> None:
        if not self.answer.done():
            self.answer.set_result(value)
