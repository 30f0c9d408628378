"""Contract 4.7: what `--json` prints, by keys and types."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any

import pytest
from tests.contracts.program import Program
from tests.contracts.transcripts import transcript

NUMBER = (int, float)
MAYBE_NUMBER = (int, float, type(None))
MAYBE_TEXT = (str, type(None))
SUMS = {
    "calls": int, "in": int, "out": int, "cached": int, "reasoning": int, "cost_usd": NUMBER,
    "reported_usd": NUMBER, "estimated_usd": NUMBER, "pending_calls": int, "unknown_calls": int,
}  # fmt: skip
TODAY = {**SUMS, "held_usd": NUMBER, "free_usd": MAYBE_NUMBER}
STATS = {
    "schema": int, "day": str, "timezone": str, "resets_at": str, "budget_usd": MAYBE_NUMBER,
    "today": TODAY, "all_time": SUMS, "tiers": dict,
    "ledger": {"path": str, "rows": int, "bad_rows": int},
}  # fmt: skip
JOB = {
    "id": str, "kind": str, "state": str, "waiting_for": MAYBE_TEXT, "tier": MAYBE_TEXT,
    "tier_reason": MAYBE_TEXT, "model": MAYBE_TEXT, "worker": MAYBE_TEXT, "task": str,
    "project": MAYBE_TEXT, "session": MAYBE_TEXT, "started_at": MAYBE_TEXT,
    "ms": (int, type(None)), "in": int, "out": int, "cost_usd": MAYBE_NUMBER,
    "cost_source": MAYBE_TEXT, "error": MAYBE_TEXT, "result_path": MAYBE_TEXT,
}  # fmt: skip
WORK = {
    "messages": int, "input": int, "output": int, "cache_creation": int, "cache_creation_1h": int,
    "cache_read": int, "fresh_tokens": int, "cost_usd": NUMBER, "unknown_price_models": list,
}  # fmt: skip
SAVINGS = {
    "schema": int, "manager": WORK, "workers": dict,
    "delegated": {"calls": int, "in": int, "out": int, "cost_usd": NUMBER},
    "models": list, "by": list,
    "savings": {
        "worker_fresh_tokens": int, "all_fresh_tokens": int, "percent": MAYBE_NUMBER,
        "sessions": int, "kept_out_tokens": int, "net_usd_low": MAYBE_NUMBER,
        "net_usd_high": MAYBE_NUMBER,
    },
    "files": {"count": int, "bytes": int, "bad_lines": int},
    "prices": {"source": str, "date": MAYBE_TEXT},
}  # fmt: skip


def fits(value: Any, shape: dict[str, Any], where: str = "") -> None:
    """Every key of the shape is there and of its kind."""
    assert isinstance(value, dict), where
    for name, kind in shape.items():
        place = f"{where}.{name}"
        assert name in value, place
        if isinstance(kind, dict):
            fits(value[name], kind, place)
        else:
            assert isinstance(value[name], kind), f"{place}: {value[name]!r}"
            assert not isinstance(value[name], bool), place


@pytest.fixture
def used(program: Program) -> Program:
    """A home with a good, a failed and a refused call."""
    program.settings()
    program.good("run", "[[sim: text=x]]", "--tier", "code")
    program.run("run", "[[sim: fault=403]]")
    program.run("run", "t", "--file", "/etc/passwd")
    return program


def test_stats(used: Program) -> None:
    said = used.stats()
    fits(said, STATS)
    assert said["schema"] == 1
    assert set(said["tiers"]) == {"fast", "code"}
    for tier in said["tiers"].values():
        fits(tier, {"today": SUMS, "all_time": SUMS})
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", said["day"])
    assert datetime.fromisoformat(said["resets_at"]).tzinfo is not None
    assert said["budget_usd"] == 3.0
    today = said["today"]
    assert today["cost_usd"] == today["reported_usd"] + today["estimated_usd"]
    assert today["free_usd"] == pytest.approx(3.0 - today["cost_usd"] - today["held_usd"])
    assert said["tiers"]["code"]["today"]["calls"] == 1
    assert said["ledger"]["rows"] == 1


def test_stats_of_a_new_home(program: Program) -> None:
    fits(program.stats(), STATS)


def test_budget_show_is_the_today_of_stats(used: Program) -> None:
    assert used.good("budget", "show", "--json").json == used.stats()["today"]


def test_jobs(used: Program) -> None:
    said = used.good("jobs", "--json").json
    assert said["schema"] == 1
    refused, failed, done = said["jobs"]
    for job in said["jobs"]:
        fits(job, JOB)
        assert job["kind"] == "call"
    assert [done["state"], failed["state"], refused["state"]] == ["done", "failed", "refused"]
    assert done["error"] is None
    assert failed["error"]
    assert refused["error"]
    assert refused["cost_usd"] is None
    assert datetime.fromisoformat(done["started_at"]).tzinfo is not None


def test_one_job(used: Program) -> None:
    (done,) = used.good("jobs", "--json", "--state", "done").json["jobs"]
    said = used.good("jobs", "show", done["id"], "--json").json
    fits(said, {"schema": int, "job": {**JOB, "text": str}})
    assert {**said["job"], "text": ""} == {**done, "text": ""}
    assert said["job"]["text"] == "x"


def test_run(program: Program) -> None:
    said = program.good("run", "[[sim: text=x]]", "--json").json
    fits(said, {"schema": int, "job": {**JOB, "text": str}})
    assert (said["schema"], said["job"]["state"], said["job"]["text"]) == (1, "done", "x")


def test_run_prints_its_json_also_when_it_fails(program: Program) -> None:
    ran = program.run("run", "[[sim: fault=403]]", "--json")
    assert ran.code == 1
    fits(ran.json, {"schema": int, "job": {**JOB, "text": str}})
    assert ran.json["job"]["error"] in ran.error


@pytest.mark.parametrize("by", ["day", "project", "session", "model"])
def test_savings(used: Program, by: str) -> None:
    config = used.root / "user/.claude"
    transcript(config, "a", input=100, output=10, cache_creation=50, cache_read=900)
    said = used.good("savings", "--json", "--by", by).json
    fits(said, SAVINGS)
    assert said["schema"] == 1
    manager = said["manager"]
    assert (
        manager["fresh_tokens"] == manager["input"] + manager["cache_creation"] + manager["output"]
    )
    assert manager["fresh_tokens"] == 160
    (model,) = said["models"]
    fits(model, {"model": str, **WORK})
    (key,) = said["by"]
    fits(key, {"key": str, **WORK})
    assert key["fresh_tokens"] == 160
    assert said["delegated"]["calls"] == 1


def test_savings_without_any_transcript(program: Program) -> None:
    fits(program.good("savings", "--json").json, SAVINGS)


def test_savings_name_every_model_without_a_price(program: Program) -> None:
    path = transcript(program.root / "user/.claude", "a", output=10)
    path.write_text(path.read_text().replace("claude-sonnet-4-5-20250929", "claude-nobody-knows"))
    manager = program.good("savings", "--json").json["manager"]
    assert manager["cost_usd"] == 0
    assert manager["unknown_price_models"] == ["claude-nobody-knows"]


def test_savings_read_the_directory_they_are_told(program: Program) -> None:
    transcript(program.root / "elsewhere", "a", output=10)
    transcript(program.root / "more", "b", output=5)
    said = program.good(
        "savings", "--json", "--claude-dir", str(program.root / "elsewhere"),
        "--claude-dir", str(program.root / "more"),
    ).json  # fmt: skip
    assert said["manager"]["output"] == 15
    since = program.good("savings", "--json", "--since", "2026-11-03",
                         "--claude-dir", str(program.root / "more")).json  # fmt: skip
    assert since["manager"]["output"] == 0


def test_doctor(program: Program) -> None:
    ran = program.run("doctor", "--json")
    assert ran.code in {0, 1}, ran
    said = ran.json
    assert said["schema"] == 1
    assert said["checks"]
    for check in said["checks"]:
        assert {"name", "ok", "detail", "fix"} <= set(check)
        assert isinstance(check["ok"], bool)
        assert isinstance(check["name"], str)
        assert isinstance(check["detail"], str)
        assert isinstance(check["fix"], MAYBE_TEXT)
