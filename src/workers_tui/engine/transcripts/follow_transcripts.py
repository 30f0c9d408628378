"""Journey 2: a transcript line rings, is read, counted once, folded, and is on the board.

One task of the engine; reading and folding run in a thread, one step at a
time. Also keeps the figures of jobs fresh and writes the hooks' notices.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Any, TypeVar

from workers_tui.engine.board import Board, Key, Topic
from workers_tui.engine.clock import Clock
from workers_tui.engine.errors import StoreError, StoreNewer
from workers_tui.engine.events import Events
from workers_tui.engine.jobs import job_rows
from workers_tui.engine.jobs.job import Job
from workers_tui.engine.store.store import Store
from workers_tui.engine.transcripts import index_build
from workers_tui.engine.transcripts.cells import day_of
from workers_tui.engine.transcripts.index import MIGRATIONS
from workers_tui.engine.transcripts.indexer import Indexer, Refreshed
from workers_tui.engine.transcripts.notices import notices_of
from workers_tui.engine.transcripts.savings_gather import damage_told, gather
from workers_tui.engine.transcripts.savings_report import report_json
from workers_tui.engine.transcripts.savings_steps import Steps
from workers_tui.engine.transcripts.savings_store import was_tried
from workers_tui.engine.transcripts.savings_teller import SavingsTeller
from workers_tui.engine.transcripts.savings_view import Reading, SavingsView
from workers_tui.engine.transcripts.transcript_bell import Bell
from workers_tui.engine.transcripts.transcript_files import find_sources, is_text
from workers_tui.home.files import read_json
from workers_tui.home.places import Home

T = TypeVar("T")

CONFIG = Key(Topic.CONFIG)

AGAIN = 0.3
"""Seconds between two folds of what jobs saved, or two loads of all sums."""
OTHERS = 1.0
"""Seconds between looks whether another program has added to the index."""
REST = 10
"""They rest so many times as long as they took, which keeps them below a tenth of a core."""
REST_AT_MOST = 2.0
"""Seconds: what they took may have been waiting for each other."""
TRY_AGAIN = 15.0
"""Seconds before an index that failed (a full disk, a file that was taken away) is tried anew."""
JOBS_PAGE = 250
"""Jobs read from the store at once."""


@dataclass(frozen=True, slots=True)
class FollowOptions:
    """What the follower is told at its start."""

    home: Home
    environ: Mapping[str, str]
    claude_dirs: Sequence[Path] = ()
    """Instead of the usual places."""
    config: Path | None = None
    """Another models.json than the home's."""


class TranscriptFollower:
    """Keeps SavingsView on the board."""

    def __init__(
        self, options: FollowOptions, store: Store, board: Board, events: Events, clock: Clock
    ) -> None:
        self._options = options
        self._store = store
        self._board = board
        self._teller = SavingsTeller(options.home, options.environ, board, events)
        self._clock = clock
        environ = options.environ
        self._workers_root = Path(
            environ.get("CLAUDE_WORKERS_ROOT") or Path.home() / ".claude-workers"
        )
        self.sources = find_sources(
            environ, claude_dirs=options.claude_dirs, workers_root=self._workers_root
        )
        self._change = 0
        """Number of the newest change of a job that was folded."""
        self._step_lock = asyncio.Lock()
        self._jobs_moved = asyncio.Event()
        self._sums_moved = asyncio.Event()
        """Another process wrote to the index, or the sums here are not to be trusted."""
        self.day = 0
        """The day whose jobs are today's."""
        self.ready = asyncio.Event()
        """Set when the first figures are on the board."""

    async def run(self) -> None:
        """Follow until cancelled; when the index fails, say so and begin anew after a while.

        Raises StoreNewer, which only a restart mends.
        """
        self._store.on_foreign_commit(self._jobs_moved.set)
        while True:
            try:
                await self._follow()
            except StoreNewer:
                raise
            except StoreError as error:
                self._teller.trouble(error)
            await self._clock.sleep(TRY_AGAIN)

    async def _follow(self) -> None:
        """Raises StoreError when the index cannot be used, or no more."""
        self._teller.reading(Reading())
        index = await Store.open(
            self._options.home.index_db, MIGRATIONS, durable=False, look_every=OTHERS
        )
        try:
            for text in damage_told(index.set_aside):
                self._teller.warn(text)
            steps = await self._begin(index)
            self._change = 0
            await self._fold_jobs(steps)
            self._teller.no_trouble()
            self.ready.set()
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._follow_files(steps))
                tasks.create_task(self._follow_jobs(steps))
                tasks.create_task(self._follow_sums(steps))
                tasks.create_task(self._follow_prices(steps))
        except ExceptionGroup as group:
            raise group.exceptions[0] from group  # the first that failed ended the others
        finally:
            await index.close()

    async def _begin(self, index: Store) -> Steps:
        transact = index.write_from_thread

        def steps() -> Steps:
            settings = read_json(self._options.config or self._options.home.models_json)
            return Steps(transact, indexer, self._workers_root, settings)

        indexer = await asyncio.to_thread(Indexer, transact, self.sources)
        waiting = await asyncio.to_thread(indexer.waiting)
        if waiting >= index_build.WORTH_A_PROGRAM:
            await self._build(waiting)
            indexer.forget()
        index.on_foreign_commit(self._sums_moved.set)  # not for commits of the build
        begun = await asyncio.to_thread(steps)
        self._teller.read_all()
        return begun

    async def _build(self, waiting: int) -> int:
        """Leave a long way to go to a program apart, and show how far it is; the bytes it read."""
        progress = self._teller.progress(waiting)
        try:
            await index_build.build_apart(self._options.home.index_db, self.sources, progress.take)
        finally:
            self._teller.read_all()
        return progress.read

    async def _step(self, work: Callable[..., T], *given: Any) -> T:
        """Run a step in a thread, alone: steps share the book."""
        async with self._step_lock:
            return await asyncio.to_thread(work, *given)

    async def report(self, **wanted: Any) -> dict[str, Any]:
        """The whole of `savings` (contract 4.7), from the disk, by what the command takes."""
        options = self._options
        report = await asyncio.to_thread(
            gather, options.home, self.sources, config=options.config,
            workers_root=self._workers_root, **wanted,
        )  # fmt: skip
        return report_json(report)

    # files

    async def _follow_files(self, steps: Steps) -> None:
        roots = list(dict.fromkeys(one.root for one in self.sources if is_text(one.root)))
        bell = Bell(roots, self._clock, steps.hot)
        async with contextlib.aclosing(bell.rings()) as rings:
            async for paths in rings:
                done = await self._take(steps, paths)
                if paths is None:
                    bell.found(done.paths)
                if steps.stale:
                    self._sums_moved.set()
                if steps.links_moved or steps.workers_moved or self.day != self._today():
                    self._jobs_moved.set()
                self._teller.errors(done)

    async def _take(self, steps: Steps, paths: set[str] | None) -> Refreshed:
        """Read what is new, and show it unless the sums wait to be loaded anew."""

        def take(at_most: float) -> tuple[Refreshed, SavingsView | None]:
            done = steps.take(paths, at_most)
            shown = done.deltas and not steps.stale
            return done, steps.view(self._today()) if shown else None

        most: float = index_build.WORTH_A_PROGRAM
        done, view = await self._step(take, most)
        while done.left:  # more may come while a program reads
            read = await self._build(done.left)
            most = most if read else inf  # without the program it is done here
            await self._step(steps.catch_up)
            done, view = await self._step(take, most)
        if view is not None:
            self._teller.show(view)
        return done

    async def _follow_sums(self, steps: Steps) -> None:
        """Load all sums anew when another process has added to them, or they went wrong here."""
        while True:
            await self._sums_moved.wait()
            self._sums_moved.clear()
            begun = time.perf_counter()
            await self._step(steps.reload)
            await self._publish(steps)
            self._jobs_moved.set()
            await self._rest(begun)

    async def _follow_prices(self, steps: Steps) -> None:
        """Price anew when the user's own prices change; a broken file changes none."""
        watcher = self._board.watch()
        try:
            while True:
                keys = await watcher.changed()
                view = self._board.get(CONFIG) if CONFIG in keys else None
                if view is not None and view.error is None:
                    settings = await asyncio.to_thread(read_json, view.path)
                    if settings is not None and await self._step(steps.price_by, settings):
                        self._jobs_moved.set()  # which shows the sums, too
                await self._clock.sleep(AGAIN)
        finally:
            watcher.close()

    # jobs

    async def _follow_jobs(self, steps: Steps) -> None:
        """Fold anew when a job changed here or elsewhere, or a delegation was seen."""
        watcher = self._board.watch()
        listening = asyncio.create_task(self._listen(watcher))
        try:
            while True:
                await self._jobs_moved.wait()
                self._jobs_moved.clear()
                begun = time.perf_counter()
                await self._fold_jobs(steps)
                await self._rest(begun)
        finally:
            listening.cancel()
            watcher.close()

    async def _listen(self, watcher: Any) -> None:
        while True:
            if any(key.topic is Topic.JOB for key in await watcher.changed()):
                self._jobs_moved.set()
            await self._clock.sleep(AGAIN)

    async def _rest(self, begun: float) -> None:
        took = time.perf_counter() - begun
        await self._clock.sleep(max(AGAIN, min(REST * took, REST_AT_MOST)))

    async def _fold_jobs(self, steps: Steps) -> None:
        """Fold the jobs that changed, and those of which a transcript or a price says more."""
        again = await self._step(steps.look_at_links)
        while page := await self._changed_jobs():
            await self._take_jobs(steps, page)
        again |= await self._step(steps.repriced)
        ids = list(again)
        for begin in range(0, len(ids), JOBS_PAGE):
            await self._take_jobs(steps, await self._jobs_of(ids[begin : begin + JOBS_PAGE]))
        await self._step(steps.count_workers)
        self.day = self._today()
        await self._publish(steps)
        await self._teller.notices(await self._step(notices_of, steps.book))

    async def _changed_jobs(self) -> list[Job]:
        """A page of changed jobs, empty at the end.

        All of them at once would leave the process as large as they were, for good.
        """
        while True:
            new = await self._store.read(
                lambda conn: job_rows.changed_since(conn, self._change, JOBS_PAGE)
            )
            self._change = max([self._change, *(number for number, _ in new)])
            jobs = [job for _, job in new if was_tried(job)]
            if jobs or not new:
                return jobs

    async def _jobs_of(self, ids: Collection[str]) -> list[Job]:
        found = await self._store.read(lambda conn: [job_rows.get(conn, one) for one in ids])
        return [job for job in found if job is not None]

    async def _take_jobs(self, steps: Steps, jobs: Sequence[Job]) -> None:
        saved = await self._step(steps.take_jobs, jobs)
        self._teller.read_again(saved)

    # what is shown and told

    async def _publish(self, steps: Steps) -> None:
        if not steps.stale:
            view = await self._step(steps.view, self._today())
            self._teller.show(view)

    def _today(self) -> int:
        return day_of(int(self._clock.now().timestamp()))
