"""Lets the kernel batch tokens when many streams run: fewer wake-ups, the same throughput.

Reading a stream token by token costs more in wake-ups than in work. When many
events a second come in, a reader that has been at it for a while steps back for
a blink, and finds several tokens in one read.
"""

from __future__ import annotations

import asyncio
from time import monotonic

BUSY_EVENTS = 15
"""Events within one window, over all streams, from which on stepping back pays."""
WINDOW = 0.05
REST = 0.04
READ = 0.01


class Pace:
    """Shared by all streams of a process."""

    def __init__(self) -> None:
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
    """One stream's share of the pace."""

    def __init__(self, pace: Pace) -> None:
        self._pace = pace
        self._since = monotonic()

    def is_due(self) -> bool:
        """Call after each read; True when it is time to step back, for the process is busy."""
        return self._pace.count() and monotonic() - self._since >= READ

    async def rest(self) -> None:
        """Step back for a blink."""
        await asyncio.sleep(REST)
        self._since = monotonic()
