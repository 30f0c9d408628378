"""`workers-tui mcp`: what Claude Code starts, through the official client on its stdio."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from tests.contracts.clients import call, client_of, fails
from tests.contracts.program import Program
from tests.contracts.upstream import Provider


@asynccontextmanager
async def forwarded(program: Program, **environ: str | None) -> AsyncIterator[Client]:
    """A client whose server is the forwarder, started as Claude Code starts it."""
    around = {**program.environ, "CLAUDE_PROJECT_DIR": str(program.project), **environ}
    parameters = StdioServerParameters(
        command=sys.executable,
        args=["-m", "workers_tui", "mcp"],
        env={name: value for name, value in around.items() if value is not None},
        cwd=program.project,
    )
    async with Client(stdio_client(parameters), mode="legacy") as client:
        yield client


@pytest.fixture
def user(program: Program) -> Iterator[Program]:
    """A user whose background server is ended with the test."""
    program.settings()
    yield program
    record = program.home / "server.json"
    if record.exists():
        os.kill(json.loads(record.read_text())["pid"], signal.SIGTERM)


async def test_without_a_server_it_starts_one_and_delegates(user: Program) -> None:
    user.file("a.log", "text\n")
    async with forwarded(user, CLAUDE_CODE_SESSION_ID="session-7") as client:
        said = await call(client, "delegate", task="[[sim: text=x]]", files=["a.log"])
        assert said.endswith("\nx")
        assert json.loads((user.home / "server.json").read_text())["url"].endswith("/mcp")
    (job,) = user.good("jobs", "--json").json["jobs"]
    assert (job["session"], job["project"]) == ("session-7", str(user.project))
    assert user.usage()[0]["session"] == "session-7"


async def test_its_list_of_tools_is_the_servers(user: Program) -> None:
    with user.serving() as serving:
        async with forwarded(user) as client, client_of(serving) as direct:
            ours = [tool.model_dump() for tool in (await client.list_tools()).tools]
            theirs = [tool.model_dump() for tool in (await direct.list_tools()).tools]
            assert ours == theirs
            assert client.instructions == direct.instructions


async def test_a_key_stays_where_it_is_and_the_error_says_so(
    user: Program, provider: Provider
) -> None:
    away: dict[str, Any] = {
        "OPENROUTER_API_KEY": None,
        "OPENROUTER_BASE_URL": "http://provider.invalid/api/v1",
        "HTTP_PROXY": provider.url.removesuffix("/api/v1"),
    }
    with user.serving(**away):
        async with forwarded(user) as client:
            said = await fails(client, "delegate", task="t")
    assert "workers-tui key set openrouter" in said
    assert "OPENROUTER_API_KEY is set where the client runs" in said


async def test_its_roots_and_its_mode_count_for_this_session_only(user: Program) -> None:
    outside = user.root / "share"
    outside.mkdir()
    (outside / "a.txt").write_text("x")
    file = str(outside / "a.txt")
    with user.serving():
        async with forwarded(user, WORKERS_ALLOWED_ROOTS=str(outside)) as wide:
            await call(wide, "delegate", task="[[sim: text=x]]", files=[file])
            async with forwarded(user) as narrow:
                await fails(narrow, "delegate", task="t", files=[file])
        async with forwarded(user, WORKERS_DELEGATION="off") as off:
            assert "off" in await fails(off, "delegate", task="t")
            async with forwarded(user) as on:
                await call(on, "delegate", task="[[sim: text=x]]")


@pytest.mark.parametrize("limit", [1000, 5000])
async def test_large_reads_are_pointed_to_the_workers(user: Program, limit: int) -> None:
    """`large_read_bytes` of models.json reaches the hook."""
    user.settings(large_read_bytes=limit)
    file = user.file("big.log", "line of a log\n" * 200)
    user.file(".mcp.json", json.dumps({"mcpServers": {"workers": {"command": "workers-tui"}}}))
    asked = {
        "session_id": "0a1b2c3d-1111-2222-3333-444455556666",
        "hook_event_name": "PreToolUse",
        "cwd": str(user.project),
        "tool_name": "Read",
        "tool_input": {"file_path": str(file)},
    }
    with user.serving() as serving:
        async with client_of(serving) as client:
            await call(client, "worker_stats")
        said = user.good(
            "hook", "large-read", stdin=json.dumps(asked).encode(),
            CLAUDE_PROJECT_DIR=str(user.project),
        )  # fmt: skip
    assert bool(said.out) == (limit == 1000)
