"""The demo's client: two MCP sessions over HTTP that hand over one task after the other.

It comes through the same door as Claude Code and says of itself what `workers-tui mcp` says;
it looks at the board only to ask for no more than the screen can show.
"""

from __future__ import annotations

import asyncio
import random
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workers_tui import __version__
from workers_tui.engine.board import Key, Topic
from workers_tui.engine.jobs.job import Job, JobKind, WaitingFor
from workers_tui.forwarder.told import pack
from workers_tui.home.server_record import read_token
from workers_tui.simulator.demo import AGENT_TASKS, DemoTask, demo_tasks

if TYPE_CHECKING:
    from mcp import Client

    from workers_tui.engine.engine import Engine

PAUSE = (0.3, 2.0)
"""Seconds between two requests."""
SESSIONS = ("demo-1", "demo-2")
AT_ONCE = 7
"""Jobs that the client lets run or wait before it asks for more."""
ASK_EVERY = 9
"""After so many tasks one names a file in which a key is found, unless one still waits."""
AGENT_EVERY = 6
"""After so many tasks an agent is started, unless one still works."""
WORKER = "glm"
PLANTED = "deploy.md"
SECRET_TASK = DemoTask("Summarise how a release is deployed", "fast", (PLANTED,))


async def keep_asking(engine: Engine, project: Path) -> None:
    """Ask until cancelled, never for too many at once."""
    dice = random.Random(11)
    async with AsyncExitStack() as stack:
        sessions = [await _connect(stack, engine, project, name) for name in SESSIONS]
        calls = await stack.enter_async_context(asyncio.TaskGroup())
        for number, task in enumerate(demo_tasks(), start=1):
            session = dice.choice(sessions)
            calls.create_task(_call(session, "delegate", _arguments(task)))
            if number % ASK_EVERY == 2 and not any(map(_asks, _open_jobs(engine))):
                calls.create_task(_call(session, "delegate", _arguments(SECRET_TASK)))
            if number % AGENT_EVERY == 3 and not any(map(_is_agent, _open_jobs(engine))):
                whole = {"prompt": dice.choice(AGENT_TASKS), "worker": WORKER}
                calls.create_task(_call(session, "delegate_start", whole))
            await asyncio.sleep(dice.uniform(*PAUSE))
            while sum(not _asks(job) for job in _open_jobs(engine)) >= AT_ONCE:  # noqa: ASYNC110 - a demo
                await asyncio.sleep(0.3)


async def _connect(stack: AsyncExitStack, engine: Engine, project: Path, session: str) -> Client:
    """A session that is closed with the stack."""
    # Loaded with the server, long before.
    import httpx2
    from mcp import Client
    from mcp.client.streamable_http import streamable_http_client
    from mcp_types import Implementation

    said = {"CLAUDE_CODE_SESSION_ID": session, "CLAUDE_PROJECT_DIR": str(project)}
    headers = {"Authorization": f"Bearer {read_token(engine.home)}", **pack(said)}
    # No proxy stands between two ends on this machine, and a worker may take long.
    http = httpx2.AsyncClient(headers=headers, timeout=None, trust_env=False)
    url = engine.board.get(Key(Topic.SERVER)).url
    transport = streamable_http_client(url, http_client=await stack.enter_async_context(http))
    itself = Implementation(name="demo", version=__version__)
    client = Client(transport, mode="legacy", client_info=itself)
    return await stack.enter_async_context(client)


async def _call(session: Client, tool: str, arguments: dict[str, Any]) -> None:
    """One tool call, to its end; the screen shows what became of it."""
    from mcp import MCPError

    with suppress(MCPError):  # the server is leaving
        await session.call_tool(tool, arguments)


def _arguments(task: DemoTask) -> dict[str, Any]:
    wanted = {
        "task": task.task,
        "tier": task.tier,
        "files": list(task.files),
        "write_to": task.write_to,
        "max_tokens": task.max_tokens,
    }
    return {name: value for name, value in wanted.items() if value}


def _open_jobs(engine: Engine) -> list[Job]:
    board = engine.board
    jobs = [board.get(Key(Topic.JOB, name)) for name in board.names(Topic.JOB)]
    return [job for job in jobs if job is not None and not job.state.ended]


def _is_agent(job: Job) -> bool:
    return job.kind is JobKind.AGENT


def _asks(job: Job) -> bool:
    return job.waiting_for is WaitingFor.APPROVAL
