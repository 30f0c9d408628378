"""The keys that do something now, each to be clicked, or a message in their place."""

from __future__ import annotations

from typing import ClassVar

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from workers_tui.tui import safe
from workers_tui.tui.panes.one_line import OneLine

Hint = tuple[str, str, str]
"""A key as it is written, its label, and the action a click runs; empty for none."""

MOST_LINES = 3
"""Lines that a message may take."""


class Hints(OneLine, can_focus=False):
    """Keys and what they do, as many as fit."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        f"hints--{name}" for name in ("key", "label", "message", "warn", "bad")
    }

    def __init__(self) -> None:
        super().__init__()
        self._hints: tuple[Hint, ...] = ()
        self._message = ""
        self._style = "message"

    def show_hints(self, hints: tuple[Hint, ...]) -> None:
        """Show these keys; the last two always keep their place."""
        if hints != self._hints:
            self._hints = hints
            self.refresh()

    def show_message(self, message: str, style: str) -> None:
        """Show this instead of the keys; an empty one brings them back."""
        if (message, style) != (self._message, self._style):
            self._message, self._style = message, style
            self.refresh()

    def lines_at(self, width: int) -> list[str]:
        """The message as lines at a width; one that is cut all the same says so."""
        lines = safe.wrap(self._message, max(1, width - 1))
        if len(lines) > MOST_LINES:
            rest = " ".join(lines[MOST_LINES - 1 :])
            lines[MOST_LINES - 1 :] = [safe.fit(rest, width - 1)]
        return lines

    def render_line(self, y: int) -> Strip:
        """A long message takes more lines than one."""
        lines = self.lines_at(self.size.width) if y and self._message else []
        if y >= len(lines):
            return super().render_line(y)
        style = self.style_of(f"hints--{self._style}")
        return Strip([Segment(" " + lines[y], style)]).adjust_cell_length(
            self.size.width, self.ground
        )

    @property
    def text(self) -> str:
        """What the line says."""
        return self._message or "   ".join(f"{key} {label}" for key, label, _ in self._hints)

    def line(self) -> Strip:
        """The message, or the keys that fit."""
        width = self.size.width
        base = self.ground
        if self._message:
            style = self.style_of(f"hints--{self._style}")
            return Strip([Segment(" " + self.lines_at(width)[0], style)])
        key_style, label_style = self.style_of("hints--key"), self.style_of("hints--label")
        segments = [Segment(" ", base)]
        for key, label, action in self._fitting(width - 1):
            click = Style.from_meta({"@click": action}) if action else Style.null()
            segments += [
                Segment(key, key_style + click),
                Segment(f" {label}", label_style + click),
                Segment("   ", base),
            ]
        return Strip(segments)

    def _fitting(self, width: int) -> list[Hint]:
        always = self._hints[-2:]
        room = width - sum(map(_hint_width, always))
        fitting: list[Hint] = []
        for hint in self._hints[:-2]:
            if _hint_width(hint) > room:
                break
            fitting.append(hint)
            room -= _hint_width(hint)
        return [*fitting, *always]


def _hint_width(hint: Hint) -> int:
    key, label, _ = hint
    return cell_len(key) + cell_len(label) + 4
