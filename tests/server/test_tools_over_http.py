"""The tools through the official client over HTTP, in both protocol eras."""

from __future__ import annotations

import asyncio

import pytest
from tests.server.conftest import Connect
from tests.server.fake_engine import FakeEngine

ERAS = pytest.mark.parametrize("era", ["legacy", "2026-07-28"])


@ERAS
async def test_a_delegated_task_comes_back_with_its_first_line(
    connect: Connect, engine: FakeEngine, era: str
) -> None:
    async with connect(era) as client:
        result = await client.call_tool("delegate", {"task": "say it"})
    assert not result.is_error
    text = result.content[0].text  # type: ignore[union-attr]
    assert text.startswith("[fast/m/fast in=100 out=20 $0.000123 (reported) 812ms job=job1]")
    assert text.endswith("\nthe answer")
    assert result.structured_content is None
    assert result.meta is not None
    assert result.meta["workers-tui/job"] == "job1"


async def test_a_client_that_cancels_ends_its_job(connect: Connect, engine: FakeEngine) -> None:
    engine.hold = True
    async with connect() as client:
        call = asyncio.create_task(client.call_tool("delegate", {"task": "long"}))
        await engine.started.wait()
        call.cancel()
        await asyncio.wait_for(engine.ended("job1"), 2)
    assert [job for job, _ in engine.cancelled] == ["job1"]
