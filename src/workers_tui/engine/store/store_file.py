"""Opens a SQLite file of ours: places, modes, schema version, damage.

Everything that may be wrong with the file is found here, before the first
work, and told in one line. Nothing here knows what the tables mean.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from workers_tui.engine.errors import StoreError, StoreNewer, StoreUnusable
from workers_tui.engine.store.mounts import network_file_system
from workers_tui.home.files import why

Migration = str | Callable[[sqlite3.Connection], None]
"""SQL statements, or a function for what SQL cannot say."""

QUICK_CHECK_BELOW = 4 * 1024 * 1024
"""Smaller files are checked in full at each start; larger ones after a complaint."""
LOG_PAGES = 4000
"""A log that nobody tidied is tidied by the commit that makes it longer than this."""
SQLITE_LOCK_BYTES = (0x40000002, 510)
"""Where every connection in WAL mode holds a shared lock."""
DAMAGE = ("SQLITE_CORRUPT", "SQLITE_NOTADB")


def is_damage(error: sqlite3.Error) -> bool:
    """True when SQLite says the file's content makes no sense."""
    return (getattr(error, "sqlite_errorname", None) or "").startswith(DAMAGE)


def store_error(error: sqlite3.Error | OSError, path: Path) -> StoreError:
    """What a user can do about an error of the disk or of SQLite."""
    if isinstance(error, OSError):
        return StoreUnusable(f"cannot use {path}: {why(error)}")
    name = getattr(error, "sqlite_errorname", None) or ""
    for prefix, advice in _ADVICE.items():
        if name.startswith(prefix):
            return StoreUnusable(f"cannot use {path}: {advice}")
    return StoreUnusable(f"cannot use {path}: {error}")


_ADVICE = {
    "SQLITE_FULL": "the disk is full; free some space and try again",
    "SQLITE_READONLY": "it is read-only; make it writable for you and try again",
    "SQLITE_PERM": "it is not readable for you; mend its permissions",
    "SQLITE_BUSY": "another program holds it locked; close that program and try again",
    "SQLITE_LOCKED": "another program holds it locked; close that program and try again",
    "SQLITE_CANTOPEN": "it cannot be opened; mend the directory's permissions",
    "SQLITE_IOERR": "the disk reports an error or is full; look at it before going on",
    "SQLITE_CORRUPT": "it is damaged; start again, then it is set aside and rebuilt",
    "SQLITE_NOTADB": "it is damaged; start again, then it is set aside and rebuilt",
}


def prepare(path: Path, migrations: Sequence[Migration]) -> Path | None:
    """Make the file ready for use; return where a damaged one was put, if it was.

    Raises StoreNewer (nothing is written then) or StoreUnusable.
    """
    try:
        kind = network_file_system(path.parent)
        if kind:
            raise StoreUnusable(
                f"{path.parent} lies on a network file system ({kind}), where locks cannot be "
                "trusted; set WORKERS_HOME to a local directory"
            )
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with _one_at_a_time(path.parent):
            aside = _set_aside_if_damaged(path, len(migrations))
            os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
            _migrate(path, migrations)
        return aside
    except (sqlite3.Error, OSError) as error:
        raise store_error(error, path) from error


def connect(path: Path, *, durable: bool) -> sqlite3.Connection:
    """A connection whose transactions are begun and ended by hand."""
    conn = sqlite3.connect(path, timeout=10, isolation_level=None)
    try:
        conn.execute(f"PRAGMA synchronous={'FULL' if durable else 'NORMAL'}")
        conn.execute("PRAGMA foreign_keys=ON")
        conn.execute("PRAGMA temp_store=MEMORY")
        conn.execute(f"PRAGMA wal_autocheckpoint={LOG_PAGES}")
    except BaseException:
        conn.close()
        raise
    return conn


def check_version(conn: sqlite3.Connection, known: int, path: Path) -> int:
    """The schema version of the file; raises StoreNewer when we do not know it."""
    (version,) = conn.execute("PRAGMA user_version").fetchone()
    if version > known:
        raise StoreNewer(
            f"{path} was written by a newer workers-tui; restart this program with the new version"
        )
    return int(version)


def inode_of(path: Path) -> int:
    """Which file is open. Raises StoreUnusable."""
    try:
        return path.stat().st_ino
    except OSError as error:
        raise store_error(error, path) from error


def check_place(path: Path, inode: int) -> None:
    """Raise StoreUnusable when the file was taken away under us: nobody would find our writes."""
    try:
        if path.stat().st_ino == inode:
            return
    except FileNotFoundError:
        pass
    except OSError as error:
        raise store_error(error, path) from error
    raise StoreUnusable(f"{path} was moved or replaced while in use; restart this program")


def run_migration(conn: sqlite3.Connection, migration: Migration) -> None:
    """Apply one migration inside the transaction that is open."""
    if callable(migration):
        migration(conn)
        return
    for statement in _statements(migration):
        conn.execute(statement)


def mark_damaged(path: Path) -> None:
    """Leave word for the next start, which then checks the whole file."""
    with contextlib.suppress(OSError):
        _marker(path).touch(mode=0o600)


def _marker(path: Path) -> Path:
    return path.with_name(path.name + ".damaged")


@contextlib.contextmanager
def _one_at_a_time(directory: Path, patience: float = 20.0) -> Iterator[None]:
    """Only one process opens stores of this directory at a time."""
    fd = os.open(directory, os.O_RDONLY)
    try:
        end = time.monotonic() + patience
        while True:
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > end:
                    raise StoreUnusable(
                        f"{directory} is being opened by another workers-tui that does not "
                        "finish; end it and try again"
                    ) from None
                time.sleep(0.005)
            except OSError:
                break  # no locks on directories here: SQLite's own must do
        yield
    finally:
        os.close(fd)


def _set_aside_if_damaged(path: Path, known: int) -> Path | None:
    if not path.exists() or path.stat().st_size == 0:
        return None
    try:
        _look(path, known)
    except sqlite3.DatabaseError as error:
        if not is_damage(error):
            raise
        return _set_aside(path)
    _marker(path).unlink(missing_ok=True)
    return None


def _look(path: Path, known: int) -> None:
    """Read without writing: the version first, then the content where that is quick."""
    conn = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, isolation_level=None)
    try:
        conn.execute("PRAGMA busy_timeout=10000")
        check_version(conn, known, path)
        conn.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if path.stat().st_size < QUICK_CHECK_BELOW or _marker(path).exists():
            (verdict,) = conn.execute("PRAGMA quick_check(1)").fetchone()
            if verdict != "ok":
                error = sqlite3.DatabaseError(verdict)
                error.sqlite_errorname = "SQLITE_CORRUPT"
                raise error
    finally:
        conn.close()


def _set_aside(path: Path) -> Path:
    _refuse_if_in_use(path)
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S%f")
    aside = path.with_name(f"{path.name}.damaged-{stamp}")
    for suffix in ("-wal", "-shm", ""):
        with contextlib.suppress(FileNotFoundError):
            path.with_name(path.name + suffix).rename(aside.with_name(aside.name + suffix))
    _marker(path).unlink(missing_ok=True)
    return aside


def _refuse_if_in_use(path: Path) -> None:
    """Renaming a file under a running engine would lose what it books there."""
    start, length = SQLITE_LOCK_BYTES
    with path.open("r+b") as file:
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, length, start)
        except OSError:
            raise StoreUnusable(
                f"{path} is damaged and still in use by another workers-tui; "
                "quit that one, then start again"
            ) from None


def _migrate(path: Path, migrations: Sequence[Migration]) -> None:
    conn = connect(path, durable=True)
    try:
        version = check_version(conn, len(migrations), path)
        (mode,) = conn.execute("PRAGMA journal_mode").fetchone()
        if mode != "wal":
            conn.execute("PRAGMA journal_mode=WAL")
        if version == len(migrations):
            return
        conn.execute("BEGIN IMMEDIATE")
        try:
            version = check_version(conn, len(migrations), path)
            for migration in migrations[version:]:
                run_migration(conn, migration)
            conn.execute(f"PRAGMA user_version={len(migrations)}")
            conn.execute("COMMIT")
        except BaseException:
            with contextlib.suppress(sqlite3.Error):
                conn.execute("ROLLBACK")
            raise
    finally:
        conn.close()


def _statements(script: str) -> Iterator[str]:
    """Cut a script into statements; `executescript` would commit on its own."""
    pending = ""
    for piece in script.split(";"):
        pending += piece + ";"
        if sqlite3.complete_statement(pending):
            if pending.strip(" \n\t;"):
                yield pending
            pending = ""
