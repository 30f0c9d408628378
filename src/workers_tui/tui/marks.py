"""One symbol, one colour name and one word for each state of a job.

The symbol alone says the state on a terminal of one colour. Red stands only
where the user is needed or something was lost.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from workers_tui.engine.jobs.job import Job, JobState, WaitingFor
from workers_tui.tui import words


@dataclass(frozen=True, slots=True)
class Mark:
    """How a state looks."""

    symbol: str
    style: str
    """A component class of the line views, see app.tcss."""
    word: str


QUEUED = Mark("·", "dim", "queued")
READING = Mark("▶", "run", "reads its files")
RUNNING = Mark("▶", "run", "running")
ASKING = Mark("◆", "bad", "waits for you")
HELD = Mark("·", "warn", "waits for room under the cap")
RETRY = Mark("↻", "warn", "tries again")
DONE = Mark("✓", "good", "done")
FAILED = Mark("✗", "warn", "failed")
CANCELLED = Mark("⊘", "dim", "cancelled")
REFUSED = Mark("⊘", "warn", "refused")
LOST = Mark("?", "bad", "lost")

BY_STATE = {
    JobState.QUEUED: QUEUED,
    JobState.READING: READING,
    JobState.RUNNING: RUNNING,
    JobState.DONE: DONE,
    JobState.FAILED: FAILED,
    JobState.CANCELLED: CANCELLED,
    JobState.REFUSED: REFUSED,
    JobState.LOST: LOST,
}
BY_WAIT = {WaitingFor.APPROVAL: ASKING, WaitingFor.CAP: HELD, WaitingFor.RETRY: RETRY}


def mark(job: Job) -> Mark:
    """The mark of a job as it stands."""
    if job.state is JobState.WAITING:
        return BY_WAIT.get(job.waiting_for or WaitingFor.CAP, HELD)
    return BY_STATE[job.state]


def asks(job: Job) -> bool:
    """Whether the job waits for the user."""
    return job.state is JobState.WAITING and job.waiting_for is WaitingFor.APPROVAL


def runs(job: Job) -> bool:
    """Whether the job has left the queue and not ended."""
    return job.state in {JobState.READING, JobState.RUNNING} or (
        job.state is JobState.WAITING and job.waiting_for is WaitingFor.RETRY
    )


def elapsed(job: Job, now: datetime) -> float | None:
    """Seconds it ran so far or in all; None before it started."""
    if job.ms is not None:
        return job.ms / 1_000
    if job.started_at is None:
        return None
    return ((job.ended_at or now) - job.started_at).total_seconds()


def countdown(job: Job, now: datetime) -> str | None:
    """`again in 12s` while it waits for a retry."""
    if job.waiting_for is not WaitingFor.RETRY or job.retry_at is None:
        return None
    return "again in " + words.duration((job.retry_at - now).total_seconds() + 0.999)
