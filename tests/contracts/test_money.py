"""Contract 7 and the field's cases B: money that is true and a cap that holds, from outside."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import time
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
from tests.contracts.clients import call, client_of, fails
from tests.contracts.program import Program, Serving
from tests.contracts.upstream import Provider
from tests.zones import two_days

FLASH = "deepseek/deepseek-v4-flash"
REFUSED = re.compile(
    r"spent \$(?P<spent>[\d.]+), held \$(?P<held>[\d.]+), .*\$(?P<estimate>[\d.]+), "
    r"cap \$(?P<cap>[\d.]+); .*\d{4}-\d\d-\d\d \d\d:\d\d"
)


def priced(input_: float, output: float, **more: Any) -> dict[str, Any]:
    """One tier whose price stands in the file."""
    return {
        "tiers": {"fast": {"model": FLASH}},
        "prices": {FLASH: {"input": input_, "output": output}},
        **more,
    }


def remote(provider: Provider) -> dict[str, str]:
    """The provider as one that is not on this machine: through a proxy."""
    proxy = provider.url.removesuffix("/api/v1")
    return {"OPENROUTER_BASE_URL": "http://provider.invalid/api/v1", "HTTP_PROXY": proxy}


def test_a_refusal_has_every_number_in_one_line(program: Program, provider: Provider) -> None:
    program.settings(**priced(1, 1, daily_budget_usd=0.005))
    program.good("run", "[[sim: text=x, cost=0.002]]", "--max-tokens", "100")
    ran = program.run("run", "beyond-the-cap", "--max-tokens", "4000")
    assert ran.code == 3
    said = REFUSED.search(ran.error)
    assert said is not None, ran.error
    assert (said["spent"], said["held"], said["cap"]) == ("0.002", "0.00", "0.005")
    assert Decimal(said["estimate"]) > Decimal("0.003")
    assert provider.calls("beyond-the-cap") == []


def test_the_hold_is_an_upper_bound_of_bytes_output_and_margin(program: Program) -> None:
    """One token a byte, the output cap, prices a quarter dearer: a cap just below refuses."""
    task = "x" * 1000
    dearest = Decimal("1.25") * (Decimal(1000) + 2000) / 1_000_000
    program.settings(**priced(1, 1, daily_budget_usd=float(dearest)))
    ran = program.run("run", task, "--max-tokens", "2000")
    assert ran.code == 3, ran
    said = REFUSED.search(ran.error)
    assert said is not None
    assert dearest < Decimal(said["estimate"]) < dearest * 2


def test_the_highest_price_goes_out_with_the_request(program: Program, provider: Provider) -> None:
    program.settings(**priced(2, 8, provider={"sort": "price"}))
    program.good("run", "with-max-price [[sim: text=x]]")
    (seen,) = provider.calls("with-max-price")
    assert isinstance(seen.body, dict)
    assert seen.body["provider"] == {
        "sort": "price",
        "max_price": {"prompt": 2.5, "completion": 10},
    }


def test_fallbacks_are_held_at_the_dearest(program: Program, provider: Provider) -> None:
    program.settings(
        tiers={"fast": {"model": FLASH, "fallbacks": ["qwen/qwen3-coder-next"]}},
        prices={
            FLASH: {"input": 1, "output": 1},
            "qwen/qwen3-coder-next": {"input": 4, "output": 2},
        },
    )
    program.good("run", "dearest-fallback [[sim: text=x]]")
    (seen,) = provider.calls("dearest-fallback")
    assert isinstance(seen.body, dict)
    assert seen.body["provider"]["max_price"] == {"prompt": 5, "completion": 2.5}


def test_a_model_without_a_price_is_refused_and_the_ways_out_named(
    program: Program, provider: Provider
) -> None:
    nobody = {"tiers": {"odd": {"model": "nobody/knows-this"}}}
    program.settings(**nobody)
    program.environ |= remote(provider)
    ran = program.run("run", "priceless")
    assert ran.code == 3, ran
    assert "nobody/knows-this" in ran.error
    assert "`prices`" in ran.error
    assert "`budget_mode: soft`" in ran.error
    assert provider.calls("priceless") == []
    program.settings(**nobody, budget_mode="soft")
    program.good("run", "soft-priceless [[sim: text=x]]")
    (seen,) = provider.calls("soft-priceless")
    assert isinstance(seen.body, dict)
    assert "max_price" not in seen.body.get("provider", {})
    program.settings(**nobody, prices={"nobody/knows-this": {"input": 1, "output": 1}})
    program.good("run", "[[sim: text=x]]")


def test_without_a_cap_nothing_is_held_or_blocked(program: Program, provider: Provider) -> None:
    """Case B10."""
    program.settings(tiers={"odd": {"model": "nobody/knows-this"}}, daily_budget_usd=None)
    program.good("run", "without-a-cap [[sim: text=x]]")
    stats = program.stats()
    assert stats["budget_usd"] is None
    assert stats["today"]["free_usd"] is None
    assert "no cap" in program.good("stats").out


def test_a_model_server_of_this_machine_costs_nothing_unless_priced(
    program: Program, own_provider: Provider
) -> None:
    own_provider.change(need_key=False, default={"fault": "no-usage", "generation_id": False})
    local = {
        "tiers": {"home": {"model": "llama", "provider": "local"}},
        "providers": {"local": {"base_url": own_provider.url}},
        "daily_budget_usd": 0.000001,
    }
    program.settings(**local)
    job = program.good("run", "[[sim: text=x, fault=no-usage]]", "--json").json["job"]
    assert job["cost_usd"] == 0
    program.settings(**local, prices={"llama": {"input": 1, "output": 1}})
    assert program.run("run", "t").code == 3


def test_a_confirmed_zero_is_not_unknown(program: Program) -> None:
    """Case B6: a `:free` model."""
    program.settings(tiers={"free": {"model": "openai/gpt-oss-20b:free"}})
    job = program.good("run", "[[sim: text=x]]", "--json").json["job"]
    assert (job["cost_usd"], job["cost_source"]) == (0, "reported")
    today = program.stats()["today"]
    assert (today["cost_usd"], today["unknown_calls"], today["pending_calls"]) == (0, 0, 0)


def test_an_unknown_cost_is_never_zero_and_counts_against_the_cap(
    program: Program, own_provider: Provider
) -> None:
    own_provider.change(default={"fault": "no-usage", "generation_id": False})
    program.settings(
        tiers={"odd": {"model": "nobody/knows-this"}},
        budget_mode="soft",
        daily_budget_usd=0.5,
        unknown_charge_usd=0.4,
    )
    program.environ |= remote(own_provider)
    ran = program.good("run", "t", "--json")
    job = ran.json["job"]
    assert job["cost_usd"] is None
    assert job["cost_source"] in {"pending", "unknown"}
    assert "$?" in ran.error
    today = program.stats()["today"]
    assert today["pending_calls"] + today["unknown_calls"] == 1
    assert today["free_usd"] == pytest.approx(0.1)
    assert program.run("run", "t").code == 3


def test_the_cost_of_the_accounts_own_key_is_the_upstreams(program: Program) -> None:
    job = program.good("run", "[[sim: text=x, byok=true, cost=0.25]]", "--json").json["job"]
    assert (job["cost_usd"], job["cost_source"]) == (0.25, "reported")


def test_an_answer_from_a_cache_costs_nothing_and_is_marked(program: Program) -> None:
    """Case C16."""
    job = program.good("run", "[[sim: text=x, fault=cache-hit]]", "--json").json["job"]
    assert (job["cost_usd"], job["cost_source"]) == (0, "reported")
    assert program.usage()[0]["status"] == "cached"


def test_the_served_model_is_booked(program: Program) -> None:
    """Case C15."""
    task = "[[sim: text=x, served=qwen/qwen3-coder-next]]"
    job = program.good("run", task, "--json").json["job"]
    assert job["model"] == "qwen/qwen3-coder-next"
    assert program.usage()[0]["model"] == "qwen/qwen3-coder-next"


@pytest.fixture
def cents(program: Program) -> Iterator[Serving]:
    """A cap of five cents and calls of at most a tenth of a cent."""
    program.settings(**priced(0.001, 0.001, daily_budget_usd=0.05, concurrency=8))
    with program.serving() as serving:
        yield serving


async def test_fifty_calls_of_a_tenth_of_a_cent_fill_five_cents(
    program: Program, cents: Serving
) -> None:
    """Case B11: money is exact."""
    jobs = [{"task": f"[[sim: text=x, cost=0.001]] {number}"} for number in range(50)]
    for job in jobs:
        job["max_tokens"] = 10  # type: ignore[assignment]
    async with client_of(cents) as client:
        said = await call(client, "delegate_batch", jobs=jobs)
        assert said.count("\nx") == 50
        today = program.stats()["today"]
        assert (today["calls"], today["cost_usd"], today["free_usd"]) == (50, 0.05, 0)
        assert "cap" in await fails(client, "delegate", task="[[sim: text=x]]")


async def test_when_only_holds_stand_in_the_way_a_call_waits(
    program: Program, provider: Provider
) -> None:
    program.settings(**priced(1, 1, daily_budget_usd=0.008))
    slow = "holds-the-cap [[sim: tokens_per_second=5, text=" + "word " * 100 + "]]"
    with program.serving() as serving:
        async with client_of(serving) as client:
            first = asyncio.create_task(client.call_tool("delegate", {"task": slow}))
            await asyncio.to_thread(provider.wait_for_call, "holds-the-cap")
            second = asyncio.create_task(call(client, "delegate", task="waits [[sim: text=now]]"))
            waiting = await asyncio.to_thread(job_in, program, "waiting")
            assert waiting["waiting_for"] == "cap"
            running = await asyncio.to_thread(job_in, program, "running")
            await call(client, "delegate_cancel", job_id=running["id"])
            assert (await second).endswith("\nnow")
            assert (await first).is_error


def job_in(program: Program, state: str) -> Any:
    """The first job in a state, as soon as there is one."""
    until = time.monotonic() + 10
    while not (found := program.good("jobs", "--json", "--state", state).json["jobs"]):
        assert time.monotonic() < until, f"no job is {state}"
    return found[0]


async def test_a_cap_lowered_below_what_is_spent_lets_running_jobs_end(
    program: Program, provider: Provider
) -> None:
    """Case B9."""
    program.settings(**priced(1, 1, daily_budget_usd=3))
    slow = "outlives-the-cap [[sim: first_delay=1, text=done]]"
    with program.serving() as serving:
        async with client_of(serving) as client:
            await call(client, "delegate", task="[[sim: text=x, cost=0.5]]")
            running = asyncio.create_task(call(client, "delegate", task=slow))
            await asyncio.to_thread(provider.wait_for_call, "outlives-the-cap")
            await asyncio.to_thread(program.good, "budget", "set", "0.1")
            said = REFUSED.search(await fails(client, "delegate", task="t"))
            assert said is not None
            assert (said["spent"], said["cap"]) == ("0.50", "0.10")
            assert (await running).endswith("\ndone")


def test_a_clock_that_goes_back_resets_nothing(program: Program) -> None:
    """Case B8."""
    ahead, behind = two_days()
    program.settings(**priced(1, 1, daily_budget_usd=0.01, budget_timezone=ahead))
    program.good("run", "[[sim: text=x, cost=0.008]]", "--max-tokens", "10")
    day = program.stats()["day"]
    program.settings(**priced(1, 1, daily_budget_usd=0.01, budget_timezone=behind))
    assert program.stats()["today"]["cost_usd"] == 0.008
    assert program.stats()["day"] == day
    assert program.run("run", "t").code == 3


def test_what_kill_9_leaves_is_booked_as_an_estimate(program: Program, provider: Provider) -> None:
    slow = "killed-in-flight [[sim: tokens_per_second=10, text=" + "word " * 200 + "]]"
    running = program.start("run", slow)
    provider.wait_for_call("killed-in-flight")
    os.kill(running.pid, signal.SIGKILL)
    assert running.wait().code == -9
    program.good("stats")
    (job,) = program.good("jobs", "--json").json["jobs"]
    assert (job["state"], job["cost_source"]) == ("lost", "estimated")
    assert job["cost_usd"] > 0
    today = program.stats()["today"]
    assert today["held_usd"] == 0
    assert today["estimated_usd"] == today["cost_usd"] == pytest.approx(job["cost_usd"])


def test_a_cancelled_call_books_an_estimate_at_once(program: Program, provider: Provider) -> None:
    """Case B3."""
    slow = "cancelled-early [[sim: tokens_per_second=10, text=" + "word " * 200 + "]]"
    running = program.start("run", slow)
    provider.wait_for_call("cancelled-early")
    running.signal(signal.SIGINT)
    running.wait()
    (line,) = program.usage()
    assert (line["status"], line["cost_source"]) == ("cancelled", "estimated")
    assert line["cost"] > 0
    assert program.stats()["today"]["held_usd"] == 0


async def test_a_provider_without_money_is_paused_and_said_once(
    program: Program, own_provider: Provider
) -> None:
    own_provider.change(rules=[{"behaviour": {"fault": "402"}}])
    with program.serving(OPENROUTER_BASE_URL=own_provider.url) as serving:
        async with client_of(serving) as client:
            assert "402" in await fails(client, "delegate", task="first")
            assert "paused" in await fails(client, "delegate", task="second")
    assert len(own_provider.calls("first")) == 1
    assert own_provider.calls("second") == []


def test_a_model_that_nobody_has_is_answered_with_the_nearest_names(
    program: Program, provider: Provider
) -> None:
    program.environ |= remote(provider)
    program.settings(tiers={"fast": {"model": "deepseek/deepseek-v4-flsh"}})
    ran = program.run("run", "t")
    assert ran.code in {1, 3}
    assert FLASH in ran.error


def test_two_processes_share_one_cap(program: Program, provider: Provider) -> None:
    program.settings(**priced(1, 1, daily_budget_usd=0.012))
    slow = "two-processes [[sim: first_delay=0.5, cost=0.004, text=x]]"
    runs = [program.start("run", slow) for _ in range(4)]
    codes = sorted(one.wait().code for one in runs)
    spent = Decimal(str(program.stats()["today"]["cost_usd"]))
    assert codes in ([0, 0, 3, 3], [0, 0, 0, 3])
    assert spent <= Decimal("0.012")
    assert json.loads(program.models_json.read_text())["daily_budget_usd"] == 0.012
