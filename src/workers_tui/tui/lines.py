"""Rows of styled text drawn line by line: the ground of every list and pane.

A row is a tuple of (text, style name) parts; the style names are component
classes in app.tcss, so no colour is named in Python. Only rows that changed
are drawn again, and drawn rows are kept. Text is never read as markup.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import BindingType
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from workers_tui.tui.ink import ink
from workers_tui.tui.keymap import ARROW_BINDINGS

Part = tuple[str, str]
Row = tuple[Part, ...]

STYLES = ("dim", "strong", "good", "warn", "bad", "run", "key", "head", "soft", "held", "free")

DRAWN = 400
"""Drawn rows that are kept: some screens full. Each is 4 KB with what Textual keeps beside it."""


def row(*parts: Part | str) -> Row:
    """A row of parts; a plain text has no style."""
    return tuple((part, "") if isinstance(part, str) else part for part in parts)


class LineView(ScrollView, can_focus=True, inherit_bindings=False):
    """Rows by number. Subclasses give rows, or override `row_at` and `row_count`."""

    # Textual's own keys would scroll a view that has more rows than room, and leave the cursor.
    BINDINGS: ClassVar[list[BindingType]] = [*ARROW_BINDINGS]
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        f"line--{name}" for name in (*STYLES, "cursor", "rest")
    }

    class Chosen(Message):
        """A row was chosen with enter or a double click."""

        def __init__(self, view: LineView, index: int) -> None:
            super().__init__()
            self.view = view
            self.index = index

        @property
        def control(self) -> LineView:
            """The view, so that handlers can select by it."""
            return self.view

    class Moved(Message):
        """The cursor stands on another row."""

        def __init__(self, view: LineView, index: int) -> None:
            super().__init__()
            self.view = view
            self.index = index

        @property
        def control(self) -> LineView:
            """The view, so that handlers can select by it."""
            return self.view

    SELECTS: ClassVar[bool] = False
    """Whether a cursor shows one row as selected."""

    ALWAYS_SHOWS_CURSOR: ClassVar[bool] = False
    """Whether the cursor stays in sight, toned down, without the focus."""

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002 - Textual's own name
        super().__init__(id=id, classes=classes)
        self._rows: Sequence[Row] = ()
        self._strips: dict[int, Strip] = {}
        self._drawn_width = 0
        self._inks: dict[str, Style] = {}
        self._own: Style | None = None
        self.cursor = 0
        self._sized = False
        """Whether its width is known; rows laid out before are shown by nobody."""

    @property
    def row_count(self) -> int:
        """How many rows there are."""
        return len(self._rows)

    def row_at(self, index: int) -> Row:
        """The row of this number."""
        return self._rows[index]

    @property
    def row_width(self) -> int:
        """Cells that a row may fill."""
        return self.scrollable_content_region.width

    def show_rows(self, rows: Sequence[Row]) -> None:
        """Replace the rows; only those that differ are drawn again."""
        before, self._rows = self._rows, rows
        for index in range(min(len(before), len(rows))):
            if before[index] != rows[index]:
                self.redraw_row(index)
        if len(before) != len(rows):
            for index in range(min(len(before), len(rows)), max(len(before), len(rows))):
                self.redraw_row(index)
            self.rows_resized()

    def rows_resized(self) -> None:
        """The number of rows changed: the scrollable height follows."""
        size = Size(self.row_width, self.row_count)
        if self._scrolls_as_before(size.height):
            # Textual lays the whole screen out for a new height; only the thumb has to move.
            self.set_reactive(ScrollView.virtual_size, size)
            if self.show_vertical_scrollbar:
                self.vertical_scrollbar.window_virtual_size = size.height
            self.scroll_to(y=min(self.scroll_offset.y, self.max_scroll_y), animate=False)
        else:
            self.virtual_size = size
        if self.SELECTS and self.cursor >= self.row_count:
            self.move_cursor(self.row_count - 1)

    def _scrolls_as_before(self, rows: int) -> bool:
        """Whether so many rows need a scroll bar where there is one, and none where there is none.

        A list that is as high as its rows has to be laid out for every one of them.
        """
        room, height = self.scrollable_content_region.height, self.styles.height
        as_its_rows = height is None or height.is_auto
        return not as_its_rows and room > 0 and self.show_vertical_scrollbar == (rows > room)

    def redraw_row(self, index: int) -> None:
        """Draw one row again."""
        self._strips.pop(index, None)
        if 0 <= index - self.scroll_offset.y < self.size.height:
            self.refresh_line(index)

    def redraw_all(self) -> None:
        """Draw every row again."""
        self._strips.clear()
        self.refresh()

    def move_cursor(self, index: int) -> None:
        """Put the cursor on a row and bring it into sight."""
        index = max(0, min(index, self.row_count - 1))
        before, self.cursor = self.cursor, index
        if before != index:
            self.redraw_row(before)
            self.redraw_row(index)
            self.post_message(self.Moved(self, index))
        self.show_cursor()

    def show_cursor(self) -> None:
        """Scroll as little as needed to see the cursor."""
        top, height = self.scroll_offset.y, self.scrollable_content_region.height
        if height <= 0:
            return
        if self.cursor < top:
            self.scroll_to(y=self.cursor, animate=False, force=True)
        elif self.cursor >= top + height:
            self.scroll_to(y=self.cursor - height + 1, animate=False, force=True)

    def render_line(self, y: int) -> Strip:
        """The strip at a line of the visible part."""
        index = y + self.scroll_offset.y
        width = self.row_width
        if width != self._drawn_width:
            self._strips.clear()
            self._drawn_width = width
        if index >= self.row_count or not self._sized:
            return Strip.blank(self.size.width, self._base())
        strip = self._strips.get(index)
        if strip is None:
            strip = self._strips[index] = self.draw_row(index, width)
            if len(self._strips) > DRAWN:
                self._strips.clear()
        return strip

    def draw_row(self, index: int, width: int) -> Strip:
        """The strip of a row; kept until the row changes."""
        under = self.row_style(index)
        base = self._base() + under
        # Toned-down text on the colour of the cursor would have too little contrast.
        plain = ("dim", "free") if under else ()
        segments = [
            Segment(text, base + self.style_of("" if name in plain else name))
            for text, name in self.row_at(index)
        ]
        return Strip(segments).adjust_cell_length(width, base)

    def row_style(self, index: int) -> Style:
        """What lies under a whole row: the cursor, where it shows."""
        if not self.SELECTS or index != self.cursor:
            return Style.null()
        if self.has_focus:
            return self.get_component_rich_style("line--cursor")
        if self.ALWAYS_SHOWS_CURSOR:
            return self.get_component_rich_style("line--rest")
        return Style.null()

    def _base(self) -> Style:
        """The widget's own style; asking Textual for it walks up the whole tree."""
        if self._own is None:
            self._own = self.rich_style
        return self._own

    def style_of(self, name: str) -> Style:
        """The style behind a name of STYLES; several names join with a blank."""
        style = self._inks.get(name)
        if style is None:
            style = Style.null()
            for part in name.split():
                style += ink(self, f"line--{part}")
            self._inks[name] = style
        return style

    def notify_style_update(self) -> None:
        """Another theme or class: every kept strip has the wrong colours."""
        super().notify_style_update()
        self._strips.clear()
        self._inks.clear()
        self._own = None

    def on_resize(self) -> None:
        """The width changed: rows are drawn anew and the scroll range with them."""
        if not self._sized:
            self._sized = True
            self.redraw_all()
        self.rows_resized()

    def on_focus(self) -> None:
        """The cursor shows."""
        self.redraw_row(self.cursor)

    def on_blur(self) -> None:
        """The cursor is toned down or hidden."""
        self.redraw_row(self.cursor)

    def on_click(self, event: events.Click) -> None:
        """Select by mouse; a double click chooses."""
        index = event.y + self.scroll_offset.y
        if not self.SELECTS or index >= self.row_count:
            return
        self.move_cursor(index)
        if event.chain == 2:
            self.action_choose()

    def action_choose(self) -> None:
        """Enter on the cursor's row."""
        if self.SELECTS and self.cursor < self.row_count:
            self.post_message(self.Chosen(self, self.cursor))

    def action_up(self, rows: int = 1) -> None:
        """Move the cursor up, or scroll."""
        self._step(-rows)

    def action_down(self, rows: int = 1) -> None:
        """Move the cursor down, or scroll."""
        self._step(rows)

    def action_page(self, direction: int) -> None:
        """Move by what is in sight."""
        self._step(direction * max(1, self.scrollable_content_region.height - 1))

    def action_first(self) -> None:
        """Go to the first row."""
        self._step(-self.row_count)

    def action_last(self) -> None:
        """Go to the last row."""
        self._step(self.row_count)

    def _step(self, rows: int) -> None:
        if self.SELECTS:
            self.move_cursor(self.cursor + rows)
        else:
            self.scroll_to(y=self.scroll_offset.y + rows, animate=False, force=True)
