"""MCP Inspector, the field's own client, on the command line over HTTP and stdio."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.peers.peers import peer
from tests.peers.programs import output_of
from tests.peers.shop import Shop

from workers_tui.home.places import Home
from workers_tui.home.server_record import read_token
from workers_tui.server.host import Host
from workers_tui.simulator.scenario import Scenario
from workers_tui.simulator.simulator import Simulator

pytestmark = [pytest.mark.peers, pytest.mark.timeout(180)]


@pytest.fixture
async def host(home: Home) -> AsyncIterator[Host]:
    async with Simulator(Scenario()) as upstream, Shop(home, upstream.url).open() as (_, host):
        yield host


async def inspect(tmp_path: Path, *arguments: str) -> tuple[int, str]:
    command: tuple[str | Path, ...] = (
        peer("node"),
        peer("mcp-inspector").resolve(),
        "--cli",
        *arguments,
    )
    return await output_of(*command, home=tmp_path)


def over_http(host: Host) -> tuple[str, ...]:
    token = read_token(host.engine.home)
    return (str(host.url), "--transport", "http", "--header", f"Authorization: Bearer {token}")


def parsed(said: str) -> Any:
    return json.loads(said[said.index("{") :])


async def test_it_lists_every_tool_and_finds_the_schemas_portable(
    host: Host, tmp_path: Path
) -> None:
    code, said = await inspect(tmp_path, *over_http(host), "--method", "tools/list", "--strict")
    assert code == 0, said
    assert len(parsed(said)["tools"]) == 10


async def test_it_delegates_over_http(host: Host, tmp_path: Path) -> None:
    call = ("--method", "tools/call", "--tool-name", "delegate", "--tool-arg", "task=hello")
    code, said = await inspect(tmp_path, *over_http(host), *call)
    assert code == 0, said
    assert "job=" in parsed(said)["content"][0]["text"]


async def test_it_delegates_through_the_forwarder(host: Host, home: Home, tmp_path: Path) -> None:
    call = ("--method", "tools/call", "--tool-name", "delegate", "--tool-arg", "task=hello")
    code, said = await inspect(
        tmp_path,
        *("-e", f"WORKERS_HOME={home.state}", *call),
        *("--", sys.executable, "-m", "workers_tui", "mcp"),
    )
    assert code == 0, said
    assert "job=" in parsed(said)["content"][0]["text"]


async def test_without_the_token_it_is_told_to_authenticate(host: Host, tmp_path: Path) -> None:
    code, said = await inspect(
        tmp_path, str(host.url), "--transport", "http", "--method", "tools/list"
    )
    assert code == 3, said
    assert "auth_required" in said
