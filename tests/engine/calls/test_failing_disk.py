"""A disk that fails at any one moment of a call: nothing paid is lost, nothing stays held."""

from __future__ import annotations

import asyncio
import errno
import os
import sqlite3
import threading
from pathlib import Path
from typing import Any

import pytest
from tests.engine.call_kit import FastClock, engine_over, ok, origin

from workers_tui.engine.engine import Engine
from workers_tui.engine.errors import StoreError
from workers_tui.engine.jobs.job import CallRequest, Job, JobState
from workers_tui.engine.jobs.results import ResultFile
from workers_tui.engine.money import CostSource, from_usd
from workers_tui.home.places import Home

STATEMENTS = 70
"""A call with its file takes about as many of the writer."""
PAID = from_usd("0.001")


class Disk:
    """Lets one of the writer's statements fail, and a few after it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        disk, connect = self, sqlite3.connect
        self.ahead: int | None = None
        """Statements that go well; None: all of them."""

        class Connection(sqlite3.Connection):
            def execute(self, *args: Any) -> sqlite3.Cursor:
                disk.turn()
                return super().execute(*args)

        def open_(*args: Any, **options: Any) -> sqlite3.Connection:
            mine = threading.current_thread().name == "store.db writer"
            made: sqlite3.Connection = connect(
                *args, factory=Connection if mine else sqlite3.Connection, **options
            )
            return made

        monkeypatch.setattr(sqlite3, "connect", open_)

    def turn(self) -> None:
        if self.ahead is None:
            return
        self.ahead -= 1
        if -3 < self.ahead < 0:
            error = sqlite3.OperationalError("disk I/O error")
            error.sqlite_errorname = "SQLITE_IOERR_WRITE"
            raise error


async def ended(engine: Engine, request: CallRequest, root: Path) -> Job | StoreError:
    """A call to its end, or why there is none."""
    try:
        job = await engine.delegate(request, origin(root))
    except StoreError as error:
        return error
    return await engine.ended(job.id)


@pytest.mark.parametrize("ahead", range(1, STATEMENTS, 3))
async def test_a_store_that_fails_at_any_statement_loses_no_bill_and_holds_nothing(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ahead: int
) -> None:
    disk, target = Disk(monkeypatch), tmp_path / "out.txt"
    async with engine_over(home, ok("whole"), clock=FastClock()) as (engine, provider):
        disk.ahead = ahead
        first = await ended(engine, CallRequest("first", write_to="out.txt"), tmp_path)
        disk.ahead = None
        assert "disk" in str(first if isinstance(first, StoreError) else first.error or "disk")
        assert target.exists() == bool(isinstance(first, Job) and first.written)
        second = await ended(engine, CallRequest("second"), tmp_path)
        assert isinstance(second, Job)
        assert second.state is JobState.DONE
    async with engine_over(home) as (engine, _):
        spend = await engine.budget.refresh()
        jobs = await engine.list_jobs()
        assert (spend.holds, spend.spent_pico) == (0, PAID * len(provider.bodies))
        assert spend.reported_pico == spend.spent_pico
        assert len(home.usage_jsonl.read_bytes().splitlines()) == len(provider.bodies)
    assert sum(job.cost.pico or 0 for job in jobs if job.cost) == spend.spent_pico
    assert {job.state for job in jobs} <= {JobState.DONE, JobState.FAILED, JobState.CANCELLED}


async def test_a_bill_that_the_store_did_not_take_stands_on_its_job_all_the_same(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with engine_over(home) as (engine, _):

        async def full(*_: object) -> None:
            raise StoreError("the disk is full")

        with monkeypatch.context() as patch:
            patch.setattr(engine.budget, "_settle", full)
            job = await ended(engine, CallRequest("x"), home.state)
        assert isinstance(job, Job)
        assert (job.state, job.error) == (JobState.FAILED, "the disk is full")
        assert job.cost is not None
        assert (job.cost.pico, job.cost.source) == (PAID, CostSource.REPORTED)


async def test_a_file_that_was_written_is_named_though_the_end_is_not_saved(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with engine_over(home, ok("whole")) as (engine, _):
        change = engine.jobs.change

        async def full(job_id: str, **changes: Any) -> Job:
            if changes["state"] is JobState.DONE:
                raise StoreError("the disk is full")
            return await change(job_id, **changes)

        monkeypatch.setattr(engine.jobs, "change", full)
        job = await ended(engine, CallRequest("x", write_to="out.txt"), tmp_path)
        assert isinstance(job, Job)
        assert job.written == str(tmp_path / "out.txt")
        assert job.error == f"{job.written} is written, but the disk is full"


async def test_a_disk_that_fails_under_a_users_file_is_no_defect_of_ours(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.txt").write_text("x")

    def fails(*_: object, **__: object) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO), "a.txt")

    async with engine_over(home) as (engine, _):
        monkeypatch.setattr("workers_tui.engine.calls.call_flow.gather", fails)
        monkeypatch.setattr("workers_tui.engine.calls.calls.Calls._read_ahead", lambda *_: [])
        job = await ended(engine, CallRequest("x", files=("a.txt",)), tmp_path)
    assert isinstance(job, Job)
    assert (job.state, job.error) == (
        JobState.FAILED,
        f"cannot use a.txt: {os.strerror(errno.EIO)}",
    )


async def test_a_text_and_a_bill_that_are_both_refused_leave_no_unheard_failure(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unheard: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, said: unheard.append(said))

    async def full(*_: object) -> None:
        raise StoreError("the disk is full")

    async def lost(_: ResultFile) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    async with engine_over(home) as (engine, _):
        with monkeypatch.context() as patch:
            patch.setattr(engine.budget, "_settle", full)
            patch.setattr(ResultFile, "close", lost)
            job = await ended(engine, CallRequest("x", write_to="out.txt"), tmp_path)
    assert isinstance(job, Job)
    assert job.state is JobState.FAILED
    assert unheard == []
