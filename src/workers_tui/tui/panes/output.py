"""Live text that grows at its end: wrapped, made safe, following the tail.

Only the last row is wrapped again when text is added. A bounded tail of
the text is kept; the whole of it is in the result file, one key away.
"""

from __future__ import annotations

from collections.abc import Iterable

from workers_tui.tui import safe
from workers_tui.tui.lines import LineView, Row
from workers_tui.tui.panes.prose import fold

KEPT = 200_000
"""Characters kept at most."""


class Output(LineView):
    """The output of one job."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's own name
        super().__init__(id=id)
        self._text = ""
        self._wrapped: list[str] = []
        self._last_start = 0
        """Where in the text the last row begins: text that is added changes no row above."""
        self._last_row = 0
        """The number of that row."""
        self._width = 0
        self._notes: tuple[Row, ...] = ()
        self._folded: list[Row] = []
        """The notes at the present width."""
        self._growing = False
        self.following = True

    @property
    def row_count(self) -> int:
        """Rows of text, or of the words that stand for none."""
        return len(self._wrapped) if self._text else len(self._folded)

    def row_at(self, index: int) -> Row:
        """One row of wrapped text."""
        if not self._text:
            return self._folded[index]
        text = self._wrapped[index]
        if self._growing and index == len(self._wrapped) - 1:
            return ((" ", ""), (text, ""), ("▌", "run"))
        return ((" ", ""), (text, ""))

    def show_text(self, text: str, *, growing: bool) -> None:
        """Show another text from its end or start."""
        self.following = True
        self._text = _tail(safe.clean(text))
        self._growing = growing
        self._wrap_all()
        self.rows_resized()
        self.redraw_all()
        self.scroll_to(y=self.row_count if growing else 0, animate=False, force=True)

    def add_text(self, text: str) -> None:
        """Text was added at the end."""
        if not text:
            return
        added = safe.clean(text)
        if len(self._text) + len(added) > KEPT * 5 // 4 or not self._text:
            self._text = _tail(self._text + added)
            self._wrap_all()
            self.redraw_all()
        else:
            self._text += added
            before = len(self._wrapped)
            first = self._last_row
            self._wrap_last()
            for index in range(first, max(before, len(self._wrapped))):
                self.redraw_row(index)
        self.rows_resized()
        if self.following:
            self.scroll_to(y=self.row_count, animate=False, force=True)

    def finish(self) -> None:
        """No more text will come."""
        if self._growing:
            self._growing = False
            self.redraw_row(self.row_count - 1)

    def explain(self, notes: Iterable[Row]) -> None:
        """What to say while there is no text."""
        said = tuple(notes)
        if said != self._notes or self._text:
            self._notes = said
            self._fold()
            self._text, self._wrapped = "", []
            self._last_start = self._last_row = 0
            self._growing = False
            self.redraw_all()
            self.rows_resized()
            self.scroll_to(y=0, animate=False, force=True)

    def on_resize(self) -> None:
        """The width changed: wrap again and keep the tail in sight."""
        if self.row_width != self._width:
            self._wrap_all()
            self._fold()
            self.redraw_all()
        super().on_resize()
        if self.following and self._growing:
            self.scroll_to(y=self.row_count, animate=False, force=True)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Scrolling up stops following; reaching the end follows again."""
        super().watch_scroll_y(old_value, new_value)
        self.following = new_value >= self.max_scroll_y

    def follow(self, follow: bool) -> None:
        """Follow the newest line, or stay."""
        self.following = follow
        if follow:
            self.scroll_to(y=self.row_count, animate=False, force=True)

    def _fold(self) -> None:
        self._folded = [line for note in self._notes for line in fold(note, self.row_width)]

    def _wrap_all(self) -> None:
        self._width = self.row_width
        self._wrapped, self._last_start, self._last_row = [], 0, 0
        self._wrap_last()

    def _wrap_last(self) -> None:
        del self._wrapped[self._last_row :]
        width = max(1, self._width - 2)
        *whole, last = self._text[self._last_start :].split("\n")
        for paragraph in whole:
            self._wrapped += safe.wrap(paragraph, width)
        rows, begins = safe.wrap_on(last, width)
        self._wrapped += rows
        self._last_row = len(self._wrapped) - 1
        self._last_start = len(self._text) - len(last) + begins


def _tail(text: str) -> str:
    """The end of a long text, from the start of a line where one is near."""
    if len(text) <= KEPT:
        return text
    cut = len(text) - KEPT
    line = text.find("\n", cut, cut + 2_000)
    return text[line + 1 if line >= 0 else cut :]
