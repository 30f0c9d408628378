"""The jobs on the screen: their order, and which of them pass the filter.

Running jobs stand on top in order of start, finished ones below, newest first.
A job that ends keeps its place for a moment, then settles. Pure: time comes in
as an argument, and a change costs a search, not a sort.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable
from datetime import datetime

from workers_tui.engine.jobs.job import Job
from workers_tui.tui import marks

SETTLES_AFTER = 2.0
"""Seconds that an ended job keeps its place among the running ones."""

KEPT = 12_000
"""Ended jobs kept at most; older ones are in the history."""

Passes = Callable[[Job], bool]
Place = tuple[float, str]


class JobTable:
    """Jobs by id, and the ids of the rows in order."""

    def __init__(self) -> None:
        self._jobs: dict[str, Job] = {}
        self._active: dict[str, float | None] = {}
        """Rows on top; the value is when an ended one settles."""
        self._ended: list[Place] = []
        """Oldest first, so that a new one goes to the end."""
        self._passes: Passes | None = None
        self._rows: list[str] | None = None
        self._index: dict[str, int] | None = None

    def __len__(self) -> int:
        return len(self._jobs)

    def __contains__(self, job_id: object) -> bool:
        """Whether a job that has not ended has this id."""
        return job_id in self._active

    def get(self, job_id: str) -> Job | None:
        """The newest value of a job."""
        return self._jobs.get(job_id)

    def put(self, job: Job, now: float) -> bool:
        """Take a job's newest value; whether rows may have moved."""
        before = self._jobs.get(job.id)
        self._jobs[job.id] = job
        if before is None:
            self._add(job)
            return self._moved()
        if job.id in self._active:
            if job.state.ended and self._active[job.id] is None:
                self._active[job.id] = now + SETTLES_AFTER
            return self._moved() if _rank(before) != _rank(job) or self._passes else False
        return self._moved() if self._passes else False

    def drop(self, job_id: str) -> None:
        """Forget a job."""
        job = self._jobs.pop(job_id, None)
        if job is None:
            return
        if self._active.pop(job_id, 0) == 0:
            self._ended = [place for place in self._ended if place[1] != job_id]
        self._moved()

    def settle(self, now: float) -> bool:
        """Let ended jobs take their last place; whether rows moved."""
        due = [job for job, when in self._active.items() if when is not None and when <= now]
        for job_id in due:
            del self._active[job_id]
            insort(self._ended, _place(self._jobs[job_id]))
        for _, old in self._ended[: max(0, len(self._ended) - KEPT)]:
            del self._jobs[old]
        del self._ended[: max(0, len(self._ended) - KEPT)]
        return self._moved() if due else False

    def filter(self, passes: Passes | None) -> None:
        """Show only what passes; None shows all."""
        self._passes = passes
        self._moved()

    @property
    def rows(self) -> list[str]:
        """Ids in the order of the rows."""
        if self._rows is None:
            self._rows = self._order()
        return self._rows

    def index(self, job_id: str) -> int | None:
        """The row of a job."""
        if self._index is None:
            self._index = {job: row for row, job in enumerate(self.rows)}
        return self._index.get(job_id)

    @property
    def active(self) -> list[Job]:
        """Jobs that have not ended, in no order."""
        return [job for job in map(self._jobs.__getitem__, self._active) if not job.state.ended]

    def _add(self, job: Job) -> None:
        if job.state.ended:
            insort(self._ended, _place(job))
        else:
            self._active[job.id] = None

    def _moved(self) -> bool:
        self._rows = self._index = None
        return True

    def _order(self) -> list[str]:
        top = sorted(self._active, key=lambda job: _order_key(self._jobs[job]))
        ids = [*top, *(job for _, job in reversed(self._ended))]
        if self._passes is None:
            return ids
        return [job for job in ids if self._passes(self._jobs[job])]


def _rank(job: Job) -> int:
    """Groups of the top part: running and just ended, asking, queued."""
    if marks.runs(job) or (job.state.ended and job.started_at is not None):
        return 0
    return 1 if marks.asks(job) or job.state.ended else 2


def _order_key(job: Job) -> tuple[int, float, str]:
    return _rank(job), (job.started_at or job.created_at).timestamp(), job.id


def _place(job: Job) -> Place:
    moment: datetime = job.ended_at or job.created_at
    return moment.timestamp(), job.id
