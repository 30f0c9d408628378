"""A widget of one line: header, footer, titles and column heads draw themselves so."""

from __future__ import annotations

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
