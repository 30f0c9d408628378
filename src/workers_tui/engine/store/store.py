"""One SQLite file, shared by every engine of the user. Only this module runs transactions.

One writer thread per file and process: works that wait together share one
commit, and a work that fails takes nothing of the others with it. What a
write returned is on disk. Nouns own their tables; here are none.
"""

from __future__ import annotations

import asyncio
import contextlib
import queue
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from workers_tui.engine.errors import StoreError
from workers_tui.engine.store import store_file
from workers_tui.engine.store.store_file import Migration
from workers_tui.engine.store.transactions import Item, Transactions, Work

__all__ = ["Migration", "Store"]

T = TypeVar("T")

LOOK_EVERY = 0.15
"""Seconds between looks for commits of other processes, where nobody says otherwise."""
GROUP = 64
"""Works that may share one commit."""
TIDY_AFTER, TIDY_AT_LAST = 20, 200
"""Commits after which the log is copied into the file: when nobody waits, and in any case."""
PATIENCE = 1.0
"""Seconds after which one who waits in a thread looks whether anybody is there to answer."""
READERS = 2
"""A slow read, such as a search, lets a quick one pass."""


@dataclass(slots=True)
class _Bells:
    """Who wants to know about commits of other processes, and what was seen last."""

    calls: list[Callable[[], None]] = field(default_factory=list)
    version: int = 0
    looked: float = 0.0


class Store:
    """Transactions on one file."""

    def __init__(self, path: Path, known: int, *, durable: bool, look_every: float) -> None:
        self.path = path
        self._look_every = look_every
        self.set_aside: Path | None = None
        """Where a damaged file was put when this one was opened."""
        self._transactions = Transactions(path, known, durable=durable)
        self._loop = asyncio.get_running_loop()
        self._works: queue.SimpleQueue[Item | None] = queue.SimpleQueue()
        self._reads: queue.SimpleQueue[Item | None] = queue.SimpleQueue()
        self._bells = _Bells()
        self._closed = False
        self._threads = [
            threading.Thread(target=self._write_all, name=f"{path.name} writer", daemon=True),
            *(
                threading.Thread(target=self._read_all, name=f"{path.name} reader", daemon=True)
                for _ in range(READERS)
            ),
        ]

    @classmethod
    async def open(
        cls,
        path: Path,
        migrations: Sequence[Migration],
        *,
        durable: bool = True,
        look_every: float = LOOK_EVERY,
    ) -> Store:
        """Open or create the file, bring its schema up to date, start the threads.

        A damaged file is set aside first (`set_aside`). `durable` flushes every
        commit to the disk; without it a power failure may take the newest ones.
        `look_every` is the seconds between looks for commits of other processes:
        each look costs an idle program some time.
        Raises StoreNewer or StoreUnusable.
        """
        store = cls(path, len(migrations), durable=durable, look_every=look_every)
        store.set_aside = await asyncio.to_thread(store_file.prepare, path, migrations)
        store._transactions.inode = await asyncio.to_thread(store_file.inode_of, path)
        for thread in store._threads:
            thread.start()
        return store

    async def write(self, work: Callable[[sqlite3.Connection], T], *, durable: bool = True) -> T:
        """Run `work` in a transaction of the writer thread; on return it is committed.

        `work` touches nothing but the connection and may run again after a
        failure of its neighbours. It is done even when the caller is cancelled
        meanwhile. `durable=False` survives the end of the process but perhaps
        not a power failure. Raises what `work` raises, or StoreError.
        """
        result: T = await self._submit(self._works, work, durable)
        return result

    def write_from_thread(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """`write` for a thread that may wait, without a way through the loop."""
        future: Future[T] = Future()
        self._works.put(self._item(work, future, durable=True))
        while True:
            try:
                return future.result(timeout=PATIENCE)
            except TimeoutError:
                if not self._threads[0].is_alive():  # it was closed while we asked
                    raise self._is_closed() from None

    def post(
        self,
        work: Callable[[sqlite3.Connection], object],
        on_failure: Callable[[], object] = lambda: None,
    ) -> None:
        """Queue a work without waiting: it runs after every write asked for before.

        `on_failure` is called where it was not done.
        """
        future = self._submit(self._works, work, durable=True)

        def look(done: asyncio.Future[Any]) -> None:
            if done.cancelled() or done.exception() is not None:
                on_failure()

        future.add_done_callback(look)

    async def read(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run `work` on a snapshot that holds everything committed so far."""
        return await self.begin_read(work)

    def begin_read(self, work: Callable[[sqlite3.Connection], T]) -> asyncio.Future[T]:
        """`read` that goes on before anybody waits for it."""
        return self._submit(self._reads, work, durable=False)

    def on_foreign_commit(self, bell: Callable[[], None]) -> None:
        """Call `bell` in the loop soon after a commit by another process, see `look_every`."""
        self._bells.calls.append(bell)

    async def close(self) -> None:
        """Finish what is queued and close the connections."""
        if self._closed:
            return
        self._closed = True
        self._works.put(None)
        for _ in range(READERS):
            self._reads.put(None)
        for thread in self._threads:
            if thread.ident is not None:
                await asyncio.to_thread(thread.join)

    def _submit(
        self, works: queue.SimpleQueue[Item | None], work: Work, durable: bool
    ) -> asyncio.Future[Any]:
        future: asyncio.Future[Any] = self._loop.create_future()
        works.put(self._item(work, future, durable=durable))
        return future

    def _item(
        self, work: Work, future: asyncio.Future[Any] | Future[Any], *, durable: bool
    ) -> Item:
        if self._closed:
            raise self._is_closed()
        return Item(work, future, durable)

    def _is_closed(self) -> StoreError:
        return StoreError(f"{self.path.name} is closed")

    # the writer thread

    def _write_all(self) -> None:
        conn: sqlite3.Connection | None = None
        open_, commits = True, 0
        while open_:
            items, open_ = self._next_group()
            try:
                conn = conn or self._transactions.connect()
            except sqlite3.Error as error:
                _fail(items, self._transactions.explain(error))
            else:
                self._transactions.write(conn, items)
            self._deliver(items)
            conn = _fit_to_use(conn)
            if conn is not None:
                commits = self._tidy(conn, commits + bool(items), idle=not items)
                self._look_for_others(conn)
        if conn is not None:
            conn.close()

    def _tidy(self, conn: sqlite3.Connection, commits: int, *, idle: bool) -> int:
        """Copy the log into the file, behind everybody's back; how many commits wait for it."""
        if commits < (TIDY_AFTER if idle else TIDY_AT_LAST):
            return commits
        self._transactions.tidy(conn)
        return 0

    def _next_group(self) -> tuple[list[Item], bool]:
        """The works that wait now, or none after a while; False at the end."""
        items: list[Item] = []
        try:
            item = self._works.get(timeout=self._look_every)
            while True:
                if item is None:
                    return items, False
                items.append(item)
                if len(items) == GROUP:
                    break
                item = self._works.get_nowait()
        except queue.Empty:
            pass
        return items, True

    def _look_for_others(self, conn: sqlite3.Connection) -> None:
        """Our own commits leave this connection's data_version as it is."""
        now, bells = time.monotonic(), self._bells
        if now - bells.looked < self._look_every / 2 or not bells.calls:
            return
        try:
            (version,) = conn.execute("PRAGMA data_version").fetchone()
        except sqlite3.Error:
            return  # the next write will tell what is wrong
        if bells.looked and version != bells.version:
            for bell in bells.calls:
                self._call(bell)
        bells.version, bells.looked = version, now

    # the reader threads

    def _read_all(self) -> None:
        conn: sqlite3.Connection | None = None
        while (item := self._reads.get()) is not None:
            try:
                conn = conn or self._transactions.connect()
            except sqlite3.Error as error:
                _fail([item], self._transactions.explain(error))
            else:
                self._transactions.read(conn, item)
            self._deliver([item])
            conn = _fit_to_use(conn)
        if conn is not None:
            conn.close()

    # both

    def _deliver(self, items: list[Item]) -> None:
        _resolve([item for item in items if isinstance(item.future, Future)])
        in_loop = [item for item in items if not isinstance(item.future, Future)]
        if in_loop:
            self._call(lambda: _resolve(in_loop))

    def _call(self, callback: Callable[[], None]) -> None:
        with contextlib.suppress(RuntimeError):  # the loop ended before its works did
            self._loop.call_soon_threadsafe(callback)


def _fit_to_use(conn: sqlite3.Connection | None) -> sqlite3.Connection | None:
    """The connection, or none where the disk let no transaction end: the next work opens anew."""
    if conn is None or not conn.in_transaction:
        return conn
    with contextlib.suppress(sqlite3.Error):
        conn.close()
    return None


def _fail(items: list[Item], error: BaseException) -> None:
    for item in items:
        item.error = error


def _resolve(items: list[Item]) -> None:
    for item in items:
        if item.future.cancelled():
            continue
        if item.error is not None:
            item.future.set_exception(item.error)
        else:
            item.future.set_result(item.outcome)
