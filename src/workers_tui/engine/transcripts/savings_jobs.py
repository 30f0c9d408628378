"""What jobs saved, as sums by day and session: a job that changes costs one job.

A job's own values are not kept, for a day's work has thousands of them: who
wants to fold one anew reads it from the store again. Pure, but for its memory.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from workers_tui.engine.jobs.job import Job
from workers_tui.engine.transcripts.job_savings import (
    NOTHING_SAVED,
    JobSaving,
    JobSums,
    job_sums,
)
from workers_tui.engine.transcripts.savings_facts import job_day

LOSSES_KEPT = 100
LOSSES_SHOWN = 20


def short_name(job: Job) -> str:
    """Who did a job, in a word: the model's family, `glm` of `z-ai/glm-5`, else tier or worker."""
    family = re.split(r"[-:\[]", (job.model or "").rpartition("/")[2])[0]
    return family or job.tier or job.worker or "workers"


def doer(job: Job) -> str:
    """Who did a job, as the user calls it: the agent worker's name, else the tier."""
    return job.worker or job.tier or "no tier"


def was_a_test(job: Job) -> bool:
    """The user tried a tier at the dashboard: nothing was to be saved with it."""
    return job.client == "dashboard" and not job.files


class Share(NamedTuple):
    """What one job adds to the sums."""

    day: int
    session: str | None
    at: float
    tool_use: str | None
    agent_session: str | None
    worker: str
    """Short name of who did it."""
    doer: str
    """Tier or agent worker."""
    sums: JobSums


class JobBook:
    """The sums over all jobs."""

    def __init__(self) -> None:
        self.ever = NOTHING_SAVED
        self.days: dict[int, JobSums] = {}
        self.doers: dict[str, JobSums] = {}
        """By tier or agent worker."""
        self.shares: dict[str, Share] = {}
        """By job."""
        self._sessions: dict[str, JobSums] = {}
        self._workers: dict[str, Counter[str]] = defaultdict(Counter)
        """Fresh tokens by session and worker."""
        self._last: dict[str, float] = {}
        """When a session last delegated."""
        self._day_sessions: dict[int, Counter[str]] = defaultdict(Counter)
        self._lost: dict[str, JobSaving] = {}

    def take(self, saved: Iterable[JobSaving]) -> None:
        """Put jobs in, in the place of what they were before."""
        for one in saved:
            job = one.job
            before = self.shares.get(job.id)
            if before is not None:
                self._add(before, -1)
            share = self.shares[job.id] = Share(
                job_day(job), one.session, job.created_at.timestamp(), job.tool_use_id,
                job.agent_session, short_name(job), doer(job), job_sums(one),
            )  # fmt: skip
            self._add(share, 1)
            self._note_loss(one)

    def _add(self, share: Share, sign: int) -> None:
        grown = JobSums.plus if sign > 0 else JobSums.minus
        self.ever = grown(self.ever, share.sums)
        self.days[share.day] = grown(self.days.get(share.day, NOTHING_SAVED), share.sums)
        self.doers[share.doer] = grown(self.doers.get(share.doer, NOTHING_SAVED), share.sums)
        name = share.session
        if name:
            self._sessions[name] = grown(self._sessions.get(name, NOTHING_SAVED), share.sums)
            self._last[name] = max(self._last.get(name, 0), share.at)
            self._day_sessions[share.day][name] += sign
            self._workers[name][share.worker] += sign * share.sums.fresh

    def _note_loss(self, one: JobSaving) -> None:
        if (one.net_high_pico or 0) < 0 and not was_a_test(one.job):
            self._lost[one.job.id] = one
        else:
            self._lost.pop(one.job.id, None)
        if len(self._lost) > LOSSES_KEPT:
            self._lost = {loss.job.id: loss for loss in reversed(self._newest_losses())}

    def _newest_losses(self) -> list[JobSaving]:
        ordered = sorted(self._lost.values(), key=lambda one: one.job.created_at, reverse=True)
        return ordered[: LOSSES_KEPT // 2]

    @property
    def losses(self) -> tuple[JobSaving, ...]:
        """Jobs that cost more than they saved, newest first."""
        return tuple(self._newest_losses()[:LOSSES_SHOWN])

    def session(self, name: str) -> JobSums:
        """The sums of one session's jobs."""
        return self._sessions.get(name, NOTHING_SAVED)

    def workers(self, name: str) -> list[tuple[str, int]]:
        """Who worked for a session, and fresh tokens of each; most work first."""
        there = self._workers.get(name, Counter()).items()
        return sorted(((who, fresh) for who, fresh in there if fresh), key=lambda one: -one[1])

    @property
    def sessions(self) -> list[str]:
        """Sessions that delegated, the one that did so last at the end."""
        there = (name for name, sums in self._sessions.items() if sums.jobs)
        return sorted(there, key=lambda name: self._last[name])

    def sessions_on(self, day: int) -> set[str]:
        """Sessions that delegated on a day."""
        return {name for name, count in self._day_sessions.get(day, Counter()).items() if count}

    def of_session(self, names: set[str | None]) -> set[str]:
        """The jobs of these sessions; None stands for those whose session nobody knows."""
        return {job for job, share in self.shares.items() if share.session in names}

    def of_tool_uses(self, names: set[str]) -> set[str]:
        """The jobs that these calls of a tool asked for."""
        return {job for job, share in self.shares.items() if share.tool_use in names}

    @property
    def agent_sessions(self) -> set[str]:
        """Sessions of agents that ran as jobs of ours."""
        return {share.agent_session for share in self.shares.values() if share.agent_session}
