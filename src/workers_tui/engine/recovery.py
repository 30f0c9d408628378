"""What a dead engine left behind: its jobs are lost, its holds become estimates.

Bytes of a held request may have left, so its estimate is booked at once and
asked for later where a generation id is known. What was received stays in the
result file. Each dead engine is cleaned up by one living engine only.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from workers_tui.engine.clock import Clock
from workers_tui.engine.errors import StoreError, StoreUnusable
from workers_tui.engine.jobs import job_rows
from workers_tui.engine.jobs.job import Job, JobState
from workers_tui.engine.jobs.jobs import Jobs
from workers_tui.engine.money import Cost, CostSource
from workers_tui.engine.spending import holds
from workers_tui.engine.spending.budget import Budget
from workers_tui.engine.spending.holds import Hold
from workers_tui.engine.spending.ledger import Entry, job_sum
from workers_tui.engine.store.engine_lock import known_engines, off_the_loop, take_dead
from workers_tui.engine.store.store import Store
from workers_tui.engine.usage import Usage
from workers_tui.home.files import why
from workers_tui.home.places import Home

log = logging.getLogger(__name__)

LOOK_EVERY = 5.0
"""Seconds between looks for engines that died while we run."""


@dataclass(frozen=True, slots=True)
class Recovered:
    """What was cleaned up."""

    engines: int = 0
    jobs: int = 0
    """Jobs that are lost now."""
    holds: int = 0
    """Holds that were booked as estimates."""
    pico: int = 0
    """The sum of these estimates."""

    def __bool__(self) -> bool:
        return bool(self.jobs or self.holds)

    def __add__(self, other: Recovered) -> Recovered:
        return Recovered(
            self.engines + other.engines,
            self.jobs + other.jobs,
            self.holds + other.holds,
            self.pico + other.pico,
        )


async def recover(home: Home, store: Store, jobs: Jobs, budget: Budget, clock: Clock) -> Recovered:
    """Clean up after every dead engine that nobody else is cleaning up after.

    Raises StoreError, also where the engines' locks cannot be looked at.
    """
    try:
        return await _recover(home, store, jobs, budget, clock)
    except OSError as error:
        raise StoreUnusable(f"cannot look into {home.engines}: {why(error)}") from error


async def _recover(home: Home, store: Store, jobs: Jobs, budget: Budget, clock: Clock) -> Recovered:
    left_over = await store.read(_engines_with_work)
    known = await asyncio.to_thread(known_engines, home.engines)
    done = Recovered()
    for engine in sorted(left_over | known):
        lock = await off_the_loop(partial(take_dead, home.engines, engine))
        if lock is None:
            continue
        try:
            if engine in left_over:
                done += await _clean_up(engine, store, jobs, budget, clock)
        finally:
            await asyncio.to_thread(lock.release)
    return done


async def keep_recovering(
    home: Home,
    store: Store,
    jobs: Jobs,
    budget: Budget,
    clock: Clock,
    tell: Callable[[Recovered], None],
) -> None:
    """Look for engines that die while we run, until cancelled."""
    while True:
        await clock.sleep(LOOK_EVERY)
        try:
            found = await recover(home, store, jobs, budget, clock)
        except StoreError as error:  # a home that is full, or read-only for a while
            log.warning("cannot look for dead engines: %s", error)
            continue
        if found:
            tell(found)


def _engines_with_work(conn: sqlite3.Connection) -> set[str]:
    return job_rows.live_engines(conn) | holds.engines(conn)


async def _clean_up(
    engine: str, store: Store, jobs: Jobs, budget: Budget, clock: Clock
) -> Recovered:
    held = await store.read(lambda conn: holds.of_engine(conn, engine))
    live = await store.read(lambda conn: job_rows.live_of(conn, engine))
    owners = {job.id: job for job in live}
    for hold in held:
        await budget.settle(hold, _estimate(hold, owners.get(hold.job), clock))
    for job in live:
        await _lose(job, store, jobs)
    return Recovered(1, len(live), len(held), sum(hold.estimate_pico for hold in held))


async def _lose(job: Job, store: Store, jobs: Jobs) -> None:
    sent = job.state in {JobState.RUNNING, JobState.WAITING}
    usage, cost = await store.read(lambda conn: job_sum(conn, job.id))
    await jobs.change(
        job.id,
        state=JobState.LOST,
        error="the program that ran it ended"
        + ("; what had arrived is kept" if sent else " before it began"),
        usage=usage,
        cost=cost,
    )


def _estimate(hold: Hold, job: Job | None, clock: Clock) -> Entry:
    now = clock.now()
    took = max(0, round((now - hold.made_at).total_seconds() * 1000))
    entry = Entry(
        call=hold.call,
        job=hold.job,
        kind=hold.kind,
        tier=None,
        model=hold.model,
        provider=hold.provider,
        usage=Usage(),
        cost=Cost(hold.estimate_pico, CostSource.ESTIMATED),
        ms=took,
        task="",
        status="lost",
        generation_id=hold.generation_id,
        at=now,
    )
    if job is None:
        return entry
    return replace(entry, tier=job.tier, task=job.task, project=job.project, session=job.session)
