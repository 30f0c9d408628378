"""What happened, newest first, with a filter."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, ClassVar

from workers_tui.tui import safe, words
from workers_tui.tui.lines import LineView, Row, row

if TYPE_CHECKING:
    from workers_tui.engine.events import Event

KEPT = 1_000
STYLES = {"info": "", "warning": "warn", "error": "bad"}
MARKS = {"info": " ", "warning": "!", "error": "✗"}


class EventList(LineView):
    """One row an event."""

    SELECTS: ClassVar[bool] = True

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's own name
        super().__init__(id=id)
        self._events: list[Event] = []
        self._shown: list[Event] = []
        self.typed = ""
        """The filter in force."""

    @property
    def selected(self) -> Event | None:
        """The event under the cursor."""
        return self._shown[self.cursor] if self.cursor < len(self._shown) else None

    @property
    def newest(self) -> int:
        """The number of the newest event shown, 0 before the first."""
        return self._events[0].number if self._events else 0

    @property
    def counts(self) -> tuple[int, int]:
        """Warnings and errors among the events."""
        levels = [str(event.level) for event in self._events]
        return levels.count("warning"), levels.count("error")

    def add(self, events: Iterable[Event]) -> None:
        """Take newer events, oldest first."""
        new = list(events)
        if new:
            self._events = [*reversed(new), *self._events][:KEPT]
            self._lay_out()

    def filter(self, typed: str) -> None:
        """Show only events that hold every word; `error` and `warning` are words, too."""
        self.typed = typed.strip()
        self._lay_out()

    def on_resize(self) -> None:
        """Texts follow the width."""
        self._lay_out()
        super().on_resize()

    def _lay_out(self) -> None:
        self._shown = [event for event in self._events if self._passes(event)]
        if self._shown:
            self.show_rows([self._row(event) for event in self._shown])
        else:
            self.show_rows(self._empty())

    def _passes(self, event: Event) -> bool:
        said = f"{event.level} {event.subject} {event.text} {event.job or ''}".lower()
        return all(term in said for term in self.typed.lower().split())

    def _empty(self) -> Sequence[Row]:
        if self._events:
            return (row((" No event matches. ", "dim"), ("esc", "key"), (" shows all.", "dim")),)
        return (row((" Nothing happened yet.", "dim")),)

    def _row(self, event: Event) -> Row:
        width = self.row_width
        level = str(event.level)
        style = STYLES.get(level, "")
        time = event.at.astimezone().strftime("%H:%M:%S" if width >= 60 else "%H:%M")
        subject = f"{safe.fit(event.subject, 9)}" if width >= 60 else ""
        head = f" {time} {MARKS.get(level, ' ')} "
        text = safe.one_line(event.text)
        return row(
            (head, style or "dim"),
            (subject, "dim"),
            (safe.fit(text, width - len(head) - len(subject)), style),
        )


def when(event: Event, now: datetime) -> str:
    """The event's time."""
    return words.moment(event.at, now)
