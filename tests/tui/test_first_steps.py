"""The first steps: a local server added by a key, Claude Code registered once it was shown."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from tests.tui.conftest import Desk, Open
from tests.tui.fakes import NOON, FakeEngine, StillClock, make_job

from workers_tui.engine.board import Board, Key, Topic
from workers_tui.engine.checks.local_servers import LocalServer
from workers_tui.engine.errors import ConfigError
from workers_tui.engine.events import Events
from workers_tui.engine.jobs.job import Job
from workers_tui.engine.settings.config import ConfigFile
from workers_tui.engine.settings.providers import ProviderView
from workers_tui.home.places import Home
from workers_tui.tui import local_server
from workers_tui.tui.panes.frame import Frame
from workers_tui.tui.screens.dashboard import DashboardScreen
from workers_tui.tui.screens.first_steps import FirstSteps

OLLAMA = LocalServer("ollama", "Ollama", "http://127.0.0.1:11434/v1", ("qwen3:8b",))


async def nothing_here() -> list[LocalServer]:
    return []


async def ollama_here() -> list[LocalServer]:
    return [OLLAMA]


async def open_steps(d: Desk, steps: FirstSteps) -> None:
    await d.app.push_screen(steps)
    await d.until(lambda: "A key for a provider" in d.text("#steps"))


async def test_a_server_found_is_added_and_taken_back(desk: Open, engine: FakeEngine) -> None:
    async with desk() as d:
        await open_steps(d, FirstSteps(ollama_here))
        await d.until(lambda: "Found here: Ollama" in d.text("#steps"))
        await d.press("l")
        await d.until(lambda: "Tier local asks qwen3:8b" in d.footer)
        assert engine.config.raw["tiers"]["local"]["provider"] == "ollama"
        assert "Found here" not in d.text("#steps")
        await d.press("u")
        await d.until(lambda: engine.config.raw == {"providers": {}, "tiers": {}})
        await d.press("l")
        await d.until(lambda: "local" in engine.config.raw["tiers"])


async def test_nothing_found_nothing_added(desk: Open, engine: FakeEngine) -> None:
    async with desk() as d:
        await open_steps(d, FirstSteps(nothing_here))
        await d.press("l")
        assert "No local model server was found" in d.footer
        await d.press("m")
        assert "The demo connects nothing" in d.footer
        assert engine.config.raw["tiers"] == {}


async def test_the_first_run_gives_way_to_the_first_job_of_a_client(
    desk: Open, engine: FakeEngine
) -> None:
    async with desk(demo=False) as d:
        await d.until(lambda: isinstance(d.app.screen, FirstSteps))
        await d.until(lambda: "A key for a provider" in d.text("#steps"))
        engine.put(make_job("here1", created_at=NOON, client="dashboard"))
        await d.press("k")
        await d.until(lambda: d.app.screen.query_one("Footer").has_class("-prompts"))
        engine.put(make_job("them1", created_at=NOON))
        await d.settled()
        assert isinstance(d.app.screen, FirstSteps)
        await d.press("escape")
        engine.put(make_job("them2", created_at=NOON))
        await d.until(lambda: isinstance(d.app.screen, DashboardScreen))


async def test_it_says_which_tier_is_awaited_and_when_all_is_done(
    desk: Open, engine: FakeEngine
) -> None:
    answer = asyncio.Event()
    ended = engine.ended

    async def later(job_id: str) -> Job:
        await answer.wait()
        return await ended(job_id)

    engine.ended = later  # type: ignore[method-assign]
    async with desk() as d:
        await open_steps(d, FirstSteps(nothing_here))
        await d.press("t")
        await d.until(lambda: "fast      ▶ its answer is awaited" in d.text("#steps"))
        assert "esc skips" in d.app.screen.query_one(Frame).title
        ready = ProviderView(
            "openrouter", "https://one.example", has_key=True, paused=None, loopback=False
        )
        engine.board.put(Key(Topic.PROVIDER, "openrouter"), ready)
        answer.set()
        await d.until(lambda: "awaited" not in d.text("#steps"))
        assert "✓  The tiers tried" in d.text("#steps")
        assert "esc shows the dashboard" in d.app.screen.query_one(Frame).title


async def test_connecting_shows_the_plan_and_asks(
    desk: Open, engine: FakeEngine, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workers_tui.tui.connecting.find_claude", lambda _: None)
    claude = Path(engine.environ["CLAUDE_CONFIG_DIR"])
    home.ui_json.write_text('{"first_steps_shown": true}')
    async with desk(demo=False) as d:
        await open_steps(d, FirstSteps(nothing_here))
        for answer, changed in (("n", False), ("y", True)):
            await d.press("m")
            await d.until(lambda: d.app.screen.query_one("Footer").has_class("-asks"))
            assert "register the MCP server" in d.text("#steps")
            assert "settings.json" in d.text("#steps")
            assert not (claude / "settings.json").exists()
            await d.press(answer)
            await d.until(lambda: "register the MCP server" not in d.text("#steps"))
            assert (claude / "settings.json").exists() is changed
        servers = json.loads((claude / ".claude.json").read_text())["mcpServers"]
        assert servers["workers"]["args"][-1] == "mcp"
        await d.press("m")
        await d.until(lambda: "registered already" in d.footer)


async def test_what_is_written_is_what_the_settings_read(home: Home) -> None:
    board = Board()
    path = home.models_json
    path.write_text('{\n  "tiers": {"local": {"model": "other"}}\n}\n')
    config = await ConfigFile.open(home, board, Events(board, StillClock()))
    before = path.read_text()
    tier, take_back = await local_server.add(config, OLLAMA)
    assert tier == "local-2"
    assert config.settings.tiers[tier].model == "qwen3:8b"
    assert config.settings.providers["ollama"].base_url == OLLAMA.base_url
    added = path.read_text()
    with pytest.raises(ConfigError, match="already"):
        await local_server.add(config, OLLAMA)
    assert path.read_text() == added
    await take_back()
    assert json.loads(path.read_text())["tiers"] == json.loads(before)["tiers"]


async def test_a_server_without_a_model_is_not_added(engine: FakeEngine) -> None:
    empty = LocalServer("ollama", "Ollama", OLLAMA.base_url, ())
    with pytest.raises(ConfigError, match="no model loaded"):
        await local_server.add(engine.config, empty)  # type: ignore[arg-type]
    assert engine.config.raw["providers"] == {}


def test_a_server_that_the_settings_know_is_not_offered() -> None:
    assert local_server.not_yet([OLLAMA], ["http://localhost:11434/v1/"]) == []
    assert local_server.not_yet([OLLAMA], [""]) == [OLLAMA]
