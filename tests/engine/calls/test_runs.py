"""What is remembered of runs that have ended, and what is not."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Awaitable, Callable
from pathlib import Path

import httpx
import pytest
from tests.engine.call_kit import answered, chunk, engine_over, error, ok, origin, sse, stream

from workers_tui.engine.engine import Engine
from workers_tui.engine.jobs.job import CallRequest, JobState
from workers_tui.home.places import Home

FILE = 300_000
"""Characters of the file that every call sends."""
CALLS = 12


async def grown(work: Awaitable[None]) -> int:
    """Bytes that are held after the work and were not before."""
    gc.collect()
    before, _ = tracemalloc.get_traced_memory()
    await work
    gc.collect()
    return tracemalloc.get_traced_memory()[0] - before


def broken() -> httpx.Response:
    """A stream that ends in the middle."""
    return stream(sse(chunk("part")), httpx.ReadError("the line is dead"))


@pytest.mark.parametrize(
    ("reply", "state"),
    [
        (ok(), JobState.DONE),
        (lambda: error(401), JobState.FAILED),
        (broken, JobState.FAILED),
        (lambda: stream(answered("password", usage=None)[:40]), JobState.FAILED),
    ],
    ids=["done", "key refused", "line broken", "answer cut"],
)
async def test_an_ended_run_keeps_neither_its_files_nor_its_prompt(
    home: Home, tmp_path: Path, reply: Callable[[], httpx.Response], state: JobState
) -> None:
    (tmp_path / "long.log").write_text("a line\n" * (FILE // 7))
    request = CallRequest("Summarise", files=("long.log",))
    async with engine_over(home, reply) as (engine, provider):

        async def calls(count: int) -> None:
            for _ in range(count):
                job = await engine.delegate(request, origin(tmp_path))
                assert (await engine.ended(job.id)).state is state
                assert engine.calls.get(job.id) is not None
                provider.requests.clear()

        tracemalloc.start()
        try:
            await calls(2)  # what is made once
            assert await grown(calls(CALLS)) < FILE
        finally:
            tracemalloc.stop()


async def answers(engine: Engine, count: int) -> list[str]:
    """Calls to their ends, one after the other."""
    ids = []
    for _ in range(count):
        job = await engine.delegate(CallRequest("Summarise"), origin())
        await engine.ended(job.id)
        ids.append(job.id)
    return ids


async def test_long_texts_of_ended_runs_are_left_to_their_files(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with engine_over(home, ok("12345678")) as (engine, _):
        monkeypatch.setattr(engine.calls, "remembered_chars", 16)
        first, *others = await answers(engine, 3)
        assert engine.calls.get(first) is None
        assert all(engine.calls.get(one) is not None for one in others)
        assert await engine.text(first) == "12345678"


async def test_the_newest_run_is_remembered_however_long_its_text(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with engine_over(home, ok("12345678")) as (engine, _):
        monkeypatch.setattr(engine.calls, "remembered_chars", 1)
        first, newest = await answers(engine, 2)
        assert engine.calls.get(first) is None
        assert engine.peek(newest) == "12345678"
