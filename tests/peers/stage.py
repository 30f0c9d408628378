"""A home, a provider, a scripted architect, and Claude Code sessions between them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.peers.claude import Claude
from tests.peers.peers import peer
from tests.peers.shop import Shop

from workers_tui.engine.engine import Engine
from workers_tui.engine.jobs.job import Job, JobState
from workers_tui.home.places import Home
from workers_tui.simulator.scenario import Scenario, scenario_of
from workers_tui.simulator.simulator import Simulator

DELEGATE = "mcp__workers__delegate"
SECRET_LINE = "only-in-the-file-7731"
Begin = Callable[..., Awaitable[Claude]]


def rule(user: str, *blocks: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"when": {"user": user, **more}, "behaviour": {"content": list(blocks)}}


def use(name: str, **arguments: Any) -> dict[str, Any]:
    return {"tool": name, "input": arguments}


ARCHITECT = scenario_of(
    {
        "rules": [
            {"when": {"tool_result": ""}, "behaviour": {"text": "the architect has read it"}},
            rule("^SUB TASK", use(DELEGATE, task="from the subagent"), agent=True),
            rule("^ONE", use(DELEGATE, task="one")),
            rule("^BIG", use(DELEGATE, task="summarise", files=["big.log"])),
            rule("^TWO", use(DELEGATE, task="first"), use(DELEGATE, task="second")),
            rule(
                "^AGENT",
                use(
                    "Agent",
                    description="delegate",
                    prompt="SUB TASK",
                    subagent_type="general-purpose",
                ),
            ),
            rule("^RESULT", use("mcp__workers__delegate_list", limit=5)),
        ],
        "default": {"text": "nothing to do"},
        "need_key": False,
    }
)


class Stage(Shop):
    """A shop with a simulated provider."""

    def __init__(self, home: Home, upstream: Simulator) -> None:
        super().__init__(home, upstream.url)
        self.upstream = upstream


@asynccontextmanager
async def staged(home: Home) -> AsyncIterator[Stage]:
    """A shop with a provider that answers anything."""
    async with Simulator(Scenario()) as upstream:
        yield Stage(home, upstream)


@asynccontextmanager
async def beginning(place: Path, architect: Simulator) -> AsyncIterator[Begin]:
    """Starts Claude Code sessions; all are ended at the end."""
    program = peer("claude")
    lines = "".join(f"{number:05d} {SECRET_LINE}\n" for number in range(11_000))
    (place / "project").mkdir()
    (place / "project" / "big.log").write_text(lines)
    sessions: list[Claude] = []

    async def start(server: dict[str, Any]) -> Claude:
        sessions.append(await Claude.start(program, place, architect.anthropic_url, server))
        return sessions[-1]

    try:
        yield start
    finally:
        for session in sessions:
            await session.leave()


async def running(engine: Engine) -> Job:
    """The first job that streams."""
    async with asyncio.timeout(30):
        while True:
            for job in await engine.list_jobs():
                if job.state is JobState.RUNNING and engine.peek(job.id):
                    return job
            await asyncio.sleep(0.02)
