"""Who may work next: a fixed number at a time, taking turns between sessions.

One session's batch of a hundred does not hold up another's single call: each
free place goes to the session that has waited longest for its turn.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager


class FairQueue:
    """Places to work in, and the lines before them."""

    def __init__(self, places: Callable[[], int]) -> None:
        """`places` is asked each time, so that a changed setting counts at once."""
        self._places = places
        self._taken = 0
        self._lines: OrderedDict[str, deque[asyncio.Future[None]]] = OrderedDict()
        self.paused = False

    @property
    def working(self) -> int:
        """Places taken now."""
        return self._taken

    @property
    def room(self) -> int:
        """How many who come now start at once."""
        if self.paused or self._lines:
            return 0
        return max(0, self._places() - self._taken)

    @property
    def waiting(self) -> int:
        """Jobs in all lines."""
        return sum(len(line) for line in self._lines.values())

    def pause(self) -> None:
        """Let nobody start; who works goes on."""
        self.paused = True

    def resume(self) -> None:
        """Let the lines move again."""
        self.paused = False
        self.move()

    @asynccontextmanager
    async def place(self, session: str) -> AsyncIterator[Place]:
        """Wait for a place and hold it for the block."""
        place = Place(self, session)
        await place.take()
        try:
            yield place
        finally:
            place.give()

    async def enter(self, session: str) -> None:
        """Wait for a free place at this session's turn."""
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        line = self._lines.setdefault(session, deque())
        line.append(turn)
        self.move()
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.leave()  # the place was given in the same moment
            else:
                self._forget(session, turn)
            raise

    def leave(self) -> None:
        """Free a place."""
        self._taken -= 1
        self.move()

    def move(self) -> None:
        """Give free places away; also call it when the number of places changed."""
        while not self.paused and self._lines and self._taken < self._places():
            session, line = self._lines.popitem(last=False)
            turn = line.popleft()
            if line:
                self._lines[session] = line  # to the end: the others come first
            if not turn.done():
                self._taken += 1
                turn.set_result(None)

    def _forget(self, session: str, turn: asyncio.Future[None]) -> None:
        line = self._lines.get(session)
        if line is not None and turn in line:
            line.remove(turn)
            if not line:
                del self._lines[session]


class Place:
    """One job's place, which it may give up while it waits for something else."""

    def __init__(self, queue: FairQueue, session: str) -> None:
        self._queue = queue
        self._session = session
        self._held = False

    async def take(self) -> None:
        """Wait for the place."""
        await self._queue.enter(self._session)
        self._held = True

    def give(self) -> None:
        """Free the place, if it is held."""
        if self._held:
            self._held = False
            self._queue.leave()

    @asynccontextmanager
    async def aside(self) -> AsyncIterator[None]:
        """Let others work during the block, then wait for a place again."""
        self.give()
        yield
        await self.take()
