"""The official Python client on the forwarder's stdio, with every way it has to begin."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters, types
from mcp.client.stdio import stdio_client
from tests.forwarder.conftest import Serve
from tests.server.fake_engine import FakeEngine

from workers_tui.engine.board import Key, Topic
from workers_tui.engine.jobs.job import JobState
from workers_tui.engine.settings.settings import Settings, Tier
from workers_tui.home.places import Home


def program(home: Home) -> StdioServerParameters:
    """How a client starts the forwarder."""
    return StdioServerParameters(
        command=sys.executable,
        args=["-m", "workers_tui", "mcp"],
        env={"WORKERS_HOME": str(home.state)},
    )


@pytest.mark.parametrize("mode", ["legacy", "auto", "2026-07-28"])
async def test_it_lists_calls_and_hears_progress(
    serve: Serve, engine: FakeEngine, home: Home, tmp_path: Path, mode: str
) -> None:
    await serve()
    heard: list[str | None] = []

    async def heard_of(progress: float, total: float | None, message: str | None) -> None:
        heard.append(message)

    async def roots(context: Any) -> types.ListRootsResult:
        return types.ListRootsResult.model_validate({"roots": [{"uri": tmp_path.as_uri()}]})

    async with Client(stdio_client(program(home)), mode=mode, list_roots_callback=roots) as client:
        assert len((await client.list_tools()).tools) == 10
        result = await client.call_tool(
            "delegate", {"task": "t", "files": ["a"]}, progress_callback=heard_of
        )
    assert not result.is_error, result.content
    assert engine.asked[0][1].roots == (tmp_path,)
    assert heard == ["job job1 queued"]


async def test_the_newest_client_hears_that_the_tools_changed(
    serve: Serve, engine: FakeEngine, home: Home
) -> None:
    await serve()
    async with Client(stdio_client(program(home)), mode="auto") as client:
        assert client.protocol_version == "2026-07-28"
        await client.list_tools()
        await client.call_tool("worker_stats", {})
        async with asyncio.timeout(20), client.listen(tools_list_changed=True) as changes:
            engine.config.settings = Settings(tiers={"only": Tier(model="m")})
            engine.board.put(Key(Topic.CONFIG), "changed")
            async for _ in changes:  # the first may still be about the server's own list
                if "auto, only" in str((await client.list_tools()).tools):
                    break


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
async def test_a_call_that_is_given_up_ends_its_job(
    serve: Serve, engine: FakeEngine, home: Home, mode: str
) -> None:
    engine.hold = True
    await serve()
    async with Client(stdio_client(program(home)), mode=mode) as client:
        call = asyncio.create_task(client.call_tool("delegate", {"task": "long"}))
        await asyncio.wait_for(engine.started.wait(), 20)
        call.cancel()
        job = await asyncio.wait_for(engine.ended("job1"), 10)
    assert job.state is JobState.CANCELLED
