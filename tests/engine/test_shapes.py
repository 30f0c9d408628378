"""What other programs read: jobs, statistics, gate.json, the tiers on the board."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.engine.call_kit import MODEL, engine_over, error, ok, origin

from workers_tui.engine.background import Background
from workers_tui.engine.board import Board, Key, Topic
from workers_tui.engine.calls.tiers import TierView
from workers_tui.engine.clock import SystemClock
from workers_tui.engine.events import Events, Level
from workers_tui.engine.gate_file import GateFile
from workers_tui.engine.jobs.job import CallRequest, Job, JobKind, JobState, WaitingFor
from workers_tui.engine.money import Cost, CostSource
from workers_tui.engine.shapes import job_json
from workers_tui.engine.usage import Usage
from workers_tui.home.gate import Gate, GateTier
from workers_tui.home.places import Home

NOW = datetime(2026, 11, 29, 12, 0, 5, tzinfo=UTC)
ROW = {
    "id", "kind", "state", "waiting_for", "tier", "tier_reason", "model", "worker", "task",
    "project", "session", "started_at", "ms", "in", "out", "cost_usd", "cost_source", "error",
    "result_path",
}  # fmt: skip


def test_a_job_row_is_the_contract() -> None:
    job = Job(
        "abcde",
        JobKind.CALL,
        JobState.WAITING,
        "the task",
        NOW,
        waiting_for=WaitingFor.CAP,
        started_at=NOW,
        usage=Usage(10, 5),
        cost=Cost(123_000_000, CostSource.ESTIMATED),
        result_path=Path("/r/abcde.txt"),
    )
    row = job_json(job)
    assert set(row) >= ROW
    assert (row["state"], row["waiting_for"]) == ("waiting", "cap")
    assert (row["in"], row["out"], row["cost_usd"]) == (10, 5, 0.000123)
    assert row["started_at"] == "2026-11-29T12:00:05Z"
    assert json.loads(json.dumps(row)) == row


def test_what_nobody_knows_is_null() -> None:
    job = Job("a", JobKind.AGENT, JobState.QUEUED, "t", NOW, cost=Cost(None, CostSource.PENDING))
    row = job_json(job)
    assert (row["cost_usd"], row["cost_source"], row["waiting_for"]) == (None, "pending", None)


async def test_statistics_say_today_all_time_and_tiers(home: Home) -> None:
    async with engine_over(home, ok()) as (engine, _):
        job = await engine.delegate(CallRequest("x"), origin())
        await engine.ended(job.id)
        found = await engine.stats()
    assert found["budget_usd"] == 3.0
    assert found["today"]["cost_usd"] == found["all_time"]["reported_usd"] == 0.001
    assert found["today"]["free_usd"] == pytest.approx(2.999)
    assert found["tiers"]["fast"]["today"]["in"] == 100
    assert set(found["tiers"]["fast"]) == {"today", "all_time"}
    assert json.loads(json.dumps(found)) == found


async def test_a_tier_shows_its_price_its_record_and_what_is_wrong(home: Home) -> None:
    listed = {"data": [{"id": MODEL, "pricing": {"prompt": "0.000001", "completion": "0.000002"}}]}
    tiers = {"fast": {"model": MODEL}, "typo": {"model": MODEL[:-1]}, "lost": {"model": "m"}}
    tiers["lost"]["provider"] = "nobody"
    settings = {"tiers": tiers, "prices": {}, "daily_budget_usd": None}
    async with engine_over(home, ok(), error(404), settings=settings, gets={"models": listed}) as (
        engine,
        _,
    ):
        for _ in range(2):
            job = await engine.delegate(CallRequest("x", "fast"), origin())
            await engine.ended(job.id)
        await shown(engine.board, "fast", lambda view: view.picks == 2)
        fast = tier(engine.board, "fast")
        assert fast.price is not None
        assert fast.success_rate == 0.5
        assert fast.median_ms is not None
        assert fast.cost_per_1k_pico
        typo, lost = tier(engine.board, "typo").problem, tier(engine.board, "lost").problem
        assert typo is not None
        assert f"nearest: {MODEL}" in typo
        assert lost is not None
        assert "no provider 'nobody'" in lost
        await engine.config.edit(lambda raw: raw["tiers"].pop("typo"))
        assert engine.board.get(Key(Topic.TIER, "typo")) is None


def tier(board: Board, name: str) -> TierView:
    found = board.get(Key(Topic.TIER, name))
    assert isinstance(found, TierView)
    return found


async def shown(board: Board, name: str, right: Any) -> None:
    watcher = board.watch()
    async with asyncio.timeout(5):
        while not right(tier(board, name)):
            await watcher.changed()
    watcher.close()


async def test_the_hooks_know_what_works(home: Home) -> None:
    providers = {"local": {"base_url": "http://127.0.0.1:1/v1"}}
    tiers = {"fast": {"model": MODEL, "use": "sums"}, "here": {"model": "m", "provider": "local"}}
    settings = {"tiers": tiers, "providers": providers, "delegation": "ondemand"}
    async with engine_over(home, settings=settings) as (engine, _):
        gate = GateFile(home, engine.board, lambda: engine.config.settings, engine.events)
        both = (GateTier("fast", "sums"), GateTier("here"))
        assert gate.gate() == Gate("ondemand", both, (), False, None, 51_200)
        engine.providers.pause("openrouter", "no credit")
        assert gate.gate().tiers == (GateTier("here"),)
        await engine.config.edit(lambda raw: raw.update(daily_budget_usd=0))
        await engine.budget.refresh()
        assert gate.gate().cap_reached
        assert gate.gate().resets_at is not None


async def test_gate_json_is_written_when_its_answer_changes(home: Home) -> None:
    async with engine_over(home) as (engine, _):
        gate = GateFile(home, engine.board, lambda: engine.config.settings, engine.events)
        await gate.refresh()
        first = home.gate_json.stat().st_mtime_ns
        await gate.refresh()
        assert home.gate_json.stat().st_mtime_ns == first
        engine.providers.pause("openrouter", "no credit")
        await gate.refresh()
        assert json.loads(home.gate_json.read_text())["tiers"] == []


async def test_gate_json_is_written_once_the_disk_takes_it_again(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    async with engine_over(home) as (engine, _):
        home.gate_json.unlink(missing_ok=True)
        gate = GateFile(home, engine.board, lambda: engine.config.settings, engine.events)
        with monkeypatch.context() as patch:
            patch.setattr("workers_tui.engine.gate_file.write_gate", full)
            await gate.refresh()
            await gate.refresh()
        told = [event for event in engine.events.since(0) if "gate.json cannot" in event.text]
        assert len(told) == 1
        await gate.refresh()
        assert home.gate_json.exists()


async def test_what_fails_in_the_background_is_told() -> None:
    board = Board()
    events = Events(board, SystemClock())
    background = Background(events)
    failed = asyncio.Event()

    async def fail() -> None:
        failed.set()
        raise ValueError("out of paper")

    background.start(fail(), "store")
    await failed.wait()
    await asyncio.sleep(0)
    await background.close()
    (event,) = events.since(0)
    assert (event.level, event.subject) == (Level.ERROR, "store")
    assert "out of paper" in event.text
