"""Transactions on a connection that one thread alone uses: each work has one of its own."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from sqlite3 import Connection
from sqlite3 import Error as SQLiteError
from typing import TypeVar

T = TypeVar("T")


def transactions(conn: Connection) -> Callable[[Callable[[Connection], T]], T]:
    """Runs each work in a transaction of its own."""

    def transact(work: Callable[[Connection], T]) -> T:
        with _transaction(conn):
            return work(conn)

    return transact


@contextmanager
def _transaction(conn: Connection) -> Iterator[None]:
    conn.execute("BEGIN IMMEDIATE")
    try:
        yield
        conn.execute("COMMIT")
    except BaseException:
        with contextlib.suppress(SQLiteError):  # what went wrong may have ended it
            conn.execute("ROLLBACK")
        raise
