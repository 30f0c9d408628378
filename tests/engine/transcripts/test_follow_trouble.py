"""The follower on bad days: a long way to read, an index that fails, a full disk."""

from __future__ import annotations

import asyncio
import sqlite3
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.engine.follow_kit import Following, done_job, messages
from tests.engine.transcript_kit import Tree, line

from workers_tui.engine.board import Board, Key, Topic
from workers_tui.engine.errors import StoreNewer
from workers_tui.engine.store import store_file
from workers_tui.engine.transcripts import (
    follow_transcripts,
    index,
    index_build,
    savings_teller,
)
from workers_tui.engine.transcripts.savings_view import Reading, SavingsView
from workers_tui.home.places import Home

Start = Callable[..., Following]


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[SavingsView]:
    """Every view that came to a board."""
    views: list[SavingsView] = []
    put = Board.put

    def seen(self: Board, key: Key, value: Any) -> None:
        if key.topic is Topic.SAVINGS:
            views.append(value)
        put(self, key, value)

    monkeypatch.setattr(Board, "put", seen)
    return views


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody here waits for a quarter of a minute."""
    monkeypatch.setattr(follow_transcripts, "TRY_AGAIN", 0.05)


def texts(following: Following) -> list[str]:
    return [event.text for event in following.events.since(0)]


async def test_the_first_reading_shows_how_far_it_is_until_its_figures_stand(
    start: Start, tree: Tree, shown: list[SavingsView], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_build, "WORTH_A_PROGRAM", 1)
    total = tree.path("old").stat().st_size
    await start().ready()
    readings = [view.reading for view in shown]
    assert readings[:2] == [Reading(0, 0), Reading(0, total)]
    assert readings[-2:] == [Reading(total, total), None]
    assert all(view.is_empty and not messages(view) for view in shown[:-1])
    assert messages(shown[-1]) == 1


async def test_a_short_way_says_only_that_it_looks(start: Start, shown: list[SavingsView]) -> None:
    await start().ready()
    assert [view.reading for view in shown] == [Reading(0, 0), None]


@pytest.mark.parametrize("program", [sys.executable, "/bin/false"])
async def test_a_large_import_while_it_runs_is_left_to_a_program_and_figures_stay(
    start: Start,
    tree: Tree,
    shown: list[SavingsView],
    monkeypatch: pytest.MonkeyPatch,
    program: str,
) -> None:
    following = start()
    await following.ready()
    before = len(shown)
    monkeypatch.setattr(index_build, "WORTH_A_PROGRAM", 1000)
    monkeypatch.setattr(sys, "executable", program)
    tree.write(*(line(f"m{n}", f"r{n}") for n in range(2, 12)), name="long", project="-other")
    view = await following.until(lambda view: messages(view) == 11 and view.reading is None)
    assert view.all_time.manager.sums.output == 55
    assert any(one.reading and one.reading.total for one in shown[before:])
    assert all(messages(one) for one in shown[before:])
    assert any(text.startswith("reading ") for text in texts(following))
    tree.add(line("m99", "r99"), name="long", project="-other")
    await following.until(lambda view: messages(view) == 12)


async def test_what_comes_while_a_program_reads_is_left_to_another(
    start: Start, tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    following = start()
    await following.ready()
    monkeypatch.setattr(index_build, "WORTH_A_PROGRAM", 1000)
    real, runs = index_build.build_apart, [0]

    async def build(*given: Any) -> None:
        await real(*given)
        runs[0] += 1
        if runs[0] == 1:
            tree.write(*(line(f"n{n}", f"n{n}") for n in range(10)), name="more", project="-other")

    monkeypatch.setattr(index_build, "build_apart", build)
    tree.write(*(line(f"m{n}", f"r{n}") for n in range(2, 12)), name="long", project="-other")
    await following.until(lambda view: messages(view) == 21)
    assert runs[0] == 2


async def test_a_large_file_that_cannot_be_read_starts_no_program_again(
    start: Start, tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    locked = tree.write(*(line(f"m{n}", f"r{n}") for n in range(9)), name="locked")
    refuse(monkeypatch, locked)
    begun: list[Path] = []

    async def build(path: Path, *_: object) -> None:
        begun.append(path)

    following = start()
    await following.ready()
    monkeypatch.setattr(index_build, "WORTH_A_PROGRAM", 1000)
    monkeypatch.setattr(index_build, "build_apart", build)
    tree.write(line("m10", "r10"), name="new", project="-other")
    view = await following.until(lambda view: messages(view) == 2)
    assert view.warnings == (f"{locked}: Permission denied",)
    assert begun == []


def refuse(monkeypatch: pytest.MonkeyPatch, locked: Path) -> None:
    """Nobody may read this file."""
    import os

    real = os.open

    def open_(path: Any, *more: Any, **named: Any) -> int:
        if str(path) == str(locked):
            raise PermissionError(13, "Permission denied")
        return real(path, *more, **named)

    monkeypatch.setattr("os.open", open_)


async def test_an_index_that_is_taken_away_is_built_anew(
    start: Start, tree: Tree, home: Home
) -> None:
    following = start()
    await following.ready()
    for suffix in ("", "-wal", "-shm"):
        home.index_db.with_name(home.index_db.name + suffix).unlink(missing_ok=True)
    tree.add(line("m2", "r2"), name="old")
    view = await following.until(lambda view: messages(view) == 2 and not view.warnings)
    assert view.reading is None
    assert [text for text in texts(following) if "moved or replaced" in text] != []
    tree.add(line("m3", "r3"), name="old")
    await following.until(lambda view: messages(view) == 3)


async def test_a_full_disk_is_said_once_and_the_figures_move_when_there_is_room(
    start: Start, tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    following = start()
    await following.ready()
    real, tries = index.apply, [0]

    def apply(*given: Any) -> Any:
        tries[0] += 1
        if tries[0] > 3:
            return real(*given)
        error = sqlite3.OperationalError("database or disk is full")
        error.sqlite_errorname = "SQLITE_FULL"
        raise error

    monkeypatch.setattr(index, "apply", apply)
    tree.add(line("m2", "r2"), name="old")
    view = await following.until(lambda view: bool(view.warnings))
    assert "the disk is full" in view.warnings[0]
    assert messages(view) == 1
    view = await following.until(lambda view: messages(view) == 2)
    assert (view.warnings, tries[0]) == ((), 4)
    assert len([text for text in texts(following) if "the disk is full" in text]) == 1


async def test_an_index_of_a_newer_program_is_left_alone(start: Start, home: Home) -> None:
    store_file.prepare(home.index_db, index.MIGRATIONS)
    conn = sqlite3.connect(home.index_db)
    conn.execute("PRAGMA user_version = 99")
    conn.close()
    with pytest.raises(StoreNewer):
        await start().ready()


async def test_notices_that_cannot_be_written_cost_no_figure(
    start: Start, tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(savings_teller, "write_notices", full)
    following = start()
    await following.ready()
    job = await following.jobs.create(done_job())
    await following.jobs.create(done_job())
    await following.until(lambda view: view.all_time.figures.jobs == 2)
    async with asyncio.timeout(10):
        while not any("No space left" in text for text in texts(following)):  # noqa: ASYNC110
            await asyncio.sleep(0)
    tree.add(line("m2", "r2"), name="old")
    await following.until(lambda view: messages(view) == 2)
    assert job.id
    assert len([text for text in texts(following) if "notices.json" in text]) == 1
