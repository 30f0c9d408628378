"""The table of jobs and what the board shows of it. Only this module changes a job.

The table is the truth for every engine and front end of this user; the board
shows the same values live. A change is committed before anybody sees it.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from workers_tui.engine.board import Board, Key, Topic
from workers_tui.engine.clock import Clock
from workers_tui.engine.errors import StoreError, UnknownJob, WrongUse
from workers_tui.engine.jobs import job_rows
from workers_tui.engine.jobs.job import AT_HAND, LIVE, Job, JobKind, JobState
from workers_tui.engine.jobs.job_change import CostChange, JobChange, end_unbegun
from workers_tui.engine.jobs.job_rows import Filter
from workers_tui.engine.jobs.job_steps import new_id, plain_id, states_of, unknown_id
from workers_tui.engine.jobs.result_sweep import ResultSweep
from workers_tui.engine.money import Cost
from workers_tui.engine.store.store import Store

log = logging.getLogger(__name__)

SAVE_AGAIN = 30.0
"""Seconds before an end that the store did not take is offered again."""


class Jobs:
    """Every job of this user."""

    def __init__(
        self, store: Store, board: Board, clock: Clock, engine_id: str, results: Path
    ) -> None:
        self._store = store
        self._board = board
        self._clock = clock
        self._engine = engine_id
        self._results = results
        self._shown: dict[str, dict[str, Any]] = {}
        self._changes: dict[str, int] = {}
        self._unsaved: dict[str, dict[str, Any]] = {}
        self._seen: int | None = None
        self._ended: dict[str, asyncio.Event] = {}
        self._cancel: Callable[[str, str], None] | None = None
        self._looking: asyncio.Task[None] | None = None
        self._look_again = False
        self._closed = False
        self.sweeping = ResultSweep(results, clock, self._live_ids)
        store.on_foreign_commit(self._bell)

    async def load(self) -> None:
        """Put the newest jobs of all engines on the board; call once at start."""
        newest, jobs = await self._store.read(lambda conn: job_rows.newest(conn, AT_HAND))
        self._seen = newest
        for job in jobs:
            self._put(job, newest)
        await self.refresh()  # a bell that rang meanwhile was not followed

    async def create(self, job: Job) -> Job:
        """Add a job. It gets an id, this engine and a result path where it has none."""
        (made,) = await self.create_all([job])
        return made

    async def create_all(self, jobs: Sequence[Job]) -> list[Job]:
        """Add several jobs, all or none."""
        self.sweeping.now_and_then()
        given = next((job.id for job in jobs if job.id), None)
        while True:
            fresh = [
                job_rows.clean(self._complete(replace(job, id=job.id or new_id()))) for job in jobs
            ]
            try:
                changes = await self._insert(fresh)
            except sqlite3.IntegrityError:
                if given is not None:
                    raise WrongUse(f"there is a job {given} already") from None
                continue  # one in 33 million: an id is taken
            for made, change in zip(fresh, changes, strict=True):
                self._put(made, change)
            return fresh

    async def _insert(self, fresh: list[Job]) -> list[int]:
        """Their change numbers."""
        try:
            return await self._store.write(partial(job_rows.insert_all, jobs=fresh), durable=False)
        except (asyncio.CancelledError, StoreError):
            # The rows may be written all the same, and nobody will run them.
            self._store.post(partial(end_unbegun, jobs=fresh, now=self._clock.now()))
            raise

    async def change(self, job_id: str, **changes: Any) -> Job:
        """Commit changes of a job and show them; return the new value.

        Times, and what a state does not need, are filled in or cleared. Raises
        WrongUse for a step no job may take, UnknownJob.
        """
        with self.joining(job_id, **changes) as change:
            return await self._store.write(change, durable=change.ends)

    @contextmanager
    def joining(self, job_id: str, **changes: Any) -> Iterator[JobChange]:
        """`change` as a part of a transaction that the block commits, or does not come to.

        The new value is shown when the block is left; an end that the store did
        not take is offered again later.
        """
        change = JobChange(job_id, changes, self._shown.get(job_id, {}), self._clock)
        try:
            yield change
        except StoreError:
            if change.ends:
                self._unsaved[job_id] = changes
            raise
        if change.new is None:
            return
        shown = self._shown.get(job_id, {})
        for name, value in change.shown.items():
            if name in shown and shown[name] == value:
                del shown[name]
        if change.new.state.ended:
            self._unsaved.pop(job_id, None)
        self._put(change.new, change.number)

    async def save_late(self) -> None:
        """Commit ends that the store did not take, once it does; until cancelled."""
        while True:
            await self._clock.sleep(SAVE_AGAIN)
            await self._save_ends()

    async def _save_ends(self) -> None:
        for job_id, changes in list(self._unsaved.items()):
            del self._unsaved[job_id]  # it comes back when the store fails again
            try:
                await self.change(job_id, **changes)
            except (StoreError, WrongUse) as error:
                log.warning("the end of job %s is not saved: %s", job_id, error)

    @contextmanager
    def costing(
        self, job_id: str, cost: Callable[[sqlite3.Connection], Cost | None]
    ) -> Iterator[CostChange]:
        """A new cost of an ended job as a part of a transaction that the block commits."""
        change = CostChange(job_id, cost)
        yield change
        if change.new is not None:
            self._put(change.new, change.number)

    def show(self, job_id: str, **changes: Any) -> Job:
        """Show changes on the board only, such as counts while text streams in.

        The next `change` of a live job commits them along with its own.
        """
        job = self._board.get(Key(Topic.JOB, job_id))
        if not isinstance(job, Job):
            raise UnknownJob(f"there is no job {job_id} on the board")
        if not job.state.ended:
            self._shown.setdefault(job_id, {}).update(changes)
            job = replace(job, **changes)
            self._board.put(Key(Topic.JOB, job_id), job)
        return job

    async def get(self, job_id: str) -> Job:
        """The job with this id; letters that look alike are taken as meant."""
        wanted = plain_id(job_id)
        job = self._board.get(Key(Topic.JOB, wanted)) or await self._store.read(
            lambda conn: job_rows.get(conn, job_id) or job_rows.get(conn, wanted)
        )
        if isinstance(job, Job):
            return job
        ids = await self._store.read(job_rows.newest_ids)
        raise UnknownJob(unknown_id(job_id, ids))

    async def find(  # noqa: PLR0913 - each is one way to narrow the list
        self,
        *,
        state: JobState | str | Iterable[JobState] | None = None,
        kind: JobKind | None = None,
        text: str | None = None,
        tier: str | None = None,
        worker: str | None = None,
        project: str | None = None,
        session: str | None = None,
        since: datetime | None = None,
        limit: int = 100,
        offset: int = 0,
    ) -> list[Job]:
        """Jobs of all days and engines, newest first."""
        states = states_of(state)
        wanted = Filter(states, kind, text, tier, worker, project, session, since)
        jobs = await self._store.read(lambda conn: job_rows.find(conn, wanted, limit, offset))
        return [self._live(job) for job in jobs]

    async def ended(self, job_id: str) -> Job:
        """Wait until a job has ended, whichever engine runs it."""
        while True:
            bell = self._ended.setdefault(job_id, asyncio.Event())
            job = await self.get(job_id)
            if job.state.ended:
                self._ended.pop(job_id, None)
                return job
            await bell.wait()

    async def ask_cancel(self, job_id: str, by: str) -> None:
        """Ask the engine that runs a job to cancel it; nothing happens to an ended one."""
        job = await self.get(job_id)
        if job.state.ended:
            return
        if job.engine == self._engine and self._cancel is not None:
            self._cancel(job.id, by)
            return
        await self._store.write(lambda conn: job_rows.add_cancel(conn, job.id, by))

    def on_cancel(self, callback: Callable[[str, str], None]) -> None:
        """Be told (job id, by whom) when a job of this engine is to be cancelled."""
        self._cancel = callback

    async def refresh(self) -> None:
        """Take over what other engines wrote since the last look."""
        seen = self._seen
        if seen is None:
            return  # nothing is shown yet; `load` will take everything

        def work(
            conn: sqlite3.Connection,
        ) -> tuple[list[tuple[int, Job]], list[tuple[str, str]]]:
            return job_rows.changed_since(conn, seen), job_rows.cancels_for(conn, self._engine)

        changed, cancels = await self._store.read(work)
        for number, job in changed:
            self._seen = max(self._seen or 0, number)
            self._put(job, number)
        if cancels and self._cancel is not None:
            taken = [job_id for job_id, _ in cancels]
            await self._store.write(lambda conn: job_rows.drop_cancels(conn, taken))
            for job_id, by in cancels:
                self._cancel(job_id, by)

    async def close(self) -> None:
        """End what runs in the background here; offer the store once more the ends it lacks."""
        self._closed = True
        await self._save_ends()
        tasks = [task for task in (self._looking, self.sweeping.task) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _bell(self) -> None:
        if self._closed:
            return
        self._look_again = True
        if self._looking is None or self._looking.done():
            self._looking = asyncio.get_running_loop().create_task(self._look())

    async def _look(self) -> None:
        while self._look_again:
            self._look_again = False
            try:
                await self.refresh()
            except StoreError as error:
                log.warning("cannot look for other engines' jobs: %s", error)

    async def _live_ids(self) -> list[str]:
        return [job.id for job in await self.find(state=LIVE, limit=1_000_000)]

    def _complete(self, job: Job) -> Job:
        return replace(
            job,
            engine=job.engine or self._engine,
            result_path=job.result_path or self._results / f"{job.id}.txt",
        )

    def _live(self, job: Job) -> Job:
        shown = self._shown.get(job.id)
        return replace(job, **shown) if shown and not job.state.ended else job

    def _put(self, job: Job, number: int) -> None:
        """Show a committed value; one that was overtaken is dropped."""
        if number < self._changes.get(job.id, 0):
            return
        if self._seen is not None and number == self._seen + 1:
            self._seen = number
        self._changes[job.id] = number
        if job.state.ended:
            self._shown.pop(job.id, None)
        self._board.put(Key(Topic.JOB, job.id), self._live(job))
        if job.state.ended:
            bell = self._ended.pop(job.id, None)
            if bell is not None:
                bell.set()
            self._forget_old()

    def _forget_old(self) -> None:
        names = self._board.names(Topic.JOB)
        if len(names) < AT_HAND * 1.2:
            return
        for name in names[: len(names) - AT_HAND]:
            job = self._board.get(Key(Topic.JOB, name))
            if job.state.ended:
                self._board.drop(Key(Topic.JOB, name))
                self._changes.pop(name, None)
