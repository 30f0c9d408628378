"""Journey 2: a transcript line rings, is read, counted once, folded, and is on the board.

One task of the engine; reading and folding run in a thread, one step at a
time. Also keeps the figures of jobs fresh and writes the hooks' notices.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from importlib.metadata import version
from pathlib import Path
from sqlite3 import Connection
from typing import Any, TypeVar

from workers_tui.engine.board import Board, Key, Topic
from workers_tui.engine.clock import Clock
from workers_tui.engine.events import Events, Level
from workers_tui.engine.jobs import job_rows
from workers_tui.engine.jobs.job import Job
from workers_tui.engine.pricing.manager_prices import (
    ManagerPrices,
    ask_table,
    forget_prices,
    own_prices,
)
from workers_tui.engine.store.store import Store
from workers_tui.engine.transcripts import index_query, older_history
from workers_tui.engine.transcripts.cells import day_of
from workers_tui.engine.transcripts.index import MIGRATIONS
from workers_tui.engine.transcripts.indexer import Indexer, Refreshed
from workers_tui.engine.transcripts.job_savings import Links
from workers_tui.engine.transcripts.notices import notices_of
from workers_tui.engine.transcripts.savings_book import Book, Names
from workers_tui.engine.transcripts.savings_facts import links_of, unmatched_workers
from workers_tui.engine.transcripts.savings_gather import gather
from workers_tui.engine.transcripts.savings_report import report_json
from workers_tui.engine.transcripts.savings_store import was_tried
from workers_tui.engine.transcripts.savings_view import SavingsView
from workers_tui.engine.transcripts.transcript_bell import Bell
from workers_tui.engine.transcripts.transcript_files import Source, find_sources
from workers_tui.home.files import read_json
from workers_tui.home.notices import Notices, write_notices
from workers_tui.home.places import Home
from workers_tui.home.switches import savings_shown

T = TypeVar("T")

JOBS_EVERY = 0.3
"""Seconds between two folds of what jobs saved."""
JOBS_PAGE = 250
"""Jobs read from the store at once."""
HOT = 24 * 3600 * 10**9
"""Files written within so many nanoseconds are looked at where no notices come."""


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
        self._events = events
        self._clock = clock
        environ = options.environ
        self._workers_root = Path(
            environ.get("CLAUDE_WORKERS_ROOT") or Path.home() / ".claude-workers"
        )
        self.sources = find_sources(
            environ, claude_dirs=options.claude_dirs, workers_root=self._workers_root
        )
        self._jobs: dict[str, Job] = {}
        self._change = 0
        self._links = Links()
        self._told: set[tuple[str, str]] = set()
        self._notices = Notices()
        self.ready = asyncio.Event()
        """Set when the first figures are on the board."""

    async def run(self) -> None:
        """Follow until cancelled. Raises StoreError when the index cannot be used."""
        index = await Store.open(self._options.home.index_db, MIGRATIONS, durable=False)
        try:
            step = _Steps(self, index)
            await asyncio.to_thread(step.begin)
            await self._jobs_changed(step)
            self.ready.set()
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._follow_files(step))
                tasks.create_task(self._follow_jobs(step))
        finally:
            await index.close()

    async def report(self, **wanted: Any) -> dict[str, Any]:
        """The whole of `savings` (contract 4.7), from the disk, by what the command takes."""
        options = self._options
        report = await asyncio.to_thread(
            gather, options.home, self.sources, config=options.config,
            workers_root=self._workers_root, **wanted,
        )  # fmt: skip
        return report_json(report)

    async def _follow_files(self, step: _Steps) -> None:
        roots = list(dict.fromkeys(source.root for source in self.sources))
        async with contextlib.aclosing(Bell(roots, self._clock, step.hot).rings()) as rings:
            async for paths in rings:
                done, view = await asyncio.to_thread(step.take, paths, self._today())
                if view is not None:
                    self._board.put(Key(Topic.SAVINGS), view)
                if done.delegated or step.day != self._today():
                    step.jobs_changed.set()
                self._tell_errors(done)

    async def _follow_jobs(self, step: _Steps) -> None:
        """Fold anew when a job changed here or elsewhere, or a delegation was seen."""
        self._store.on_foreign_commit(step.jobs_changed.set)
        watcher = self._board.watch()
        try:
            listening = asyncio.create_task(self._listen(watcher, step.jobs_changed))
            while True:
                await step.jobs_changed.wait()
                step.jobs_changed.clear()
                await self._jobs_changed(step)
                await self._clock.sleep(JOBS_EVERY)
        finally:
            listening.cancel()
            watcher.close()

    async def _listen(self, watcher: Any, changed: asyncio.Event) -> None:
        while True:
            if any(key.topic is Topic.JOB for key in await watcher.changed()):
                changed.set()
            await self._clock.sleep(JOBS_EVERY)

    async def _jobs_changed(self, step: _Steps) -> None:
        while await self._read_jobs():
            pass
        jobs = sorted(self._jobs.values(), key=lambda job: job.created_at)
        await asyncio.to_thread(step.fold_jobs, jobs, self._today())
        await self._publish(step)
        self._tell_read_again(step)
        await self._write_notices(step)

    async def _read_jobs(self) -> bool:
        """Take in a page of changed jobs; whether there may be more.

        All of them at once would leave the process as large as they were, for good.
        """
        new = await self._store.read(
            lambda conn: job_rows.changed_since(conn, self._change, JOBS_PAGE)
        )
        for number, job in new:
            self._change = max(self._change, number)
            if was_tried(job):
                self._jobs[job.id] = job
        return len(new) == JOBS_PAGE

    async def _publish(self, step: _Steps) -> None:
        view = await asyncio.to_thread(step.view, self._today())
        self._board.put(Key(Topic.SAVINGS), view)

    def _today(self) -> int:
        return day_of(int(self._clock.now().timestamp()))

    def _tell_errors(self, done: Refreshed) -> None:
        if done.errors:
            text = f"Claude Code met {done.errors} API errors; nothing is counted for them"
            self._events.tell("savings", text, level=Level.WARNING)

    def _tell_read_again(self, step: _Steps) -> None:
        for one in step.book.job_savings:
            for path in one.read_again:
                if (one.job.id, path) in self._told:
                    continue
                self._told.add((one.job.id, path))
                text = (
                    f"Claude read {path} itself after job {one.job.id} had: nothing was saved on it"
                )
                self._events.tell("savings", text, level=Level.WARNING, job=one.job.id)

    async def _write_notices(self, step: _Steps) -> None:
        shown = savings_shown(self._options.environ)
        view: SavingsView = self._board.get(Key(Topic.SAVINGS))
        notices = notices_of(step.book, view.all_time.figures) if shown else Notices()
        if notices != self._notices:
            self._notices = notices
            await asyncio.to_thread(write_notices, self._options.home, notices)


class _Steps:
    """What runs in the thread: the index, the book, the prices."""

    def __init__(self, follower: TranscriptFollower, index: Store) -> None:
        self._options = follower._options
        self._workers_root = follower._workers_root
        self._sources: Sequence[Source] = follower.sources
        self._index = index
        self._loop = asyncio.get_running_loop()
        self.jobs_changed = asyncio.Event()
        settings = read_json(self._options.config or self._options.home.models_json)
        self.book = Book(ManagerPrices(own_prices(settings)))
        self.day = 0
        """The day whose jobs are today's."""
        self._known = 0
        self._indexer: Indexer | None = None
        self._unreadable: tuple[str, ...] = ()

    def _write(self, work: Callable[[Connection], T]) -> T:
        """Run a transaction from the thread."""
        return asyncio.run_coroutine_threadsafe(self._index.write(work), self._loop).result()

    def begin(self) -> None:
        """Bring the index up to date and open the book."""
        table = version("genai-prices")
        self._write(lambda conn: forget_prices(conn, table))
        self._write(lambda conn: older_history.take_in(conn, self._workers_root))
        self._indexer = Indexer(self._write, self._sources)
        self._unreadable = tuple(self._indexer.refresh().unreadable)
        ids = list(self._indexer.ids.values())
        self._load_names()
        cells = self._write(lambda conn: index_query.cells(conn, ids))
        self.book.load(cells)
        self.book.load(self._write(lambda conn: index_query.twin_cells(conn, ids)))
        self._load_prices()

    def take(self, paths: set[str] | None, today: int) -> tuple[Refreshed, SavingsView | None]:
        """Read what is new in some files, or in all; the new figures if there is anything."""
        assert self._indexer is not None  # noqa: S101 - `begin` came first
        done = self._indexer.refresh() if paths is None else self._indexer.refresh_paths(paths)
        if paths is None:
            self._unreadable = tuple(done.unreadable)
        complete = True
        for deltas in done.deltas:
            if not self.book.knows(deltas):
                self._load_names()
                complete = False
            self.book.gain(deltas)
        if not complete:
            self._load_prices()
        return done, self.view(today) if done.deltas else None

    def hot(self) -> list[str]:
        """Files written lately."""
        return self._indexer.hot(HOT) if self._indexer else []

    def fold_jobs(self, jobs: Sequence[Job], today: int) -> None:
        """Fold what jobs saved, with what the transcripts tell about them."""
        assert self._indexer is not None  # noqa: S101 - `begin` came first
        self.day = today
        ids = list(self._indexer.ids.values())
        links = self._write(links_of)
        rows = self.book.worker_rows()
        unmatched = (
            self._write(lambda conn: unmatched_workers(conn, ids, rows, jobs)) if rows else {}
        )
        self.book.take_jobs(jobs, links, today, unmatched)

    def view(self, today: int) -> SavingsView:
        """The newest figures."""
        return self.book.view(today, self._unreadable)

    def _load_names(self) -> None:
        names = self._write(lambda conn: index_query.session_names(conn, self._known))
        for one in names:
            self.book.sessions[one.number] = Names(one.owner, one.project, one.name)
            self._known = max(self._known, one.number)
        self.book.models.update(self._write(index_query.model_names))

    def _load_prices(self) -> None:
        wanted = self.book.model_days()
        prices = self.book.prices
        missing = self._write(lambda conn: prices.missing(conn, wanted))
        if missing:
            found = ask_table(missing)
            today = date.today()  # noqa: DTZ011 - the user's own day
            self._write(lambda conn: prices.learn(conn, found, today))
            self.book.reprice()
