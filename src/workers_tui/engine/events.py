"""What happened, newest last: a short list for the events pane and the log.

Values on the board say how things are; events say what just happened (a file
of settings was refused, a provider was paused). They are kept in memory only.
"""

from __future__ import annotations

import logging
from collections import deque
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from workers_tui.engine.board import Board, Key, Topic
from workers_tui.engine.clock import Clock

log = logging.getLogger(__name__)

KEPT = 1000


class Level(StrEnum):
    """How much an event matters to the user."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happened."""

    number: int
    """Rises by one with each event of this process."""
    at: datetime
    level: Level
    subject: str
    """What it is about: `job`, `budget`, `config`, `provider`, `server`, `store`, `savings`."""
    text: str
    """One line."""
    job: str | None = None
    """The job it belongs to."""


class Events:
    """The newest thousand events."""

    def __init__(self, board: Board, clock: Clock) -> None:
        self._board = board
        self._clock = clock
        self._kept: deque[Event] = deque(maxlen=KEPT)
        self._number = 0

    def tell(
        self, subject: str, text: str, *, level: Level = Level.INFO, job: str | None = None
    ) -> None:
        """Add an event; it shows on the board and goes to the log."""
        self._number += 1
        self._kept.append(Event(self._number, self._clock.now(), level, subject, text, job))
        log.log(getattr(logging, level.name), "%s: %s", subject, text)
        self._board.put(Key(Topic.EVENT), self._number)

    def since(self, number: int) -> list[Event]:
        """Events newer than `number`, oldest first."""
        return [event for event in self._kept if event.number > number]
