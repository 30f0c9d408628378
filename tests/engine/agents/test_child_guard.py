"""The guard as a program of its own: nothing below it outlives it."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from workers_tui.engine.agents import child_guard

TREE = "import subprocess,sys,time; subprocess.Popen(['sleep','{n}'],start_new_session=True)"
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")


@asynccontextmanager
async def guarded(code: str) -> AsyncIterator[tuple[asyncio.subprocess.Process, int]]:
    """A guard over a Python program that says `ready`, and the control pipe's end."""
    reads, writes = os.pipe()
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-I", "-S", child_guard.__file__, str(reads),
        sys.executable, "-u", "-c", code,
        stdout=asyncio.subprocess.PIPE, pass_fds=(reads,), start_new_session=True,
    )  # fmt: skip
    os.close(reads)
    assert process.stdout is not None
    try:
        await process.stdout.readline()
        yield process, writes
    finally:
        with suppress(OSError):
            os.close(writes)
        await asyncio.wait_for(process.wait(), 15)


def alive(number: int) -> bool:
    """Whether a `sleep` with this number lives."""
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if (entry / "cmdline").read_bytes() == b"sleep\0%d\0" % number:
                return (entry / "stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


def program(number: int, end: str, *, at_interrupt: str = "signal.SIG_DFL") -> str:
    """A program with an orphan; how it takes an interrupt is settled before it says `ready`."""
    takes = f"import signal,sys; signal.signal(signal.SIGINT, {at_interrupt})"
    return f"{takes}; {TREE.format(n=number)}; print('ready'); {end}"


DEAF = "signal.SIG_IGN"


async def test_the_exit_code_passes_and_orphans_end() -> None:
    async with guarded(program(4101, "sys.exit(7)")) as (process, _):
        assert await asyncio.wait_for(process.wait(), 10) == 7
    assert not alive(4101)


async def test_stop_interrupts_first() -> None:
    leave = program(4102, "time.sleep(60)", at_interrupt="lambda *_: sys.exit(5)")
    async with guarded(leave) as (process, control):
        os.write(control, child_guard.STOP)
        assert await asyncio.wait_for(process.wait(), 10) == 5
    assert not alive(4102)


async def test_one_that_ignores_the_interrupt_is_killed() -> None:
    async with guarded(program(4103, "time.sleep(60)", at_interrupt=DEAF)) as (process, control):
        os.write(control, child_guard.STOP)
        assert await asyncio.wait_for(process.wait(), 10) == 128 + signal.SIGKILL
    assert not alive(4103)


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGTERM, signal.SIGABRT])
async def test_an_agent_that_dies_of_a_signal_is_noticed(number: int) -> None:
    die = f"import os; os.kill(os.getpid(), {int(number)})"
    async with guarded(program(4105, die)) as (process, _):
        assert await asyncio.wait_for(process.wait(), 10) == 128 + number
    assert not alive(4105)


async def test_a_guard_that_is_told_to_end_takes_all_along() -> None:
    async with guarded(program(4106, "time.sleep(60)", at_interrupt=DEAF)) as (process, _):
        process.terminate()
        assert await asyncio.wait_for(process.wait(), 10) == 128 + signal.SIGKILL
    assert not alive(4106)


async def test_the_end_of_the_engine_ends_everything() -> None:
    async with guarded(program(4104, "time.sleep(60)")) as (process, control):
        os.close(control)
        assert await asyncio.wait_for(process.wait(), 10) != 0
    assert not alive(4104)


async def test_a_program_that_is_not_there_is_told() -> None:
    reads, writes = os.pipe()
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-I", "-S", child_guard.__file__, str(reads), "/nowhere/claude",
        stderr=asyncio.subprocess.PIPE, pass_fds=(reads,),
    )  # fmt: skip
    os.close(reads)
    _, said = await asyncio.wait_for(process.communicate(), 10)
    os.close(writes)
    assert process.returncode == 127
    assert b"/nowhere/claude cannot be started" in said
