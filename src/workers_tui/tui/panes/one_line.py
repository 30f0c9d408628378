"""A widget of one line: header, footer, titles and column heads draw themselves so."""

from __future__ import annotations

from collections.abc import Callable

from rich.segment import Segment
from textual.app import RenderResult
from textual.strip import Strip
from textual.widget import Widget


class OneLine(Widget):
    """Gives one strip; Textual asks for it whenever it was refreshed."""

    def line(self) -> Strip:
        """The strip, of any width."""
        raise NotImplementedError

    def render(self) -> RenderResult:
        """Nothing: the line is drawn as a strip."""
        return ""

    def render_line(self, y: int) -> Strip:
        """The line, fitted to the widget."""
        width, base = self.size.width, self.rich_style
        return self.line().adjust_cell_length(width, base) if y == 0 else Strip.blank(width, base)

    def plain_strip(self, text: str) -> Strip:
        """A strip in the widget's own style."""
        return Strip([Segment(text, self.rich_style)])


class ListHead(OneLine):
    """The names of a list's columns, which are asked for whenever they are drawn."""

    def __init__(self, names: Callable[[], str]) -> None:
        super().__init__()
        self._names = names

    def line(self) -> Strip:
        """The names as the list's present width has them."""
        return self.plain_strip(self._names())
