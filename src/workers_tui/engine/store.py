"""One SQLite file, shared by every engine of the user. Only this module runs transactions.

One writer thread per file and process: works that wait together share one
commit, and a work that fails takes nothing of the others with it. What a
write returned is on disk. Nouns own their tables; here are none.
"""

from __future__ import annotations

import asyncio
import contextlib
import queue
import random
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from workers_tui.engine import store_file
from workers_tui.engine.errors import StoreError, StoreUnusable
from workers_tui.engine.store_file import Migration

__all__ = ["Migration", "Store"]

T = TypeVar("T")
Work = Callable[[sqlite3.Connection], Any]

LOOK_EVERY = 0.1
"""Seconds between looks for commits of other processes."""
LOCK_PATIENCE = 10.0
"""Seconds to wait for another process's transaction."""
GROUP = 64
"""Works that may share one commit."""
READERS = 2
"""A slow read, such as a search, lets a quick one pass."""


@dataclass(slots=True)
class _Item:
    """A work in the queue."""

    work: Work
    future: asyncio.Future[Any]
    durable: bool
    outcome: Any = None
    error: BaseException | None = None


@dataclass(slots=True)
class _Bells:
    """Who wants to know about commits of other processes, and what was seen last."""

    calls: list[Callable[[], None]] = field(default_factory=list)
    version: int = 0
    looked: float = 0.0


class Store:
    """Transactions on one file."""

    def __init__(self, path: Path, known: int, *, durable: bool) -> None:
        self.path = path
        self.set_aside: Path | None = None
        """Where a damaged file was put when this one was opened."""
        self._known = known
        self._inode = 0
        self._durable = durable
        self._loop = asyncio.get_running_loop()
        self._works: queue.SimpleQueue[_Item | None] = queue.SimpleQueue()
        self._reads: queue.SimpleQueue[_Item | None] = queue.SimpleQueue()
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
        cls, path: Path, migrations: Sequence[Migration], *, durable: bool = True
    ) -> Store:
        """Open or create the file, bring its schema up to date, start the threads.

        A damaged file is set aside first (`set_aside`). `durable` flushes every
        commit to the disk; without it a power failure may take the newest ones.
        Raises StoreNewer or StoreUnusable.
        """
        store = cls(path, len(migrations), durable=durable)
        store.set_aside = await asyncio.to_thread(store_file.prepare, path, migrations)
        store._inode = await asyncio.to_thread(lambda: path.stat().st_ino)
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

    def post(self, work: Callable[[sqlite3.Connection], object]) -> None:
        """Queue a work without waiting: it runs after every write asked for before."""
        future = self._submit(self._works, work, durable=True)
        future.add_done_callback(lambda done: done.cancelled() or done.exception())

    async def read(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run `work` on a snapshot that holds everything committed so far."""
        result: T = await self._submit(self._reads, work, durable=False)
        return result

    def on_foreign_commit(self, bell: Callable[[], None]) -> None:
        """Call `bell` in the loop within 200 ms of a commit by another process."""
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
        self, works: queue.SimpleQueue[_Item | None], work: Work, durable: bool
    ) -> asyncio.Future[Any]:
        if self._closed:
            raise StoreError(f"{self.path.name} is closed")
        future: asyncio.Future[Any] = self._loop.create_future()
        works.put(_Item(work, future, durable))
        return future

    # the writer thread

    def _write_all(self) -> None:
        conn: sqlite3.Connection | None = None
        open_ = True
        while open_:
            items, open_ = self._next_group()
            try:
                conn = conn or store_file.connect(self.path, durable=self._durable)
                if items:
                    self._write_group(conn, items)
                self._look_for_others(conn)
            except sqlite3.Error as error:
                _fail_rest(items, store_file.store_error(error, self.path))
            self._deliver(items)
        if conn is not None:
            conn.close()

    def _next_group(self) -> tuple[list[_Item], bool]:
        """The works that wait now, or none after a while; False at the end."""
        items: list[_Item] = []
        try:
            item = self._works.get(timeout=LOOK_EVERY)
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

    def _write_group(self, conn: sqlite3.Connection, items: list[_Item]) -> None:
        if len(items) > 1 and self._together(conn, items):
            return
        for item in items:
            item.error = None
            try:
                self._alone(conn, item)
            except BaseException as error:  # noqa: BLE001 - handed to the one who asked
                item.error = self._explain(error)

    def _together(self, conn: sqlite3.Connection, items: list[_Item]) -> bool:
        """One commit for all; False when nothing was written and each must go alone."""
        try:
            self._begin(conn, durable=any(item.durable for item in items))
            for item in items:
                _in_savepoint(conn, item)
            conn.execute("COMMIT")
        except (sqlite3.Error, StoreError):
            _roll_back(conn)
            return False
        return True

    def _alone(self, conn: sqlite3.Connection, item: _Item) -> None:
        self._begin(conn, durable=item.durable)
        try:
            item.outcome = item.work(conn)
            conn.execute("COMMIT")
        except BaseException:
            _roll_back(conn)
            raise

    def _begin(self, conn: sqlite3.Connection, *, durable: bool) -> None:
        level = "FULL" if durable and self._durable else "NORMAL"
        conn.execute(f"PRAGMA synchronous={level}")
        _begin_immediate(conn)
        try:
            store_file.check_version(conn, self._known, self.path)
            store_file.check_place(self.path, self._inode)
        except StoreError:
            _roll_back(conn)
            raise

    def _look_for_others(self, conn: sqlite3.Connection) -> None:
        """Our own commits leave this connection's data_version as it is."""
        now = time.monotonic()
        if now - self._bells.looked < LOOK_EVERY / 2 or not self._bells.calls:
            return
        (version,) = conn.execute("PRAGMA data_version").fetchone()
        seen, self._bells.version = self._bells.version, version
        if self._bells.looked and version != seen:
            for bell in self._bells.calls:
                self._call(bell)
        self._bells.looked = now

    # the reader thread

    def _read_all(self) -> None:
        conn: sqlite3.Connection | None = None
        while (item := self._reads.get()) is not None:
            try:
                conn = conn or store_file.connect(self.path, durable=False)
                conn.execute("BEGIN")
                try:
                    item.outcome = item.work(conn)
                finally:
                    _roll_back(conn)
            except BaseException as error:  # noqa: BLE001 - handed to the one who asked
                item.error = self._explain(error)
            self._deliver([item])
        if conn is not None:
            conn.close()

    # both

    def _explain(self, error: BaseException) -> BaseException:
        if not isinstance(error, sqlite3.Error):
            return error
        if store_file.is_damage(error):
            store_file.mark_damaged(self.path)
        if isinstance(error, sqlite3.OperationalError) or store_file.is_damage(error):
            return store_file.store_error(error, self.path)
        return error

    def _deliver(self, items: list[_Item]) -> None:
        if items:
            self._call(lambda: _resolve(items))

    def _call(self, callback: Callable[[], None]) -> None:
        with contextlib.suppress(RuntimeError):  # the loop ended before its works did
            self._loop.call_soon_threadsafe(callback)


def _begin_immediate(conn: sqlite3.Connection) -> None:
    """Take the write lock; SQLite's own waiting would sleep up to 100 ms at a time."""
    conn.execute("PRAGMA busy_timeout=0")
    start = time.monotonic()
    while True:
        try:
            conn.execute("BEGIN IMMEDIATE")
            return
        except sqlite3.OperationalError as error:
            waited = time.monotonic() - start
            if not (error.sqlite_errorname or "").startswith("SQLITE_BUSY"):
                raise
            if waited > LOCK_PATIENCE:
                raise
            time.sleep(random.uniform(0.0001, 0.0008 + min(waited, 1.0) / 50))


def _in_savepoint(conn: sqlite3.Connection, item: _Item) -> None:
    conn.execute("SAVEPOINT work")
    try:
        item.outcome = item.work(conn)
    except (sqlite3.OperationalError, sqlite3.DatabaseError) as error:
        if not isinstance(error, sqlite3.IntegrityError):
            raise  # the disk or the file: SQLite may have rolled back everything
        _undo(conn, item, error)
    except BaseException as error:  # noqa: BLE001 - handed to the one who asked
        _undo(conn, item, error)
    else:
        conn.execute("RELEASE work")


def _undo(conn: sqlite3.Connection, item: _Item, error: BaseException) -> None:
    item.error = error
    conn.execute("ROLLBACK TO work")
    conn.execute("RELEASE work")


def _roll_back(conn: sqlite3.Connection) -> None:
    if conn.in_transaction:
        with contextlib.suppress(sqlite3.Error):  # the error that led here is the one to tell
            conn.execute("ROLLBACK")


def _fail_rest(items: list[_Item], error: StoreUnusable | StoreError) -> None:
    for item in items:
        if item.error is None:
            item.error = error


def _resolve(items: list[_Item]) -> None:
    for item in items:
        if item.future.cancelled():
            continue
        if item.error is not None:
            item.future.set_exception(item.error)
        else:
            item.future.set_result(item.outcome)
