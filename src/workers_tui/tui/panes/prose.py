"""Sentences in a pane: rows whose last part is folded to the width."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.cells import cell_len

from workers_tui.tui import safe
from workers_tui.tui.lines import LineView, Row


class Prose(LineView):
    """Rows that fold."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's own name
        super().__init__(id=id)
        self._said: Sequence[Row] = ()

    def say(self, rows: Sequence[Row]) -> None:
        """Show these rows."""
        self._said = rows
        self._lay_out()

    def on_resize(self) -> None:
        """Fold to the new width."""
        self._lay_out()
        super().on_resize()

    def _lay_out(self) -> None:
        self.show_rows([line for said in self._said for line in fold(said, self.row_width)])


def fold(said: Row, width: int) -> Iterator[Row]:
    """A row as rows of at most `width` cells; what is folded stands below its own start."""
    used = sum(cell_len(text) for text, _ in said[:-1])
    if not said or used + cell_len(said[-1][0]) <= width or width - used < 12:
        yield said
        return
    text, style = said[-1]
    blank = len(text) - len(text.lstrip(" "))
    lines = safe.wrap(text[blank:], width - used - blank)
    for number, line in enumerate(lines):
        head = said[:-1] if number == 0 else ((" " * used, ""),)
        yield (*head, (" " * blank + line, style))
