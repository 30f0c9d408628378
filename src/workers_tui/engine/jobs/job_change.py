"""One change of one job, as the part of a transaction that it is.

Who commits it does not matter: `jobs` alone, or a reservation or a bill along
with its own rows. Nothing is shown here; that follows the commit.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from workers_tui.engine.clock import Clock
from workers_tui.engine.errors import UnknownJob
from workers_tui.engine.jobs import job_rows
from workers_tui.engine.jobs.job import ENDED, Job, JobState
from workers_tui.engine.jobs.job_steps import advance, correct
from workers_tui.engine.money import Cost


class JobChange:
    """Call it inside a transaction; `new` is the job's value once that is committed."""

    def __init__(
        self, job_id: str, changes: Mapping[str, Any], shown: Mapping[str, Any], clock: Clock
    ) -> None:
        self.job_id = job_id
        self.changes = dict(changes)
        self.shown = dict(shown)
        """What the board showed already and no table has; it goes along while the job lives."""
        self.new: Job | None = None
        self.number = 0
        """Of the change among all changes."""
        self._clock = clock

    @property
    def ends(self) -> bool:
        """It is the job's last change."""
        return self.changes.get("state") in ENDED

    def __call__(self, conn: sqlite3.Connection) -> Job:
        """Write the new value and return it. Raises UnknownJob, WrongUse with nothing written.

        A transaction may be tried again: the newest outcome counts.
        """
        self.new = None
        old = job_rows.get(conn, self.job_id)
        if old is None:
            raise UnknownJob(f"there is no job {self.job_id}")
        if old.state.ended:
            new = correct(old, self.changes)
        else:
            new = advance(old, {**self.shown, **self.changes}, self._clock.now())
        new = job_rows.clean(new)
        if new.state.ended:
            job_rows.drop_cancels(conn, [self.job_id])
        self.number, self.new = job_rows.update(conn, new), new
        return new


class CostChange:
    """What an ended job cost, anew; one that is live, or gone, is left alone. Used likewise."""

    def __init__(self, job_id: str, cost: Callable[[sqlite3.Connection], Cost | None]) -> None:
        self.job_id = job_id
        self.new: Job | None = None
        """None where nothing was to change."""
        self.number = 0
        """Of the change among all changes."""
        self._cost = cost

    def __call__(self, conn: sqlite3.Connection) -> None:
        """Write the new value."""
        self.new = None
        old, cost = job_rows.get(conn, self.job_id), self._cost(conn)
        if old is not None and old.state.ended and old.cost != cost:
            self.new = replace(old, cost=cost)
            self.number = job_rows.update(conn, self.new)


def end_unbegun(conn: sqlite3.Connection, jobs: Iterable[Job], now: datetime) -> None:
    """End jobs that were put down and never begun."""
    end = {"state": JobState.CANCELLED, "error": "cancelled before it began"}
    for job in jobs:
        if job_rows.get(conn, job.id) is not None:
            job_rows.update(conn, advance(job, end, now))
