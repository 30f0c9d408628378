"""A whole installation for tests with real Claude Code: engine, server, worker, simulator."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from workers_tui.engine.agent_request import AgentRequest, FollowUp
from workers_tui.engine.board import Key, Topic
from workers_tui.engine.engine import Engine, EngineOptions
from workers_tui.engine.job import Job, Origin
from workers_tui.home.places import Home
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
CLAUDE = os.environ.get("WORKERS_CLAUDE_BIN") or shutil.which("claude")

needs_claude = pytest.mark.skipif(CLAUDE is None, reason="Claude Code is not installed")


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
    host: Host

    @property
    def origin(self) -> Origin:
        return Origin((self.project,), project=str(self.project), client="test")

    async def start(self, prompt: str, **more: Any) -> Job:
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


@asynccontextmanager
async def world(tmp: Path, scenario: Scenario, **settings: Any) -> AsyncIterator[World]:
    """An installation that talks to a simulator with this scenario."""
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
        environ = {
            "PATH": os.environ["PATH"],
            "HOME": str(tmp),
            "CLAUDE_WORKERS_ROOT": str(root),
            "WORKERS_CLAUDE_BIN": CLAUDE or "",
            **LOCAL_SECRETS,
        }
        engine = await Engine.start(EngineOptions(home=home, environ=environ))
        host = Host(engine, port=0, project=project)
        await host.start()
        try:
            yield World(engine, sim, home, project, root, host)
        finally:
            await host.stop("the test is over")
            await engine.close()
