"""Waits for jobs on a client's behalf and keeps it waiting: progress at least every 10 s.

A client that hears nothing gives up after 300 s. The wait is on the outcome,
never on the job's own task: a stray cancellation would end the client's session.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from workers_tui.engine.jobs.job import Job

FIRST_AFTER = 1.0
EVERY = 5.0

Report = Callable[[float, float | None, str], Awaitable[None]]
"""Tells the client: how far, of how much, and in words."""


class Outcomes(Protocol):
    """What is asked of the engine here."""

    async def ended(self, job_id: str) -> Job: ...

    async def job(self, job_id: str) -> Job: ...

    def peek(self, job_id: str) -> str: ...


async def follow(engine: Outcomes, jobs: Sequence[Job], report: Report) -> list[Job]:
    """The jobs as they ended, in order."""
    waiters = [asyncio.ensure_future(engine.ended(job.id)) for job in jobs]
    pause = FIRST_AFTER
    try:
        while True:
            _, open_ = await asyncio.wait(waiters, timeout=pause)
            if not open_:
                return [waiter.result() for waiter in waiters]
            await report(*await progress(engine, jobs, len(waiters) - len(open_)))
            pause = EVERY
    finally:
        for waiter in waiters:
            waiter.cancel()


async def follow_for(engine: Outcomes, job_id: str, seconds: float, report: Report) -> Job:
    """The job as it is when it ends or when the time is over."""
    job = await engine.job(job_id)
    if job.state.ended or seconds <= 0:
        return job
    try:
        async with asyncio.timeout(seconds):
            return (await follow(engine, [job], report))[0]
    except TimeoutError:
        return await engine.job(job_id)


async def progress(
    engine: Outcomes, jobs: Sequence[Job], done: int
) -> tuple[float, float | None, str]:
    """How far the jobs are, for `report`."""
    if len(jobs) > 1:
        return done, len(jobs), f"{done} of {len(jobs)} jobs done"
    job = await engine.job(jobs[0].id)
    return len(engine.peek(job.id)), None, say(job, len(engine.peek(job.id)))


def say(job: Job, received: int) -> str:
    """One line on a job under way."""
    line = f"job {job.id} {job.state.value}"
    if job.waiting_for:
        line += f" for {job.waiting_for.value}"
    if job.question:
        line += f": {job.question.text}"
    if job.last_action:
        line += f": {job.last_action}"
    elif received:
        line += f", {received} characters"
    return line
