"""A widget of one line: header, footer, titles and column heads draw themselves so."""

from __future__ import annotations

from collections.abc import Callable

from rich.segment import Segment
from rich.style import Style
from textual.app import RenderResult
from textual.strip import Strip
from textual.widget import Widget

from workers_tui.tui.ink import ink


class OneLine(Widget):
    """Gives one strip; Textual asks for it whenever it was refreshed."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's own name
        super().__init__(id=id)
        self._looks: dict[str, Style] = {}

    @property
    def ground(self) -> Style:
        """The widget's own style; asking Textual for it walks up the whole tree."""
        if "" not in self._looks:
            self._looks[""] = self.rich_style
        return self._looks[""]

    def style_of(self, component: str) -> Style:
        """The style of a part of the line, on the widget's own."""
        style = self._looks.get(component)
        if style is None:
            style = self._looks[component] = self.ground + ink(self, component)
        return style

    def notify_style_update(self) -> None:
        """Another theme, class or focus: what was kept has the wrong colours."""
        super().notify_style_update()
        self._looks.clear()

    def line(self) -> Strip:
        """The strip, of any width."""
        raise NotImplementedError

    def render(self) -> RenderResult:
        """Nothing: the line is drawn as a strip."""
        return ""

    def render_line(self, y: int) -> Strip:
        """The line, fitted to the widget."""
        width, base = self.size.width, self.ground
        return self.line().adjust_cell_length(width, base) if y == 0 else Strip.blank(width, base)

    def plain_strip(self, text: str) -> Strip:
        """A strip in the widget's own style."""
        return Strip([Segment(text, self.ground)])


class ListHead(OneLine):
    """The names of a list's columns, which are asked for whenever they are drawn."""

    def __init__(self, names: Callable[[], str]) -> None:
        super().__init__()
        self._names = names

    def line(self) -> Strip:
        """The names as the list's present width has them."""
        return self.plain_strip(self._names())
