"""The store: commits that hold, errors that say what to do, other processes that are seen."""

from __future__ import annotations

import asyncio
import errno
import os
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from workers_tui.engine.errors import StoreError, StoreNewer, StoreUnusable
from workers_tui.engine.store import store_file, transactions
from workers_tui.engine.store.mounts import network_file_system
from workers_tui.engine.store.store import Store

TABLE = "CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT UNIQUE);"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "some.db"


def add(text: str) -> Callable[[sqlite3.Connection], int]:
    def work(conn: sqlite3.Connection) -> int:
        return conn.execute("INSERT INTO notes (text) VALUES (?)", (text,)).lastrowid or 0

    return work


def texts(conn: sqlite3.Connection) -> list[str]:
    return [text for (text,) in conn.execute("SELECT text FROM notes ORDER BY id")]


async def test_a_thread_that_may_wait_writes_without_the_loop(path: Path) -> None:
    store = await Store.open(path, [TABLE])
    assert await asyncio.to_thread(store.write_from_thread, add("one")) == 1
    with pytest.raises(sqlite3.IntegrityError):
        await asyncio.to_thread(store.write_from_thread, add("one"))
    assert await store.read(texts) == ["one"]
    await store.close()
    with pytest.raises(StoreError, match="closed"):
        await asyncio.to_thread(store.write_from_thread, add("two"))


async def test_a_thread_that_asks_while_the_store_closes_does_not_wait_for_ever(path: Path) -> None:
    store = await Store.open(path, [TABLE])
    await store.close()
    store._closed = False  # as it looked to the thread a moment before
    with pytest.raises(StoreError, match="closed"):
        await asyncio.to_thread(store.write_from_thread, add("late"))


def run_python(code: str, *args: object) -> subprocess.CompletedProcess[str]:
    """Another process that uses the store."""
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, args)], capture_output=True, text=True, check=False
    )


async def test_a_write_is_read_back_by_another_connection(path: Path) -> None:
    store = await Store.open(path, [TABLE])
    assert await store.write(add("one")) == 1
    assert await store.read(texts) == ["one"]
    await store.close()
    assert texts(sqlite3.connect(path)) == ["one"]


async def test_the_file_is_private_and_in_wal_mode_with_full_sync(path: Path) -> None:
    store = await Store.open(path, [TABLE])
    await store.write(add("one"))
    sync, mode = await store.write(
        lambda conn: (
            conn.execute("PRAGMA synchronous").fetchone()[0],
            conn.execute("PRAGMA journal_mode").fetchone()[0],
        )
    )
    assert (sync, mode) == (2, "wal")
    for name in ("some.db", "some.db-wal", "some.db-shm"):
        assert stat.S_IMODE(path.with_name(name).stat().st_mode) == 0o600
    await store.close()


async def test_a_work_that_fails_takes_nothing_of_its_neighbours_with_it(path: Path) -> None:
    store = await Store.open(path, [TABLE])

    def half(conn: sqlite3.Connection) -> None:
        add("half")(conn)
        raise LookupError("no")

    outcomes = await asyncio.gather(
        store.write(add("a")),
        store.write(half),
        store.write(add("a")),
        store.write(add("b")),
        return_exceptions=True,
    )
    assert [type(outcome) for outcome in outcomes] == [
        int,
        LookupError,
        sqlite3.IntegrityError,
        int,
    ]
    assert await store.read(texts) == ["a", "b"]
    await store.close()


async def test_a_disk_that_fails_between_begin_and_work_leaves_no_transaction_open(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = await Store.open(path, [TABLE])

    def fails(*_: object) -> int:
        raise disk_error()

    with monkeypatch.context() as patch:
        patch.setattr(store_file, "check_version", fails)
        with pytest.raises(StoreUnusable):
            await store.write(add("one"))
    await store.write(add("two"))
    assert await store.read(texts) == ["two"]
    await store.close()


async def test_a_transaction_that_cannot_be_undone_costs_its_connection_only(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = await Store.open(path, [TABLE])

    def fails(conn: sqlite3.Connection) -> None:
        add("one")(conn)
        raise disk_error()

    with monkeypatch.context() as patch:
        patch.setattr(transactions, "_roll_back", lambda _conn: None)
        for _ in range(3):  # there are two readers
            with pytest.raises(StoreUnusable):
                await store.read(fails)
        with pytest.raises(StoreUnusable):
            await store.write(fails)
    await store.write(add("two"))
    assert await store.read(texts) == ["two"]
    await store.close()


async def test_whoever_posts_a_work_hears_when_it_was_not_done(path: Path) -> None:
    store = await Store.open(path, [TABLE])
    heard: list[str] = []
    store.post(add("one"), lambda: heard.append("one"))
    store.post(add("one"), lambda: heard.append("one again"))
    await store.close()
    assert heard == ["one again"]


def disk_error() -> sqlite3.OperationalError:
    error = sqlite3.OperationalError("disk I/O error")
    error.sqlite_errorname = "SQLITE_IOERR_READ"
    return error


async def test_works_are_done_in_the_order_they_were_asked_for(path: Path) -> None:
    store = await Store.open(path, [TABLE])
    await asyncio.gather(*(store.write(add(str(number))) for number in range(200)))
    assert await store.read(texts) == [str(number) for number in range(200)]
    await store.close()


async def test_a_cancelled_wait_does_not_undo_the_work(path: Path) -> None:
    store = await Store.open(path, [TABLE])
    task = asyncio.ensure_future(store.write(add("kept")))
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    await store.write(add("after"))
    assert await store.read(texts) == ["kept", "after"]
    await store.close()


async def test_a_closed_store_says_so(path: Path) -> None:
    store = await Store.open(path, [TABLE])
    await store.close()
    with pytest.raises(StoreError, match="closed"):
        await store.write(add("late"))


async def test_closing_finishes_what_was_asked_for(path: Path) -> None:
    store = await Store.open(path, [TABLE])
    writes = [asyncio.ensure_future(store.write(add(str(n)))) for n in range(50)]
    await asyncio.sleep(0)
    await store.close()
    await asyncio.gather(*writes)
    assert len(texts(sqlite3.connect(path))) == 50


async def test_migrations_run_once_and_in_order(path: Path) -> None:
    def rename(conn: sqlite3.Connection) -> None:
        conn.execute("UPDATE notes SET text=upper(text)")

    store = await Store.open(path, [TABLE])
    await store.write(add("one"))
    await store.close()
    for _ in range(2):
        store = await Store.open(path, [TABLE, rename, "ALTER TABLE notes ADD COLUMN more;"])
        await store.close()
    conn = sqlite3.connect(path)
    assert texts(conn) == ["ONE"]
    assert conn.execute("PRAGMA user_version").fetchone() == (3,)


async def test_a_migration_that_fails_leaves_the_old_schema(path: Path) -> None:
    await (await Store.open(path, [TABLE])).close()
    with pytest.raises(StoreError):
        await Store.open(path, [TABLE, "DROP TABLE notes; CREATE TABLE broken ("])
    conn = sqlite3.connect(path)
    assert texts(conn) == []
    assert conn.execute("PRAGMA user_version").fetchone() == (1,)


async def test_a_newer_store_is_refused_and_not_touched(path: Path) -> None:
    await (await Store.open(path, [TABLE, "CREATE TABLE more (x);"])).close()
    before = path.read_bytes()
    with pytest.raises(StoreNewer, match="restart"):
        await Store.open(path, [TABLE])
    assert path.read_bytes() == before


async def test_a_running_program_stops_writing_when_a_newer_one_migrates(path: Path) -> None:
    old = await Store.open(path, [TABLE])
    await old.write(add("before"))
    new = await Store.open(path, [TABLE, "CREATE TABLE more (x);"])
    with pytest.raises(StoreNewer, match="restart"):
        await old.write(add("after"))
    assert await new.read(texts) == ["before"]
    await old.close()
    await new.close()


@pytest.mark.parametrize("damage", ["garbage", "half", "middle"])
async def test_a_damaged_file_is_set_aside(path: Path, damage: str) -> None:
    store = await Store.open(path, [TABLE])
    for number in range(100):
        await store.write(add(f"{number}" * 200))
    await store.close()
    content = path.read_bytes()
    if damage == "garbage":
        path.write_bytes(b"this is no database at all\n" * 100)
    elif damage == "half":
        path.write_bytes(content[: len(content) // 2])
    else:
        path.write_bytes(content[:4096] + os.urandom(len(content) - 4096))
    bad = path.read_bytes()
    store = await Store.open(path, [TABLE])
    assert store.set_aside is not None
    assert store.set_aside.read_bytes() == bad
    assert await store.read(texts) == []
    await store.close()


async def test_a_damaged_file_in_use_is_not_moved_under_its_user(path: Path) -> None:
    await (await Store.open(path, [TABLE])).close()
    code = (
        "import sqlite3, sys\n"
        "conn = sqlite3.connect(sys.argv[1]); conn.execute('SELECT * FROM notes').fetchall()\n"
        "print('in use', flush=True); sys.stdin.read()"
    )
    other = await asyncio.create_subprocess_exec(
        sys.executable, "-c", code, str(path), stdin=-1, stdout=-1
    )
    assert other.stdout is not None
    await other.stdout.readline()
    path.write_bytes(b"no database\n" * 500)
    with pytest.raises(StoreUnusable, match="still in use"):
        await Store.open(path, [TABLE])
    await other.communicate(b"")
    store = await Store.open(path, [TABLE])
    assert store.set_aside is not None
    await store.close()


async def test_damage_that_shows_late_is_set_aside_at_the_next_start(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workers_tui.engine.store.store_file.QUICK_CHECK_BELOW", 0)
    store = await Store.open(path, [TABLE])
    for number in range(200):
        await store.write(add(f"{number}" * 400))
    await store.close()
    content = path.read_bytes()
    path.write_bytes(content[:16384] + b"\xff" * (len(content) - 16384))
    store = await Store.open(path, [TABLE])
    with pytest.raises(StoreUnusable, match="damaged; start again"):
        await store.read(texts)
    await store.close()
    store = await Store.open(path, [TABLE])
    assert store.set_aside is not None
    await store.close()


async def test_a_directory_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may write everywhere")
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(StoreUnusable, match=r"some\.db"):
            await Store.open(tmp_path / "some.db", [TABLE])
    finally:
        tmp_path.chmod(0o700)


async def test_a_place_that_is_no_directory_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(StoreUnusable, match="file"):
        await Store.open(tmp_path / "file" / "some.db", [TABLE])


async def test_a_lock_that_is_never_let_go_is_one_clear_line(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workers_tui.engine.store.transactions.LOCK_PATIENCE", 0.05)
    store = await Store.open(path, [TABLE])
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreUnusable, match="another program holds it locked") as caught:
        await store.write(add("no"))
    assert "\n" not in str(caught.value)
    other.execute("ROLLBACK")
    await store.write(add("yes"))
    assert await store.read(texts) == ["yes"]
    await store.close()


FULL = """
import asyncio, resource, sys
from pathlib import Path
from workers_tui.engine.errors import StoreUnusable
from workers_tui.engine.store.store import Store
async def main():
    store = await Store.open(Path(sys.argv[1]), ["CREATE TABLE notes (text TEXT);"])
    resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))
    done = 0
    def work(conn, text):
        conn.execute("INSERT INTO notes (text) VALUES (?)", (text,))
    async def one(number):
        await store.write(lambda conn: work(conn, str(number) * 200))
    try:
        for number in range(0, 5000, 5):
            works = [one(number + n) for n in range(5)]
            results = await asyncio.gather(*works, return_exceptions=True)
            done += sum(result is None for result in results)
            failed = [r for r in results if r is not None]
            if failed:
                raise failed[0]
    except StoreUnusable as error:
        print("refused", error)
    resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))
    count = await store.read(lambda conn: conn.execute("SELECT count(*) FROM notes").fetchone()[0])
    print("kept", count == done, done > 0)
asyncio.run(main())
"""


def test_a_full_disk_is_one_clear_line_and_keeps_what_was_told_as_written(path: Path) -> None:
    done = run_python(FULL, path)
    refused, kept = done.stdout.splitlines()
    assert refused.startswith("refused cannot use")
    assert "full" in refused
    assert kept == "kept True True"


async def test_a_commit_of_another_process_rings_the_bell(path: Path) -> None:
    store = await Store.open(path, [TABLE])
    rung = asyncio.Event()
    store.on_foreign_commit(rung.set)
    await store.write(add("ours"))
    await asyncio.sleep(0.25)
    assert not rung.is_set()
    code = (
        "import sqlite3, sys\n"
        "with sqlite3.connect(sys.argv[1]) as conn:\n"
        "    conn.execute('INSERT INTO notes (text) VALUES (?)', ('theirs',))"
    )
    await asyncio.to_thread(run_python, code, path)
    await asyncio.wait_for(rung.wait(), 30)
    assert await store.read(texts) == ["ours", "theirs"]
    await store.close()


def test_network_file_systems_are_known_by_name(tmp_path: Path) -> None:
    linux = (
        "22 1 0:20 / / rw - ext4 /dev/sda rw\n"
        f"30 22 0:40 / {tmp_path} rw,relatime - nfs4 server:/home rw\n"
        f"31 30 0:41 / {tmp_path}/local\\040disk rw - xfs /dev/sdb rw\n"
    )
    (tmp_path / "local disk").mkdir()
    assert network_file_system(tmp_path / "not" / "yet", linux) == "nfs4"
    assert network_file_system(tmp_path / "local disk", linux) is None
    assert network_file_system(Path("/"), linux) is None
    windows = f"30 22 0:40 / {tmp_path} rw - 9p drvfs rw,aname=drvfs;path=C:\\\\"
    assert network_file_system(tmp_path, windows) == "9p-drvfs"
    assert network_file_system(tmp_path, f"30 22 0:40 / {tmp_path} rw - 9p none rw") is None
    mac = f"/dev/disk1 on / (apfs, local)\n//me@nas/home on {tmp_path} (smbfs, nodev)\n"
    assert network_file_system(tmp_path, mac) == "smbfs"
    assert network_file_system(tmp_path, "") is None


@pytest.mark.parametrize("step", ["network_file_system", "inode_of"])
async def test_a_place_that_cannot_be_looked_at_is_one_clear_line(
    path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    def fails(*_: object, **__: object) -> os.stat_result:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    looked = getattr(store_file, step)

    def look(*args: Any) -> Any:
        monkeypatch.setattr(Path, "stat", fails)
        try:
            return looked(*args)
        finally:
            monkeypatch.undo()

    monkeypatch.setattr(store_file, step, look)
    with pytest.raises(StoreUnusable, match="Input/output error"):
        await Store.open(path, [TABLE])


async def test_a_network_file_system_is_refused_by_name(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "workers_tui.engine.store.store_file.network_file_system", lambda _path: "nfs4"
    )
    with pytest.raises(StoreUnusable, match="nfs4"):
        await Store.open(path, [TABLE])
    assert not path.exists()


async def test_a_file_that_is_taken_away_in_use_is_told_not_written_into_the_void(
    path: Path,
) -> None:
    store = await Store.open(path, [TABLE])
    await store.write(add("one"))
    path.rename(path.with_name("elsewhere.db"))
    with pytest.raises(StoreUnusable, match="moved or replaced"):
        await store.write(add("two"))
    await store.close()
