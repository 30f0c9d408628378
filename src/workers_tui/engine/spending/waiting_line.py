"""Who waits for room under the cap, in which order, and what wakes them.

It knows nothing of money: it keeps turns. Whether there is room is for `budget` to say.
"""

from __future__ import annotations

import asyncio

from workers_tui.engine.clock import Clock

LOOK_AGAIN = 30.0
"""Seconds after which a waiting request looks again although no bell rang."""


class WaitingLine:
    """The requests of this engine that wait, the first in front."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._line: list[object] = []
        self._bell = asyncio.Event()

    @property
    def bell(self) -> asyncio.Event:
        """The next ring; taken before one looks, so that none is missed."""
        return self._bell

    def is_first(self, who: object) -> bool:
        """Whether nobody else stands before `who`, in line or not."""
        return not self._line or self._line[0] is who

    def join(self, who: object) -> None:
        """Stand at the end; whoever stands in line keeps the place."""
        if who not in self._line:
            self._line.append(who)

    def leave(self, who: object) -> None:
        """Make way, with room or without."""
        if who in self._line:
            self._line.remove(who)
            self.ring()

    def ring(self) -> None:
        """Let everyone look again."""
        self._bell.set()
        self._bell = asyncio.Event()

    async def wait(self, bell: asyncio.Event, at_most: float) -> None:
        """Until this bell has rung, or these seconds are over, or it is time for another look."""
        waits = [
            asyncio.ensure_future(bell.wait()),
            asyncio.ensure_future(self._clock.sleep(min(LOOK_AGAIN, at_most))),
        ]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()
