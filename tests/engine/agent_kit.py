"""A whole installation for tests of agents: engine, gateway, worker, simulator, Claude Code.

Claude Code is a stand-in unless the test asks for the real one.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import uvicorn

from workers_tui.engine.agents import child_guard
from workers_tui.engine.agents.agent_limits import Limits
from workers_tui.engine.agents.agent_request import AgentRequest, FollowUp
from workers_tui.engine.board import Key, ServerView, Topic
from workers_tui.engine.engine import Engine, EngineOptions
from workers_tui.engine.jobs.job import Job, Origin
from workers_tui.home.places import Home
from workers_tui.home.server_record import ensure_token
from workers_tui.server.gateway import gateway_app
from workers_tui.server.host import Host
from workers_tui.simulator.scenario import Scenario, scenario_of
from workers_tui.simulator.simulator import Simulator

PROVIDER_KEY = "sk-sim-provider-key-4f1e9c"
LOCAL_SECRETS = {
    "ANTHROPIC_API_KEY": "sk-ant-parent-key-77",
    "OPENROUTER_API_KEY": "sk-or-v1-parent-key-78",
    "AWS_SECRET_ACCESS_KEY": "aws-parent-key-79",
}
MODEL, SMALL = "z-ai/glm-5.3", "z-ai/glm-5.3-flash"
PRICES = {
    MODEL: {"input": 0.60, "output": 2.20, "cache_read": 0.11, "cache_write": 0.60},
    SMALL: {"input": 0.15, "output": 0.50, "cache_read": 0.03, "cache_write": 0.15},
}


def rule(when: Mapping[str, Any], *blocks: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """What the model says when a request fits."""
    times = {"times": more.pop("times")} if "times" in more else {}
    return {"when": when, "behaviour": {"content": list(blocks), **more}, **times}


def tool(name: str, **arguments: Any) -> dict[str, Any]:
    return {"tool": name, "input": arguments}


def say(text: str) -> dict[str, Any]:
    return {"text": text}


def scripted(*rules: Mapping[str, Any], **more: Any) -> Scenario:
    return scenario_of({"rules": rules, "keys": [PROVIDER_KEY], **more})


@dataclass
class World:
    """Everything of one test."""

    engine: Engine
    sim: Simulator
    home: Home
    project: Path
    root: Path
    strangers: frozenset[int] = field(
        default_factory=lambda: frozenset(child_guard.below(os.getpid()))
    )
    """Processes that other tests of this run keep."""

    def left_alive(self) -> list[int]:
        """Processes that this test started and that still live."""
        return [pid for pid in child_guard.below(os.getpid()) if pid not in self.strangers]

    @property
    def origin(self) -> Origin:
        return Origin((self.project,), project=str(self.project), client="test")

    def identity(self, env: Mapping[str, str] | None = None, *, plan: bool | None = None) -> None:
        """Change the worker's settings.json."""
        path = self.root / "glm" / "settings.json"
        raw = json.loads(path.read_text())
        raw["env"] |= env or {}
        path.write_text(json.dumps(raw if plan is None else raw | {"plan": plan}))

    async def start(self, prompt: str | None, **more: Any) -> Job:
        return await self.engine.agents.start(AgentRequest(prompt, **more), self.origin)

    async def go_on(self, target: str, prompt: str) -> Job:
        return await self.engine.agents.followup(FollowUp(target, prompt), self.origin)

    async def run(self, prompt: str, **more: Any) -> Job:
        return await self.engine.ended((await self.start(prompt, **more)).id)

    async def until(self, job: Job, ready: Any) -> Job:
        """Wait on the board until a job is as wanted."""
        watcher = self.engine.board.watch()
        try:
            async with asyncio.timeout(30):
                while True:
                    now = self.engine.board.get(Key(Topic.JOB, job.id))
                    if ready(now):
                        return now  # type: ignore[no-any-return]
                    await watcher.changed()
        finally:
            watcher.close()


def fake_claude(tmp: Path) -> str:
    """The stand-in as a program."""
    program = tmp / "claude"
    script = Path(__file__).with_name("fake_claude.py")
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -S {script} "$@"\n')
    program.chmod(0o755)
    return str(program)


@asynccontextmanager
async def serving(engine: Engine) -> AsyncIterator[None]:
    """The gateway alone, on a port of its own."""
    # The protocol is named so that asyncio switches Nagle off.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.bind(("127.0.0.1", 0))
    gateway = gateway_app(engine)
    config = uvicorn.Config(gateway, log_config=None, lifespan="off", timeout_graceful_shutdown=1)
    server = QuietServer(config)
    task = asyncio.create_task(server.serve([listener]))
    url = f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"
    engine.board.put(Key(Topic.SERVER), ServerView(url))
    try:
        yield
    finally:
        server.should_exit = True
        await task


@asynccontextmanager
async def hosting(engine: Engine, project: Path) -> AsyncIterator[None]:
    """The whole server, tools included."""
    ensure_token(engine.home)
    server = Host(engine, port=0, project=project)
    await server.start()
    try:
        yield
    finally:
        await server.stop("the test is over")


class QuietServer(uvicorn.Server):
    """Leaves the test's signal handlers alone."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


@asynccontextmanager
async def world(
    tmp: Path,
    scenario: Scenario | None = None,
    *,
    claude: Path | None = None,
    host: bool = False,
    approvals: bool = False,
    limits: Limits | None = None,
    environ: Mapping[str, str] | None = None,
    **settings: Any,
) -> AsyncIterator[World]:
    """An installation that talks to a simulator with this scenario."""
    scenario = scenario or scripted()
    home = Home(tmp / "home", tmp / "home")
    project, root = tmp / "project", tmp / "workers"
    for place in (home.config, project, root / "glm"):
        place.mkdir(parents=True, exist_ok=True)
    async with Simulator(scenario) as sim:
        models = {"daily_budget_usd": 3.0, "prices": PRICES, "tiers": {}, **settings}
        home.models_json.write_text(json.dumps(models))
        env = {
            "ANTHROPIC_BASE_URL": sim.anthropic_url,
            "ANTHROPIC_AUTH_TOKEN": PROVIDER_KEY,
            "ANTHROPIC_DEFAULT_SONNET_MODEL": MODEL,
            "ANTHROPIC_DEFAULT_OPUS_MODEL": MODEL,
            "ANTHROPIC_DEFAULT_HAIKU_MODEL": SMALL,
        }
        (root / "glm" / "settings.json").write_text(json.dumps({"env": env}))
        variables = {
            "PATH": os.environ["PATH"],
            "HOME": str(tmp),
            "CLAUDE_WORKERS_ROOT": str(root),
            "WORKERS_CLAUDE_BIN": str(claude or fake_claude(tmp)),
            **LOCAL_SECRETS,
            **(environ or {}),
        }
        engine = await Engine.start(
            EngineOptions(home=home, environ=variables, watch=False, approvals=approvals)
        )
        engine.agents.limits = limits or engine.agents.limits
        try:
            async with hosting(engine, project) if host else serving(engine):
                yield World(engine, sim, home, project, root)
                await engine.agents.close("the test is over")
        finally:
            await engine.close()
