"""Contract 4.6: usage.jsonl, one line per billed request, whose sum is the spend."""

from __future__ import annotations

import json
import re
from decimal import Decimal

import pytest
from tests.contracts.clients import call, client_of
from tests.contracts.program import Program
from tests.contracts.upstream import Provider

KEYS = {
    "ts": str, "call": str, "job": str, "kind": str, "tier": str, "model": str, "in": int,
    "out": int, "cost": float, "ms": int, "task": str, "provider": str, "cached": int,
    "reasoning": int, "cost_source": str, "status": str, "finish_reason": str, "project": str,
}  # fmt: skip
SOURCES = {"reported", "reconciled", "estimated", "unknown", "pending"}
MAY_BE_NULL = {"cost", "finish_reason", "session"}
BEYOND = {"seq", "day", "cache_write", "cache_write_1h", "generation", "list_usd", "charge_usd"}
"""Fields may be added; a new one has to be added here on purpose."""


def total(program: Program) -> Decimal:
    """The sum of `cost` in the file."""
    text = (program.home / "usage.jsonl").read_text()
    lines = [json.loads(line, parse_float=Decimal) for line in text.splitlines()]
    return sum((Decimal(line["cost"]) for line in lines if line["cost"] is not None), Decimal(0))


def test_a_line_has_the_contracts_keys(program: Program, provider: Provider) -> None:
    before = provider.cost
    task = "A task\nof two lines " + "x" * 200
    program.good("run", f"[[sim: text=hi, cached_tokens=3, reasoning=abcdefgh]] {task}")
    (line,) = program.usage()
    assert set(line) - BEYOND == {*KEYS, "session"}
    assert all(isinstance(line[name], kind) for name, kind in KEYS.items()), line
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", line["ts"])
    assert (line["kind"], line["tier"], line["provider"]) == ("call", "fast", "openrouter")
    assert (line["status"], line["finish_reason"], line["cost_source"]) == (
        "ok",
        "stop",
        "reported",
    )
    assert (line["cached"], line["reasoning"], line["out"]) == (3, 2, 3)
    assert line["project"] == str(program.project)
    assert line["session"] is None
    assert len(line["task"]) <= 120
    assert line["task"].startswith("[[sim: text=hi")
    assert "\n" not in line["task"]
    (job,) = program.good("jobs", "--json").json["jobs"]
    assert line["job"] == job["id"]
    assert Decimal(str(line["cost"])) == provider.cost - before


def test_each_attempt_of_a_call_has_a_line_when_it_was_billed(
    program: Program, own_provider: Provider
) -> None:
    """Case B12: whatever was billed is booked to the one job."""
    timeout = {"fault": "504", "retry_after": "0"}
    own_provider.change(rules=[{"behaviour": timeout, "times": 1}], default={"text": "at last"})
    ran = program.good("run", "t", "--json", OPENROUTER_BASE_URL=own_provider.url)
    lines = program.usage()
    assert [line["status"] for line in lines] == ["failed", "ok"]
    assert [line["cost_source"] for line in lines] == ["estimated", "reported"]
    assert len({line["call"] for line in lines}) == 2
    assert {line["job"] for line in lines} == {ran.json["job"]["id"]}
    assert ran.json["job"]["cost_usd"] == pytest.approx(sum(line["cost"] for line in lines))


def test_a_refusal_costs_nothing_and_has_no_line(program: Program, own_provider: Provider) -> None:
    again = {"fault": "429", "retry_after": "0"}
    own_provider.change(rules=[{"behaviour": again, "times": 2}], default={"text": "x"})
    program.good("run", "t", OPENROUTER_BASE_URL=own_provider.url)
    assert len(program.usage()) == 1
    assert len(own_provider.calls("t")) == 3


def test_a_correction_is_a_further_line_and_the_sum_is_the_spend(
    program: Program, own_provider: Provider
) -> None:
    own_provider.change(rules=[{"behaviour": {"fault": "cut", "bill_misses": 0}, "times": 1}])
    assert program.run("run", "t", OPENROUTER_BASE_URL=own_provider.url).code == 1
    (first,) = program.usage()
    assert first["cost_source"] == "estimated"
    said = program.good("reconcile", OPENROUTER_BASE_URL=own_provider.url).out
    assert "1 settled" in said
    first, second = program.usage()
    assert second["call"] == first["call"]
    assert (second["status"], second["in"], second["out"]) == ("correction", 0, 0)
    assert second["cost_source"] == "reconciled"
    assert total(program) == own_provider.cost
    stats = program.stats()
    assert Decimal(str(stats["all_time"]["cost_usd"])) == own_provider.cost
    assert stats["all_time"]["calls"] == 1
    (job,) = program.good("jobs", "--json").json["jobs"]
    assert Decimal(str(job["cost_usd"])) == own_provider.cost
    assert job["cost_source"] == "reconciled"


async def test_the_sum_is_the_providers_book_to_the_last_digit(
    program: Program, own_provider: Provider
) -> None:
    program.settings()
    jobs = [{"task": f"number {number} [[sim: text={'x' * number}]]"} for number in range(50)]
    with program.serving(OPENROUTER_BASE_URL=own_provider.url) as serving:
        async with client_of(serving) as client:
            await call(client, "delegate_batch", jobs=jobs)
    assert len(program.usage()) == 50
    assert total(program) == own_provider.cost > 0
    assert Decimal(str(program.stats()["today"]["cost_usd"])) == own_provider.cost


def test_a_torn_tail_is_mended_and_nothing_is_written_twice(program: Program) -> None:
    program.good("run", "[[sim: text=one]]")
    file = program.home / "usage.jsonl"
    whole = file.read_bytes()
    file.write_bytes(whole[:-40])
    program.good("run", "[[sim: text=two]]")
    lines = file.read_bytes().splitlines(keepends=True)
    assert lines[0] == whole
    assert len(lines) == 2
    program.good("stats")
    assert file.read_bytes().splitlines(keepends=True) == lines


def test_a_file_that_was_deleted_is_made_again(program: Program) -> None:
    program.good("run", "[[sim: text=one]]")
    before = program.usage()
    (program.home / "usage.jsonl").unlink()
    program.good("run", "[[sim: text=two]]")
    assert program.usage()[:1] == before
    assert len(program.usage()) == 2


@pytest.mark.parametrize(
    "bad",
    [
        '{"torn": ',
        '{"cost": 0.1, "in": 1}',
        '{"ts": "2026-01-01T00:00:00Z", "cost": "x"}',
        '{"ts": "2026-01-01T00:00:00Z", "cost": "1e999999"}',
    ],
)
def test_bad_rows_are_counted_and_stop_nothing(program: Program, bad: str) -> None:
    """Case B7."""
    program.good("run", "[[sim: text=one]]")
    with (program.home / "usage.jsonl").open("a") as file:
        file.write(bad + "\n")
    program.good("run", "[[sim: text=two]]")
    stats = program.stats()
    assert stats["ledger"]["bad_rows"] == 1
    assert stats["today"]["calls"] == 2
    assert "1 line of" in program.good("stats").out


def test_an_amount_as_text_counts_when_it_is_taken_in(program: Program) -> None:
    """Case B7: a row with `"cost": "0.1"`."""
    row = '{"ts": "2026-01-01T00:00:00Z", "model": "m", "in": 1, "out": 1, "cost": "0.1"}\n'
    program.good("import", str(program.file("old.jsonl", row)))
    assert program.stats()["all_time"]["cost_usd"] == 0.1
