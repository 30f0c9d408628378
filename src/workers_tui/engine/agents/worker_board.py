"""The identities as the board shows them: state, work at hand, what they cost this month."""

from __future__ import annotations

import asyncio
import contextlib
from datetime import UTC

from workers_tui.engine.agents.identities import Identities
from workers_tui.engine.agents.identity import Identity, WorkerView, view_of
from workers_tui.engine.board import Key, Topic
from workers_tui.engine.calls.parts import Parts
from workers_tui.engine.errors import StoreError

MONTH_JOBS = 1000
LOOK_EVERY = 3.0
"""Seconds between looks at a handful of small files."""


class WorkerBoard:
    """Keeps the board's views of all identities."""

    def __init__(self, parts: Parts, identities: Identities) -> None:
        self._parts = parts
        self._identities = identities

    async def all(self) -> list[WorkerView]:
        """Every identity with its state and what it cost this month."""
        identities = await asyncio.to_thread(self._identities.all)
        return [await self._view(one) for one in identities]

    async def follow(self) -> None:
        """Show identities that are made, changed or removed beside us, until cancelled."""
        known: object = None
        while True:
            now = await asyncio.to_thread(self._identities.stamp)
            if now != known:
                with contextlib.suppress(StoreError):  # tried again at the next look
                    await self.show()
                    known = now
            await self._parts.clock.sleep(LOOK_EVERY)

    async def show(self) -> None:
        """Put every identity on the board as it is now."""
        views = await self.all()
        board = self._parts.board
        for view in views:
            board.put(Key(Topic.WORKER, view.name), view)
        for name in set(board.names(Topic.WORKER)) - {view.name for view in views}:
            board.drop(Key(Topic.WORKER, name))

    async def _view(self, identity: Identity) -> WorkerView:
        now = self._parts.clock.now().astimezone(UTC)
        first = now.replace(day=1, hour=0, minute=0, second=0, microsecond=0)
        jobs = await self._parts.jobs.find(worker=identity.name, since=first, limit=MONTH_JOBS)
        spent = sum(job.cost.pico or 0 for job in jobs if job.cost is not None)
        running = sum(not job.state.ended for job in jobs)
        return view_of(identity, running, spent, len(jobs))
