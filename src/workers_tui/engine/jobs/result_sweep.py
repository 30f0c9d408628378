"""When old result files are removed: now and then while there is work, behind everybody's back."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from datetime import datetime, timedelta
from pathlib import Path

from workers_tui.engine.clock import Clock
from workers_tui.engine.errors import StoreError
from workers_tui.engine.jobs.results import sweep

log = logging.getLogger(__name__)

SWEEP_EVERY = timedelta(hours=6)
"""How often old results are looked for, while there is work."""


class ResultSweep:
    """The sweeping of one engine's results; those that `live` names stay."""

    def __init__(
        self, results: Path, clock: Clock, live: Callable[[], Awaitable[Iterable[str]]]
    ) -> None:
        self._results = results
        self._clock = clock
        self._live = live
        self._swept: datetime | None = None
        self.task: asyncio.Task[None] | None = None
        """The newest sweep, which may have ended."""

    def now_and_then(self) -> None:
        """Begin a sweep when the last one is long ago; a clock that was set back counts, too."""
        now = self._clock.now()
        if self._swept is None or abs(now - self._swept) > SWEEP_EVERY:
            self._swept = now
            self.task = asyncio.get_running_loop().create_task(self._sweep(now))

    async def _sweep(self, now: datetime) -> None:
        try:
            in_use = frozenset(await self._live())
        except StoreError as error:
            log.warning("old results stay: %s", error)
            return
        gone = await asyncio.to_thread(sweep, self._results, now, in_use)
        if gone:
            log.info("removed %d old results", len(gone))
