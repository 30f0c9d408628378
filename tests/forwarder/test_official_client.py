"""The official Python client on the forwarder's stdio, with every way it has to begin."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters, types
from mcp.client.stdio import stdio_client
from tests.forwarder.conftest import Serve
from tests.server.fake_engine import FakeEngine

from workers_tui.home.places import Home


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_it_lists_calls_and_hears_progress(
    serve: Serve, engine: FakeEngine, home: Home, tmp_path: Path, mode: str
) -> None:
    await serve()
    program = StdioServerParameters(
        command=sys.executable,
        args=["-m", "workers_tui", "mcp"],
        env={"WORKERS_HOME": str(home.state)},
    )
    heard: list[str | None] = []

    async def heard_of(progress: float, total: float | None, message: str | None) -> None:
        heard.append(message)

    async def roots(context: Any) -> types.ListRootsResult:
        return types.ListRootsResult.model_validate({"roots": [{"uri": tmp_path.as_uri()}]})

    async with Client(stdio_client(program), mode=mode, list_roots_callback=roots) as client:
        assert len((await client.list_tools()).tools) == 10
        result = await client.call_tool(
            "delegate", {"task": "t", "files": ["a"]}, progress_callback=heard_of
        )
    assert not result.is_error, result.content
    assert engine.asked[0][1].roots == (tmp_path,)
    assert heard == ["job job1 queued"]
