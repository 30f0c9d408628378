"""A cell that becomes an input where it stands, with a line beside it about what is typed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from textual import events
from textual.geometry import Region
from textual.screen import Screen
from textual.widgets import Input, Static

from workers_tui.tui.key_queue import drop_text

NOTE_WIDTH = 50

About = Callable[[str], str]
"""What a text would mean; from `!` on it refuses the text."""


class CellNote(Static):
    """The line below the cell."""

    def __init__(self, cell: Region, screen_width: int) -> None:
        super().__init__(markup=False)
        width = min(NOTE_WIDTH, screen_width)
        self.styles.width = width
        self.styles.offset = (max(0, min(cell.x, screen_width - width)), cell.bottom)

    def tell(self, said: str) -> None:
        """Show what there is to say about a text."""
        self.update(said.removeprefix("!"))
        self.set_class(said.startswith("!"), "-wrong")


class CellEditor(Input):
    """An input over a cell. Made by `edit`, gone when it is answered."""

    def __init__(self, cell: Region, value: str, about: About, note: CellNote) -> None:
        super().__init__(value, compact=True, select_on_focus=True)
        self.styles.width = cell.width
        self.styles.offset = cell.offset
        self._about = about
        self._note = note
        self.answer: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()

    @classmethod
    async def edit(cls, screen: Screen[None], cell: Region, value: str, about: About) -> str | None:
        """Let the user edit a value; None when they gave up."""
        if screen.query(cls):
            return None
        before = screen.focused
        note = CellNote(cell, screen.size.width)
        editor = cls(cell, value, about, note)
        await screen.mount(editor, note)
        note.tell(about(value))
        editor.focus()
        try:
            return await editor.answer
        finally:
            await note.remove()
            await editor.remove()
            if before is not None and before.is_attached:
                before.focus(scroll_visible=False)

    def on_input_changed(self, event: Input.Changed) -> None:
        """Say what the text would mean."""
        event.stop()
        self._note.tell(self._about(event.value))

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

    def on_blur(self) -> None:
        """The user went elsewhere: that gives up, too."""
        self._settle(None)

    def _settle(self, value: str | None) -> None:
        if not self.answer.done():
            self.answer.set_result(value)
            drop_text(self)
            self.screen.set_focus(None)  # what is typed next is no text; the screen swallows it
