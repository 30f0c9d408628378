"""Lets the kernel batch tokens when many streams run: fewer wake-ups, the same throughput.

Reading a stream token by token costs more in wake-ups than in work. When many
events a second come in over several streams, a reader that has been at it for a
while steps back for a blink, and finds several tokens in one read. A few streams,
however fast, are read as they come: a blink at the end would only delay the reply.
"""

from __future__ import annotations

import asyncio
from time import monotonic
from types import TracebackType
from typing import Self

SEVERAL = 4
"""Streams at a time from which on stepping back pays."""
BUSY_EVENTS = 15
"""Events within one window, over all streams, from which on stepping back pays."""
WINDOW = 0.05
REST = 0.04
READ = 0.01


class Pace:
    """Shared by all streams of a process."""

    def __init__(self) -> None:
        self.streams = 0
        """That are read now."""
        self._window = 0.0
        self._events = 0
        self._busy = False

    def count(self) -> bool:
        """Note an event; True while there are many."""
        now = monotonic()
        if now - self._window >= WINDOW:
            elapsed = now - self._window
            self._busy = self._events * WINDOW >= BUSY_EVENTS * elapsed
            self._window, self._events = now, 0
        self._events += 1
        return self._busy


class Reader:
    """One stream's share of the pace, for a `with` block."""

    def __init__(self, pace: Pace) -> None:
        self._pace = pace
        self._since = monotonic()

    def __enter__(self) -> Self:
        self._pace.streams += 1
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._pace.streams -= 1

    def is_due(self) -> bool:
        """Call after each read; True when it is time to step back, for the process is busy."""
        busy = self._pace.count() and self._pace.streams >= SEVERAL
        return busy and monotonic() - self._since >= READ

    async def rest(self) -> None:
        """Step back for a blink."""
        await asyncio.sleep(REST)
        self._since = monotonic()
