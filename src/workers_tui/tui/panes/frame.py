"""The frame around panes: a title line that carries a summary, and a body below it.

Frames stacked on each other share the line between them; which corners a title
line draws is a class of the frame, set by the screen's width.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from rich.cells import cell_len
from rich.segment import Segment
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from workers_tui.tui import safe
from workers_tui.tui.lines import Part
from workers_tui.tui.panes.one_line import OneLine

CORNERS = {"top": ("╭", "╮"), "seam": ("├", "┤"), "bottom": ("╰", "╯")}
LINE = "─"


class TitleLine(OneLine):
    """`╭ Jobs ── 2 running · 41 done ─────── note ╮`."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        f"title--{name}" for name in ("line", "name", "summary", "run", "key", "warn", "bad")
    }

    def __init__(self, name: str, corners: str) -> None:
        super().__init__()
        self._heading = name
        self._summary: tuple[Part, ...] = ()
        self._note: tuple[Part, ...] = ()
        self._corners = corners

    def tell(self, name: str, summary: Iterable[Part | str], note: Iterable[Part | str]) -> None:
        """Show another name, summary or note; nothing is drawn when all are the same."""
        said = (name, _parts(summary), _parts(note))
        if said != (self._heading, self._summary, self._note):
            self._heading, self._summary, self._note = said
            self.refresh()

    def set_corners(self, corners: str) -> None:
        """Draw other corners."""
        if corners != self._corners:
            self._corners = corners
            self.refresh()

    @property
    def text(self) -> str:
        """What the line says, without its drawing."""
        return " ".join(
            ("".join(text for text, _ in parts)).strip()
            for parts in (((self._heading, ""),), self._summary, self._note)
            if parts
        )

    def line(self) -> Strip:
        """Draw the line: the note keeps its place, the summary gives way."""
        width = self.size.width
        left, right = CORNERS[self._corners]
        note = self._fitted(self._note, max(0, width // 2))
        room = width - 2 - _width(note) - (2 if note else 0)
        head: list[Part] = [(f" {safe.fit(self._heading, room - 3).rstrip()} ", "name")]
        summary = self._fitted(self._summary, room - _width(head) - 4)
        if summary:
            head += [(LINE * 2 + " ", "line"), *summary, (" ", "line")]
        tail: list[Part] = [(" ", "line"), *note, (" ", "line")] if note else []
        filler = LINE * max(0, width - 2 - _width(head) - _width(tail))
        parts: list[Part] = [(left, "line"), *head, (filler, "line"), *tail, (right, "line")]
        return Strip(Segment(text, self.style_of(f"title--{name}")) for text, name in parts)

    @staticmethod
    def _fitted(parts: tuple[Part, ...], width: int) -> list[Part]:
        fitted: list[Part] = []
        for text, style in parts:
            room = width - _width(fitted)
            if room <= 1:
                break
            shown = text if cell_len(text) <= room else safe.fit(text, room)
            fitted.append((shown, style or "summary"))
        return fitted

    def on_click(self) -> None:
        """Go to the pane below."""
        frame = self.parent
        if isinstance(frame, Frame):
            frame.enter()


class Frame(Vertical):
    """A title line and the pane that belongs to it."""

    def __init__(
        self,
        name: str,
        *body: Widget,
        id: str,  # noqa: A002 - Textual's own name
        corners: tuple[str, str] = ("top", "top"),
    ) -> None:
        """`corners`: those on a wide screen and those on a narrow one."""
        super().__init__(id=id)
        self._title = TitleLine(name, corners[0])
        self._body = body
        self._heading = name
        self._corners = corners

    def compose(self) -> ComposeResult:
        """The title line above the body."""
        yield self._title
        with Vertical(classes="frame-body"):
            yield from self._body

    @property
    def title(self) -> str:
        """What the title line says."""
        return self._title.text

    def tell(
        self,
        *summary: Part | str,
        note: Iterable[Part | str] = (),
        name: str | None = None,
    ) -> None:
        """Show a summary beside the name, and a note at the right end."""
        self._title.tell(name or self._heading, summary, note)

    def narrow(self, narrow: bool) -> None:
        """Take the corners of the present width."""
        self._title.set_corners(self._corners[1 if narrow else 0])

    def enter(self) -> None:
        """Give the focus to the first thing inside that takes it."""
        for widget in self.query("*"):
            if widget.focusable and widget.display:
                widget.focus()
                return
        self.post_message(self.Pressed(self))

    class Pressed(Message):
        """The title of a closed pane was clicked."""

        def __init__(self, frame: Frame) -> None:
            super().__init__()
            self.frame = frame


def _parts(said: Iterable[Part | str]) -> tuple[Part, ...]:
    return tuple((part, "") if isinstance(part, str) else part for part in said)


def _width(parts: Iterable[Part]) -> int:
    return sum(cell_len(text) for text, _ in parts)
