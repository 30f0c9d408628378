"""Runs works in transactions: several in one commit, or each alone. Knows no threads.

A work that fails takes nothing of its neighbours with it. When the disk or the
file is at fault, SQLite may have undone everything: then each is tried alone.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import sqlite3
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workers_tui.engine.errors import StoreError
from workers_tui.engine.store import store_file

Work = Callable[[sqlite3.Connection], Any]

LOCK_PATIENCE = 10.0
"""Seconds to wait for another process's transaction."""


@dataclass(slots=True)
class Item:
    """A work in the queue."""

    work: Work
    future: asyncio.Future[Any] | Future[Any]
    """The second kind for one who waits in a thread."""
    durable: bool
    outcome: Any = None
    error: BaseException | None = None


class Transactions:
    """Begins, commits and undoes on one file."""

    def __init__(self, path: Path, known: int, *, durable: bool) -> None:
        self.path = path
        self.inode = 0
        """Of the file that was opened."""
        self._known = known
        self._durable = durable

    def connect(self) -> sqlite3.Connection:
        """A connection for one thread."""
        return store_file.connect(self.path, durable=self._durable)

    def write(self, conn: sqlite3.Connection, items: list[Item]) -> None:
        """Run the works and commit; each has its outcome or its error afterwards."""
        if len(items) > 1 and self._together(conn, items):
            return
        for item in items:
            item.error = None
            try:
                self._alone(conn, item)
            except BaseException as error:  # noqa: BLE001 - handed to the one who asked
                item.error = self.explain(error)

    def _together(self, conn: sqlite3.Connection, items: list[Item]) -> bool:
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

    def _alone(self, conn: sqlite3.Connection, item: Item) -> None:
        self._begin(conn, durable=item.durable)
        try:
            item.outcome = item.work(conn)
            conn.execute("COMMIT")
        except BaseException:
            _roll_back(conn)
            raise

    def _begin(self, conn: sqlite3.Connection, *, durable: bool) -> None:
        if self._durable:
            conn.execute(f"PRAGMA synchronous={'FULL' if durable else 'NORMAL'}")
        _begin_immediate(conn)
        try:
            store_file.check_version(conn, self._known, self.path)
            store_file.check_place(self.path, self.inode)
        except BaseException:  # the disk's errors too: what stays open locks out every engine
            _roll_back(conn)
            raise

    def tidy(self, conn: sqlite3.Connection) -> None:
        """Copy the log into the file as far as no reader needs it; no commit has to do it then."""
        with contextlib.suppress(sqlite3.Error):  # the next write will tell what is wrong
            conn.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()

    def read(self, conn: sqlite3.Connection, item: Item) -> None:
        """Run a work on one snapshot and keep nothing of what it may write."""
        try:
            conn.execute("BEGIN")
            try:
                item.outcome = item.work(conn)
            finally:
                _roll_back(conn)
        except BaseException as error:  # noqa: BLE001 - handed to the one who asked
            item.error = self.explain(error)

    def explain(self, error: BaseException) -> BaseException:
        """An error as the one who asked should get it."""
        if not isinstance(error, sqlite3.Error):
            return error
        if store_file.is_damage(error):
            store_file.mark_damaged(self.path)
        if isinstance(error, sqlite3.OperationalError) or store_file.is_damage(error):
            return store_file.store_error(error, self.path)
        return error


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


def _in_savepoint(conn: sqlite3.Connection, item: Item) -> None:
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


def _undo(conn: sqlite3.Connection, item: Item, error: BaseException) -> None:
    item.error = error
    conn.execute("ROLLBACK TO work")
    conn.execute("RELEASE work")


def _roll_back(conn: sqlite3.Connection) -> None:
    if conn.in_transaction:
        with contextlib.suppress(sqlite3.Error):  # the error that led here is the one to tell
            conn.execute("ROLLBACK")
