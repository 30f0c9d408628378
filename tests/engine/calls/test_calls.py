"""Calls that go well, go wrong, wait or are stopped, seen through the engine's own door."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.engine.call_kit import (
    MODEL,
    USAGE,
    FastClock,
    Gate,
    answered,
    chunk,
    engine_over,
    error,
    ok,
    origin,
    sse,
    stream,
    until,
)

from workers_tui.engine.board import Key, Topic
from workers_tui.engine.calls import attempt, calls
from workers_tui.engine.engine import Engine
from workers_tui.engine.errors import (
    BudgetRefused,
    ConfigError,
    KeyRejected,
    PaymentRequired,
    PolicyRefused,
    SecretsRefused,
    StoreUnusable,
    UnknownTier,
    WrongUse,
)
from workers_tui.engine.jobs import job_rows
from workers_tui.engine.jobs.job import CallRequest, Job, JobState, WaitingFor
from workers_tui.engine.money import CostSource, from_usd
from workers_tui.home.places import Home

ASK = CallRequest("Summarize this")


async def done(engine: Engine, request: CallRequest = ASK, root: Path | None = None) -> Job:
    """One call to its end."""
    job = await engine.delegate(request, origin(root))
    return await engine.ended(job.id)


async def spent(engine: Engine) -> tuple[int, int]:
    """What today cost and what is still held."""
    spend = await engine.budget.refresh()
    return spend.spent_pico, spend.held_pico


def lines(home: Home) -> list[dict[str, Any]]:
    """The ledger's file."""
    return [json.loads(line) for line in home.usage_jsonl.read_text().splitlines()]


async def written(engine: Engine) -> list[dict[str, Any]]:
    """The ledger's file, once the lines under way are in it."""
    await engine.ledger.written()
    return lines(engine.home)


# what is asked


@pytest.mark.parametrize(
    ("request_", "problem"),
    [
        (CallRequest("  \n"), "the task is empty"),
        (CallRequest("x", max_tokens=0), "at least 1"),
    ],
)
async def test_senseless_requests_make_no_job(
    home: Home, request_: CallRequest, problem: str
) -> None:
    async with engine_over(home) as (engine, _):
        with pytest.raises(WrongUse, match=problem):
            await engine.delegate(request_, origin())
        assert await engine.list_jobs() == []


async def test_an_unknown_tier_names_those_that_are_there(home: Home) -> None:
    async with engine_over(home) as (engine, _):
        with pytest.raises(UnknownTier, match="'fats'; there are: fast, auto"):
            await engine.delegate(CallRequest("x", tier="fats"), origin())


@pytest.mark.parametrize("count", [0, 101])
async def test_a_batch_has_1_to_100_jobs(home: Home, count: int) -> None:
    async with engine_over(home) as (engine, _):
        with pytest.raises(WrongUse, match=f"1 to 100 jobs, not {count}"):
            await engine.delegate_batch([ASK] * count, origin())


async def test_one_bad_job_stops_the_whole_batch_before_it_begins(home: Home) -> None:
    async with engine_over(home) as (engine, provider):
        with pytest.raises(UnknownTier):
            await engine.delegate_batch([ASK, CallRequest("x", tier="none")], origin())
        assert (await engine.list_jobs(), provider.requests) == ([], [])


async def test_a_batch_that_the_store_takes_in_part_only_is_none(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with engine_over(home) as (engine, provider):
        insert, taken = job_rows.insert, iter([True, True])

        def two(conn: sqlite3.Connection, job: Job) -> int:
            if not next(taken, False):
                raise sqlite3.OperationalError("database or disk is full")
            return insert(conn, job)

        monkeypatch.setattr(job_rows, "insert", two)
        with pytest.raises(StoreUnusable):
            await engine.delegate_batch([ASK] * 3, origin())
        await engine.drain("the test ends")
        assert (await engine.list_jobs(), provider.bodies) == ([], [])


async def test_broken_settings_at_the_start_stop_every_call_and_say_the_line(home: Home) -> None:
    home.models_json.write_text('{\n "tiers": {\n}')
    async with engine_over(home) as (engine, _):
        with pytest.raises(ConfigError, match=r"models\.json line 3.*nothing is sent until"):
            await engine.delegate(ASK, origin())


async def test_an_engine_that_leaves_takes_no_new_calls(home: Home) -> None:
    async with engine_over(home) as (engine, _):
        await engine.drain("the program ends")
        with pytest.raises(PolicyRefused, match="the program ends"):
            await engine.delegate(ASK, origin())


async def test_half_a_character_in_a_task_does_not_break_it(home: Home) -> None:
    async with engine_over(home) as (engine, provider):
        job = await done(engine, CallRequest("say \ud800 this"))
        assert job.state is JobState.DONE
        assert provider.bodies[0]["messages"][-1]["content"] == "say ? this"


# what is sent


async def test_an_output_cap_always_goes_out(home: Home) -> None:
    tiers = {"fast": {"model": MODEL, "params": {"max_tokens": 9, "n": 3, "temperature": 0}}}
    async with engine_over(home, settings={"tiers": tiers}) as (engine, provider):
        await done(engine)
        await done(engine, CallRequest("x", max_tokens=7))
        first, second = provider.bodies
        assert first["max_completion_tokens"] == 4000
        assert second["max_completion_tokens"] == 7
        assert not {"max_tokens", "n"} & first.keys()  # three answers would break the hold
        assert (first["temperature"], first["stream"]) == (0, True)


async def test_the_highest_price_goes_out_with_a_quarter_on_top(home: Home) -> None:
    settings = {"provider": {"data_collection": "deny", "max_price": {"completion": 0.1}}}
    async with engine_over(home, settings=settings) as (engine, provider):
        await done(engine)
        assert provider.bodies[0]["provider"] == {
            "data_collection": "deny",
            "max_price": {"prompt": 0.125, "completion": 0.1},  # the user's own is lower
        }


async def test_fallbacks_go_out_in_order_and_are_held_at_the_dearest(home: Home) -> None:
    settings = {
        "tiers": {"fast": {"model": MODEL, "fallbacks": ["dear/one"], "max_tokens": 1000}},
        "prices": {MODEL: {"input": 0.1, "output": 0.2}, "dear/one": {"input": 0, "output": 8}},
    }
    async with engine_over(home, settings=settings) as (engine, provider):
        job = await done(engine)
        assert provider.bodies[0]["models"] == [MODEL, "dear/one"]
        assert provider.bodies[0]["provider"]["max_price"]["completion"] == 10.0
        assert job.estimate_pico is not None
        assert job.estimate_pico >= from_usd("0.01")


async def test_the_key_goes_out_and_stays_nowhere(home: Home) -> None:
    async with engine_over(home) as (engine, provider):
        await done(engine)
        assert provider.requests[0].headers["authorization"] == "Bearer sk-test"
    kept = [path.read_bytes() for path in home.state.rglob("*") if path.is_file()]
    assert not any(b"sk-test" in data for data in kept)


async def test_local_servers_get_their_own_dialect_and_cost_nothing(home: Home) -> None:
    settings = {
        "tiers": {"local": {"model": "llama", "provider": "ollama"}},
        "providers": {"ollama": {"base_url": "http://localhost:11434/v1"}},
        "provider": {"sort": "price"},
        "daily_budget_usd": 0,
        "prices": {},
    }
    usage = {"prompt_tokens": 5, "completion_tokens": 5}
    async with engine_over(home, ok(usage=usage), settings=settings) as (engine, provider):
        job = await done(engine)
        assert job.state is JobState.DONE, job.error
        body = provider.bodies[0]
        assert body["max_tokens"] == 4000
        assert not {"provider", "models", "session_id", "max_completion_tokens"} & set(body)
        assert "authorization" not in provider.requests[0].headers
        assert job.cost is not None
        assert (job.cost.pico, job.cost.source) == (0, CostSource.ESTIMATED)


# what it costs


async def cost(home: Home, *replies: Any, **settings: Any) -> Job:
    async with engine_over(home, *replies, settings=settings) as (engine, _):
        return await done(engine)


async def test_a_confirmed_zero_is_not_unknown(home: Home) -> None:
    usage = {"prompt_tokens": 5, "completion_tokens": 5, "cost": 0}
    job = await cost(home, ok(usage=usage))
    assert job.cost is not None
    assert (job.cost.pico, job.cost.source) == (0, CostSource.REPORTED)


async def test_without_a_reported_cost_it_is_computed(home: Home) -> None:
    usage = {"prompt_tokens": 1_000_000, "completion_tokens": 1_000_000}
    job = await cost(home, ok(usage=usage))
    assert job.cost is not None
    assert (job.cost.pico, job.cost.source) == (from_usd("0.3"), CostSource.ESTIMATED)


async def test_without_usage_it_is_pending_where_the_router_can_be_asked(home: Home) -> None:
    job = await cost(home, ok(usage=None))
    assert job.cost is not None
    assert (job.cost.pico, job.cost.source) == (None, CostSource.PENDING)
    assert lines(home)[0]["cost"] is None


async def test_without_anybody_to_ask_it_is_unknown_and_counts_against_the_cap(home: Home) -> None:
    settings = {
        "tiers": {"x": {"model": "m", "provider": "p"}},
        "providers": {"p": {"base_url": "https://p.test/v1", "api_key_env": "OPENROUTER_API_KEY"}},
        "budget_mode": "soft",
    }
    async with engine_over(home, ok(usage=None), settings=settings) as (engine, _):
        job = await done(engine)
        assert job.cost is not None
        assert (job.cost.pico, job.cost.source) == (None, CostSource.UNKNOWN)
        assert await spent(engine) == (from_usd("0.05"), 0)


async def test_a_cached_answer_costs_nothing_and_is_marked(home: Home) -> None:
    zero = {"prompt_tokens": 0, "completion_tokens": 0}
    reply = stream(answered("old", zero), x_openrouter_cache_status="HIT")
    job = await cost(home, reply)
    assert job.cost is not None
    assert (job.cost.pico, job.cost.source) == (0, CostSource.REPORTED)
    assert lines(home)[0]["status"] == "cached"


async def test_counters_that_are_all_zero_are_no_usage(home: Home) -> None:
    job = await cost(home, ok(usage={"prompt_tokens": 0, "completion_tokens": 0}))
    assert job.cost is not None
    assert job.cost.source is CostSource.PENDING


async def test_the_served_model_is_logged_priced_and_shown(home: Home) -> None:
    usage = {"prompt_tokens": 1_000_000, "completion_tokens": 0}
    reply = stream(sse(chunk("x", finish="stop", model="other/m", usage=usage), "[DONE]"))
    prices = {MODEL: {"input": 0.1, "output": 0.2}, "other/m": {"input": 2, "output": 2}}
    job = await cost(home, reply, prices=prices)
    assert job.model == "other/m"
    assert job.cost is not None
    assert job.cost.pico == from_usd(2)
    assert lines(home)[0]["model"] == "other/m"


async def test_an_own_price_holds_for_the_model_with_its_date(home: Home) -> None:
    usage = {"prompt_tokens": 1_000_000, "completion_tokens": 0}
    served = chunk("x", finish="stop", model="gpt-5-mini-2025-08-07", usage=usage)
    settings = {
        "tiers": {"x": {"model": "gpt-5-mini", "provider": "openai"}},
        "providers": {
            "openai": {"base_url": "https://api.openai.com/v1", "api_key_env": "OPENROUTER_API_KEY"}
        },
        "prices": {"gpt-5-mini": {"input": 7, "output": 7}},
        "daily_budget_usd": None,
    }
    job = await cost(home, stream(sse(served, "[DONE]")), **settings)
    assert job.cost is not None
    assert job.cost.pico == from_usd(7)


async def test_a_price_for_a_model_of_this_machine_holds_whatever_it_calls_itself(
    home: Home,
) -> None:
    usage = {"prompt_tokens": 1_000_000, "completion_tokens": 0}
    served = chunk("x", finish="stop", model="/models/qwen3-8b-q4.gguf", usage=usage)
    settings = {
        "tiers": {"x": {"model": "qwen3", "provider": "local"}},
        "providers": {"local": {"base_url": "http://127.0.0.1:1/v1"}},
        "prices": {"qwen3": {"input": 0.1, "output": 0.1}},
    }
    job = await cost(home, stream(sse(served, "[DONE]")), **settings)
    assert job.cost is not None
    assert job.cost.pico == from_usd("0.1")


async def test_a_flat_rate_costs_nothing_and_shows_the_list_price(home: Home) -> None:
    settings = {
        "tiers": {"x": {"model": MODEL, "provider": "plan"}},
        "providers": {
            "plan": {
                "base_url": "https://p.test/v1",
                "plan": True,
                "api_key_env": "OPENROUTER_API_KEY",
            }
        },
        "daily_budget_usd": 0,
    }
    usage = {"prompt_tokens": 1_000_000, "completion_tokens": 0}
    job = await cost(home, ok(usage=usage), **settings)
    assert job.cost is not None
    assert (job.cost.pico, job.cost.list_pico) == (0, from_usd("0.1"))


async def test_an_unknown_price_is_refused_with_the_two_ways_out(home: Home) -> None:
    async with engine_over(home, settings={"prices": {}, "tiers": {"x": {"model": "no/such"}}}) as (
        engine,
        provider,
    ):
        job = await done(engine)
        assert job.state is JobState.REFUSED
        assert job.error is not None
        assert "`prices`" in job.error
        assert "`budget_mode: soft`" in job.error
        assert isinstance(engine.failure(job.id), BudgetRefused)
        assert provider.bodies == []


async def test_no_room_under_the_cap_is_refused_before_anything_leaves(home: Home) -> None:
    async with engine_over(home, settings={"daily_budget_usd": 0.0001}) as (engine, provider):
        job = await done(engine)
        assert job.state is JobState.REFUSED
        assert job.error is not None
        assert "spent $" in job.error
        assert provider.bodies == []


async def test_no_cap_blocks_nothing(home: Home) -> None:
    settings = {"daily_budget_usd": None, "prices": {}, "tiers": {"x": {"model": "no/such"}}}
    async with engine_over(home, settings=settings) as (engine, provider):
        job = await done(engine)
        assert job.state is JobState.DONE
        assert "max_price" not in provider.bodies[0].get("provider", {})
        assert engine.board.get(Key(Topic.SPEND)).cap_pico is None


# how it fails


@pytest.mark.parametrize(
    ("reply", "problem"),
    [
        (stream(sse(chunk("", finish="stop", native_finish_reason="network_error"))), "no text"),
        (
            stream(sse({"choices": [{"delta": {"reasoning": "hm"}, "finish_reason": "stop"}]})),
            "only reasoned",
        ),
        (stream(sse(chunk(" \n"), chunk("\n", finish="stop"))), "white space only"),
        (stream(sse(chunk("", finish="length"))), "went into reasoning"),
        (stream(sse(chunk("", finish="tool_calls"))), "call a tool"),
        (stream(sse(chunk("half", finish="content_filter"))), "content filter"),
    ],
)
async def test_an_answer_that_is_none_is_a_failure_and_paid(
    home: Home, reply: httpx.Response, problem: str
) -> None:
    async with engine_over(home, reply) as (engine, _):
        job = await done(engine)
        assert job.state is JobState.FAILED
        assert job.error is not None
        assert problem in job.error
        assert (await spent(engine))[1] == 0
        assert len(await written(engine)) == 1


async def test_reasoning_without_an_answer_books_its_cost(home: Home) -> None:
    thought = {
        "choices": [{"delta": {"content": None, "reasoning": "hm"}, "finish_reason": "stop"}]
    }
    reply = stream(sse(thought, {"choices": [], "usage": USAGE}, "[DONE]"))
    async with engine_over(home, reply) as (engine, _):
        job = await done(engine)
        assert job.state is JobState.FAILED
        assert await spent(engine) == (from_usd("0.001"), 0)


async def test_a_cut_answer_is_done_but_marked(home: Home) -> None:
    reply = stream(sse(chunk("half", finish="length", usage=USAGE), "[DONE]"))
    async with engine_over(home, reply) as (engine, _):
        job = await done(engine)
        assert (job.state, job.truncated) == (JobState.DONE, True)
        assert (await written(engine))[0]["status"] == "truncated"


async def test_a_stream_that_breaks_keeps_its_text_and_books_an_estimate(home: Home) -> None:
    async with engine_over(home, stream(sse(chunk("x" * 400)), httpx.ReadError("gone"))) as (
        engine,
        provider,
    ):
        job = await done(engine)
        assert job.state is JobState.FAILED
        assert await engine.text(job.id) == "x" * 400
        assert job.cost is not None
        assert job.cost.source is CostSource.ESTIMATED
        assert job.cost.pico
        assert len(provider.bodies) == 1  # what may be billed is never sent twice
        (line,) = await written(engine)
        assert (line["status"], line["cost_source"], line["out"]) == ("failed", "estimated", 100)
        assert (await spent(engine))[1] == 0


async def test_an_error_after_some_text_is_billed_though_nothing_names_the_answer(
    home: Home,
) -> None:
    part = {"choices": [{"index": 0, "delta": {"content": "part"}}]}
    broken = stream(sse(part, {"error": {"code": 502, "message": "gone"}}))
    async with engine_over(home, broken) as (engine, _):
        job = await done(engine)
        assert job.state is JobState.FAILED
        assert job.cost is not None
        assert job.cost.source is CostSource.ESTIMATED
        assert job.cost.pico
        assert len(await written(engine)) == 1


async def test_a_refusal_costs_nothing(home: Home) -> None:
    async with engine_over(home, error(404, {"error": {"message": "No endpoints"}})) as (engine, _):
        job = await done(engine)
        assert (job.state, job.cost) == (JobState.FAILED, None)
        assert job.error is not None
        assert "No endpoints" in job.error
        assert await spent(engine) == (0, 0)


@pytest.mark.parametrize("status", [400, 403, 404, 413])
async def test_what_will_not_change_is_not_sent_again(home: Home, status: int) -> None:
    async with engine_over(home, error(status)) as (engine, provider):
        await done(engine)
        assert len(provider.bodies) == 1


async def test_a_missing_key_is_named_with_the_command(home: Home) -> None:
    async with engine_over(home, environ={"OPENROUTER_API_KEY": ""}) as (engine, provider):
        job = await done(engine)
        assert isinstance(engine.failure(job.id), KeyRejected)
        assert job.error is not None
        assert "workers-tui key set openrouter" in job.error
        assert "OPENROUTER_API_KEY" in job.error
        assert provider.bodies == []
        assert engine.providers.paused("openrouter") is None


@pytest.mark.parametrize(
    ("status", "kind", "hint"),
    [(401, KeyRejected, "key set openrouter"), (402, PaymentRequired, "402")],
)
async def test_a_bad_key_or_an_empty_purse_pauses_the_provider_until_resumed(
    home: Home, status: int, kind: type, hint: str
) -> None:
    async with engine_over(home, error(status), ok()) as (engine, provider):
        job = await done(engine)
        assert isinstance(engine.failure(job.id), kind)
        assert job.error is not None
        assert hint in job.error
        assert engine.board.get(Key(Topic.PROVIDER, "openrouter")).paused is not None
        told = [event for event in engine.events.since(0) if "is paused" in event.text]
        assert len(told) == 1
        assert (await done(engine)).state is JobState.FAILED
        assert len(provider.bodies) == 1
        engine.resume()
        assert (await done(engine)).state is JobState.DONE


async def test_a_defect_ends_the_job_and_not_the_engine(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with engine_over(home) as (engine, _):
        with monkeypatch.context() as patch:
            patch.setattr("workers_tui.engine.calls.prompt.RULES", None)
            job = await done(engine)
        assert job.state is JobState.FAILED
        assert job.error is not None
        assert "a defect in workers-tui" in job.error
        assert (await done(engine)).state is JobState.DONE


# again


async def test_a_hint_is_waited_for_with_a_countdown(home: Home) -> None:
    clock = FastClock()
    async with engine_over(home, error(429, retry_after="30"), ok(), clock=clock) as (engine, _):
        watched: list[Job] = []
        job = await engine.delegate(ASK, origin())
        waiting = await until(
            engine, job, lambda one: one.waiting_for is WaitingFor.RETRY or one.state.ended
        )
        watched.append(waiting)
        ended = await engine.ended(job.id)
        assert (ended.state, ended.attempts) == (JobState.DONE, 2)
        assert waiting.retry_at is not None
        assert timedelta(seconds=25) < waiting.retry_at - datetime.now(UTC) < timedelta(seconds=31)
        assert 30.0 in clock.slept
        assert ended.retry_at is None


async def test_too_long_a_hint_fails_at_once(home: Home) -> None:
    async with engine_over(home, error(429, retry_after="90000")) as (engine, provider):
        job = await done(engine)
        assert job.state is JobState.FAILED
        assert len(provider.bodies) == 1


async def test_a_provider_that_stays_down_is_asked_four_times(home: Home) -> None:
    async with engine_over(home, httpx.ConnectError("refused"), clock=FastClock()) as (engine, up):
        job = await done(engine)
        assert job.state is JobState.FAILED
        assert job.error is not None
        assert "cannot be reached" in job.error
        assert (len(up.bodies), job.attempts) == (4, 4)
        assert await spent(engine) == (0, 0)
        assert not home.usage_jsonl.exists() or await written(engine) == []


async def test_every_attempt_that_may_be_billed_is_booked_to_the_job(home: Home) -> None:
    lost = httpx.ReadError("reset")
    async with engine_over(home, lost, lost, ok(), clock=FastClock()) as (engine, _):
        job = await done(engine)
        assert job.state is JobState.DONE
        booked = await written(engine)
        assert [line["job"] for line in booked] == [job.id] * 3
        assert [line["cost_source"] for line in booked] == ["estimated", "estimated", "reported"]
        assert len({line["call"] for line in booked}) == 3
        total, held = await spent(engine)
        assert held == 0
        assert job.cost is not None
        assert job.cost.pico == total
        assert job.cost.source is CostSource.ESTIMATED


# cancelled


async def cancelled(engine: Engine, job: Job) -> Job:
    await engine.cancel(job.id, by="the test")
    async with asyncio.timeout(2):
        return await engine.ended(job.id)


async def test_a_cancel_while_text_comes_closes_the_stream_and_books_an_estimate(
    home: Home,
) -> None:
    gate = Gate()
    async with engine_over(home, stream(sse(chunk("part")), gate)) as (engine, _):
        job = await engine.delegate(ASK, origin())
        await gate.reached.wait()
        ended = await cancelled(engine, job)
        assert ended.state is JobState.CANCELLED
        assert ended.error == "cancelled by the test"
        assert gate.closed.is_set()
        assert await engine.text(job.id) == "part"
        assert ended.cost is not None
        assert ended.cost.source is CostSource.ESTIMATED
        assert (await spent(engine))[1] == 0
        assert (await written(engine))[0]["status"] == "cancelled"
        with pytest.raises(WrongUse, match="has ended already"):
            await engine.cancel(job.id)


async def test_a_cancel_in_the_queue(home: Home) -> None:
    async with engine_over(home) as (engine, provider):
        engine.pause()
        job = await engine.delegate(ASK, origin())
        ended = await cancelled(engine, job)
        assert (ended.state, ended.cost) == (JobState.CANCELLED, None)
        engine.resume()
        assert (await done(engine)).state is JobState.DONE
        assert len(provider.bodies) == 1


async def test_a_cancel_before_the_task_has_begun(home: Home) -> None:
    async with engine_over(home) as (engine, _):
        job = await engine.delegate(ASK, origin())
        engine.calls.cancel(job.id, "the test")  # nothing has run in between
        assert (await engine.ended(job.id)).state is JobState.CANCELLED


async def test_a_cancel_while_it_waits_for_a_retry(home: Home) -> None:
    async with engine_over(home, error(429, retry_after="200")) as (engine, provider):
        job = await engine.delegate(ASK, origin())
        await until(engine, job, lambda one: one.waiting_for is WaitingFor.RETRY)
        assert (await cancelled(engine, job)).state is JobState.CANCELLED
        assert len(provider.bodies) == 1
        assert engine.queue.working == 0


async def test_a_cancel_while_it_waits_for_the_cap(home: Home) -> None:
    gate = Gate()
    settings = {"daily_budget_usd": 0.0016, "prices": {MODEL: {"input": 0, "output": 0.2}}}
    async with engine_over(home, stream(gate), settings=settings) as (engine, _):
        first = await engine.delegate(ASK, origin())
        await gate.reached.wait()
        second = await engine.delegate(ASK, origin())
        await until(engine, second, lambda one: one.waiting_for is WaitingFor.CAP)
        assert (await cancelled(engine, second)).state is JobState.CANCELLED
        await cancelled(engine, first)
        assert (await spent(engine))[1] == 0


async def test_closing_cancels_what_runs_and_settles_it(home: Home) -> None:
    gate = Gate()
    async with engine_over(home, stream(sse(chunk("part")), gate)) as (engine, _):
        job = await engine.delegate(ASK, origin())
        await gate.reached.wait()
    async with engine_over(home) as (engine, _):
        ended = await engine.job(job.id)
        assert ended.state is JobState.CANCELLED
        assert ended.cost is not None
        assert (await spent(engine))[1] == 0


async def begun_and_left(engine: Engine, turns: int) -> asyncio.Task[list[Job]]:
    """A batch that is being put down, some turns of the loop ago."""
    asking = asyncio.create_task(engine.delegate_batch([ASK, ASK], origin()))
    for _ in range(turns):
        await asyncio.sleep(0)
    return asking


async def test_a_caller_that_leaves_at_any_moment_leaves_no_job_that_nobody_runs(
    home: Home,
) -> None:
    async with engine_over(home) as (engine, _):
        for turns in range(1, 30):
            asking = await begun_and_left(engine, turns)
            asking.cancel()
            await asyncio.gather(asking, return_exceptions=True)
        async with asyncio.timeout(20):
            await engine.drain("the test ends")
        states = [job.state for job in await engine.list_jobs()]
        assert states == [JobState.DONE] * 58


@pytest.mark.parametrize("turns", range(1, 20, 3))
async def test_a_call_that_is_put_down_while_the_engine_closes_is_cancelled_like_the_others(
    home: Home, turns: int
) -> None:
    async with engine_over(home) as (engine, _):
        asking = await begun_and_left(engine, turns)
    assert len(await asking) == 2
    async with engine_over(home) as (engine, _):
        states = {job.state for job in await engine.list_jobs()}
    assert states <= {JobState.CANCELLED, JobState.DONE}
    assert states


async def test_draining_lets_what_runs_end(home: Home) -> None:
    gate = Gate()
    async with engine_over(home, stream(gate, answered())) as (engine, _):
        job = await engine.delegate(ASK, origin())
        await gate.reached.wait()
        drained = asyncio.create_task(engine.drain("the end"))
        gate.open.set()
        await drained
        assert (await engine.job(job.id)).state is JobState.DONE


# files, secrets, write_to


async def test_a_missing_file_is_wrong_use_and_a_binary_one_too(home: Home, tmp_path: Path) -> None:
    (tmp_path / "b.bin").write_bytes(b"\0\1\2" * 100)
    async with engine_over(home) as (engine, provider):
        for name in ("none.txt", "b.bin"):
            job = await done(engine, CallRequest("x", files=(name,)), tmp_path)
            assert job.state is JobState.FAILED
            assert isinstance(engine.failure(job.id), WrongUse)
            assert job.error is not None
            assert name in job.error
        assert provider.bodies == []


async def test_a_file_outside_the_roots_is_refused(home: Home, tmp_path: Path) -> None:
    root = tmp_path / "share"
    root.mkdir()
    (tmp_path / "share-secret").write_text("x")
    async with engine_over(home) as (engine, _):
        job = await done(engine, CallRequest("x", files=(str(tmp_path / "share-secret"),)), root)
        assert job.state is JobState.REFUSED


KEY = "ghp_" + "aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xY3zA5"


async def test_secrets_without_a_dashboard_are_refused_and_not_sent(
    home: Home, tmp_path: Path
) -> None:
    (tmp_path / "c.py").write_text(f"a\nb\ntoken = '{KEY}'\n")
    async with engine_over(home) as (engine, provider):
        job = await done(engine, CallRequest("x", files=("c.py:2-3",)), tmp_path)
        assert job.state is JobState.REFUSED
        assert isinstance(engine.failure(job.id), SecretsRefused)
        assert job.error is not None
        assert "c.py:3" in job.error
        assert KEY not in job.error
        assert (provider.bodies, job.sent) == ([], ())


@pytest.mark.parametrize("accept", [True, False])
async def test_the_user_decides_about_secrets(home: Home, accept: bool) -> None:
    settings = {"concurrency": 1}
    async with engine_over(home, settings=settings, approvals=True) as (engine, provider):
        job = await engine.delegate(CallRequest(f"use {KEY}"), origin())
        waiting = await until(engine, job, lambda one: one.question is not None)
        assert waiting.question is not None
        assert waiting.question.cost_pico
        assert waiting.question.bytes_out > 100
        assert not any(KEY in detail for detail in waiting.question.details)
        # it does not hold the only place meanwhile
        assert (await done(engine)).state is JobState.DONE
        (engine.approve if accept else engine.reject)(job.id)
        ended = await engine.ended(job.id)
        assert ended.state is (JobState.DONE if accept else JobState.REFUSED)
        assert len(provider.bodies) == (2 if accept else 1)
        with pytest.raises(WrongUse, match="asks nothing"):
            engine.approve(job.id)


@pytest.mark.parametrize("accept", [True, False])
async def test_an_answered_question_is_gone_though_no_place_is_free(
    home: Home, accept: bool
) -> None:
    settings = {"concurrency": 1}
    gate = Gate()
    replies = [stream(gate, answered()), ok()]
    async with engine_over(home, *replies, settings=settings, approvals=True) as (engine, _):
        asking = await engine.delegate(CallRequest(f"use {KEY}"), origin())
        await until(engine, asking, lambda one: one.question is not None)
        busy = await engine.delegate(CallRequest("takes the only place"), origin())
        await gate.reached.wait()
        (engine.approve if accept else engine.reject)(asking.id)
        state = JobState.QUEUED if accept else JobState.REFUSED
        after = await asyncio.wait_for(until(engine, asking, lambda one: one.state is state), 2)
        assert (after.question, after.waiting_for) == (None, None)
        gate.open.set()
        ended = [(await engine.ended(job.id)).state for job in (busy, asking)]
        assert ended == [JobState.DONE, JobState.DONE if accept else JobState.REFUSED]


async def test_a_question_names_its_cost_without_a_cap_too(home: Home) -> None:
    settings = {"daily_budget_usd": None}
    async with engine_over(home, settings=settings, approvals=True) as (engine, _):
        job = await engine.delegate(CallRequest(f"use {KEY}"), origin())
        waiting = await until(engine, job, lambda one: one.question is not None)
        assert waiting.question is not None
        assert waiting.question.cost_pico


async def test_a_question_nobody_answers_is_refused_after_ten_minutes(home: Home) -> None:
    class Impatient(FastClock):
        async def sleep(self, seconds: float) -> None:
            self.slept.append(seconds)
            await asyncio.sleep(0 if seconds == 600 else seconds)

    async with engine_over(home, clock=Impatient(), approvals=True) as (engine, _):
        job = await done(engine, CallRequest(f"use {KEY}"))
        assert job.state is JobState.REFUSED
        assert job.error is not None
        assert "within 10 minutes" in job.error


async def test_a_whole_answer_replaces_the_file_and_the_old_one_is_kept(
    home: Home, tmp_path: Path
) -> None:
    (tmp_path / "out.py").write_text("old\n")
    async with engine_over(home, ok("```python\nnew\n```\n")) as (engine, _):
        job = await done(engine, CallRequest("x", write_to="out.py"), tmp_path)
        assert job.state is JobState.DONE, job.error
        assert (tmp_path / "out.py").read_text() == "new\n"
        assert job.written == str(tmp_path / "out.py")
    kept = [path.read_text() for path in home.results.iterdir() if "old" in path.name]
    assert kept == ["old\n"]


@pytest.mark.parametrize(
    "reply",
    [
        stream(sse(chunk("half", finish="length"))),
        stream(sse(chunk("half"))),
        stream(sse(chunk("", finish="stop"))),
    ],
)
async def test_an_answer_that_is_not_whole_never_touches_the_file(
    home: Home, tmp_path: Path, reply: httpx.Response
) -> None:
    (tmp_path / "out.py").write_text("old\n")
    async with engine_over(home, reply) as (engine, _):
        job = await done(engine, CallRequest("x", write_to="out.py"), tmp_path)
        assert job.state is JobState.FAILED
        assert (tmp_path / "out.py").read_text() == "old\n"


async def test_a_forbidden_target_is_refused_before_anything_is_paid(
    home: Home, tmp_path: Path
) -> None:
    async with engine_over(home) as (engine, provider):
        job = await done(engine, CallRequest("x", write_to=".git/hooks/x"), tmp_path)
        assert job.state is JobState.REFUSED
        assert provider.bodies == []


async def test_what_left_stands_on_the_job(home: Home, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("1\n2\n3\n4\n")
    async with engine_over(home) as (engine, _):
        job = await done(engine, CallRequest("x", files=("a.txt:2-3",)), tmp_path)
        (sent,) = job.sent
        assert (sent.path, sent.start, sent.end, sent.bytes) == ("a.txt", 2, 3, 4)
        assert job.bytes_out > 4


# many


async def test_one_sessions_batch_does_not_starve_anothers_call(home: Home) -> None:
    order: list[str] = []

    async def reply(request: httpx.Request) -> httpx.Response:
        order.append(json.loads(request.content)["messages"][-1]["content"])
        return stream(answered())

    async with engine_over(home, reply, settings={"concurrency": 1}) as (engine, _):
        engine.pause()
        await engine.delegate_batch(
            [CallRequest(f"batch {number}") for number in range(20)], origin(session="a")
        )
        single = await engine.delegate(CallRequest("single"), origin(session="b"))
        await asyncio.sleep(0)
        engine.resume()
        await engine.ended(single.id)
        assert order.index("single") <= 2


async def test_a_new_concurrency_counts_at_once(home: Home) -> None:
    gates = [Gate() for _ in range(3)]
    replies = [stream(gate) for gate in gates]
    async with engine_over(home, *replies, settings={"concurrency": 1}) as (engine, provider):
        await engine.delegate_batch([ASK] * 3, origin())
        await gates[0].reached.wait()
        assert engine.queue.working == 1

        def more(raw: dict[str, Any]) -> None:
            raw["concurrency"] = 3

        await engine.config.edit(more)
        await gates[2].reached.wait()
        assert (engine.queue.working, len(provider.bodies)) == (3, 3)


async def test_an_edited_tier_is_used_by_the_next_call(home: Home) -> None:
    async with engine_over(home) as (engine, provider):
        await done(engine)
        await engine.config.set_tier("fast", model="other/model")
        raw = json.loads(home.models_json.read_text())
        raw["prices"]["other/model"] = {"input": 1, "output": 1}
        home.models_json.write_text(json.dumps(raw))  # by hand, without a watcher
        await done(engine)
        assert [body["model"] for body in provider.bodies] == [MODEL, "other/model"]


async def test_a_rerun_asks_the_same_again_on_another_tier(home: Home, tmp_path: Path) -> None:
    tiers = {"fast": {"model": MODEL}, "code": {"model": MODEL}}
    (tmp_path / "a.txt").write_text("x\n")
    async with engine_over(home, settings={"tiers": tiers}) as (engine, provider):
        first = await done(engine, CallRequest("x", "fast", ("a.txt",)), tmp_path)
        again = await engine.rerun(first.id, tier="code")
        ended = await engine.ended(again.id)
        assert (ended.state, ended.tier, ended.parent) == (JobState.DONE, "code", first.id)
        assert provider.bodies[0]["messages"] == provider.bodies[1]["messages"]


async def test_text_can_be_read_while_it_comes(home: Home) -> None:
    gate = Gate()
    async with engine_over(home, stream(sse(chunk("first ")), gate, answered("rest"))) as (
        engine,
        _,
    ):
        job = await engine.delegate(ASK, origin())
        await gate.reached.wait()
        assert engine.peek(job.id) == "first "
        gate.open.set()
        await engine.ended(job.id)
        assert engine.peek(job.id) == "first rest"
        assert engine.board.get(Key(Topic.OUTPUT, job.id)) == len("first rest")
        assert await engine.text(job.id, 6, 2) == "re"


async def test_another_engine_can_cancel_a_job(home: Home) -> None:
    gate = Gate()
    async with engine_over(home, stream(sse(chunk("part")), gate)) as (owner, _):
        job = await owner.delegate(ASK, origin())
        await gate.reached.wait()
        async with engine_over(home) as (other, _):
            await other.cancel(job.id, by="the other")
            async with asyncio.timeout(5):
                seen = await other.ended(job.id)
        assert seen.state is JobState.CANCELLED
        assert (await owner.job(job.id)).error == "cancelled by the other"


# the disk


async def test_a_full_disk_ends_the_job_with_a_clear_line_and_books_what_was_used(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with engine_over(home, stream(sse(chunk("one")), answered("two"))) as (engine, _):

        def full(*_: object) -> None:
            raise OSError(28, "No space left on device")

        with monkeypatch.context() as patch:
            patch.setattr("workers_tui.engine.jobs.results._write_all", full)
            patch.setattr("os.fsync", full)
            job = await done(engine)
        assert job.state is JobState.FAILED
        assert job.error is not None
        assert "No space left on device" in job.error
        assert (await spent(engine)) == (from_usd("0.001"), 0)


async def test_without_room_for_the_answer_nothing_is_sent(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with engine_over(home) as (engine, provider):
        monkeypatch.setattr("workers_tui.engine.jobs.results.ROOM", 1 << 62)
        job = await done(engine)
        assert job.state is JobState.FAILED
        assert job.error is not None
        assert "No space left on device; free the disk" in job.error
        assert (provider.bodies, await spent(engine)) == ([], (0, 0))


async def test_a_store_that_takes_nothing_more_does_not_leave_the_asker_waiting(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Gate()

    async def locked(*_: object, **__: object) -> None:
        raise StoreUnusable("the store is locked by another program")

    with monkeypatch.context() as patch:  # until the engine has closed
        async with engine_over(home, stream(gate, answered())) as (engine, _):
            job = await engine.delegate(ASK, origin())
            await gate.reached.wait()
            patch.setattr(engine.store, "write", locked)
            gate.open.set()
            async with asyncio.timeout(5):
                ended = await engine.ended(job.id)
        assert (ended.state, ended.error) == (
            JobState.FAILED,
            "the store is locked by another program",
        )
        assert any("locked" in event.text for event in engine.events.since(0))
    async with engine_over(home) as (engine, _):  # what was held is booked by the next engine
        total, held = await spent(engine)
        assert total > 0
        assert held == 0
        assert (await engine.job(job.id)).state is JobState.LOST


async def test_a_cancel_at_any_moment_leaves_nothing_held_and_no_place_taken(
    home: Home, tmp_path: Path
) -> None:
    (tmp_path / "a.txt").write_text("x\n")
    request = CallRequest("Summarize", files=("a.txt",))
    states = set()
    async with engine_over(home, settings={"concurrency": 1}) as (engine, _):
        for steps in range(0, 90, 2):
            job = await engine.delegate(request, origin(tmp_path))
            for _ in range(steps):
                await asyncio.sleep(0.0002)
            engine.calls.cancel(job.id, "the test")
            async with asyncio.timeout(5):
                ended = await engine.ended(job.id)
            states.add(ended.state)
            booked = [line for line in await written(engine) if line["job"] == job.id]
            assert (await spent(engine))[1] == 0
            assert len(booked) <= 1
            assert (ended.cost is None) == (not booked)
            assert engine.queue.working == 0
        assert JobState.CANCELLED in states
        assert states <= {JobState.CANCELLED, JobState.DONE}
        total = sum(line["cost"] or 0 for line in await written(engine))
        assert (await spent(engine))[0] == from_usd(f"{total:.12f}")


# auto


async def test_auto_leaves_out_what_cannot_work(home: Home) -> None:
    settings = {
        "tiers": {
            "keyless": {"model": MODEL, "use": "summaries", "provider": "far"},
            "lost": {"model": MODEL, "use": "summaries", "provider": "nobody"},
            "fast": {"model": MODEL},
        },
        "providers": {"far": {"base_url": "https://far.test/v1", "api_key_env": "FAR_KEY"}},
    }
    async with engine_over(home, settings=settings) as (engine, _):
        assert (await done(engine)).tier == "fast"
        engine.providers.pause("openrouter", "no credit")
        paused = await done(engine)
        assert paused.state is JobState.FAILED  # nothing is left: the reason is told


async def test_auto_cuts_files_for_the_tiers_that_can_work(home: Home, tmp_path: Path) -> None:
    (tmp_path / "big.log").write_text("a line\n" * 1000)
    far = {"model": MODEL, "provider": "nobody", "max_file_bytes": 100_000}
    settings = {"tiers": {"far": far, "fast": {"model": MODEL, "max_file_bytes": 700}}}
    async with engine_over(home, settings=settings) as (engine, _):
        job = await done(engine, CallRequest("x", files=("big.log",)), tmp_path)
        assert (job.tier, job.sent[0].bytes) == ("fast", 700)


async def test_auto_knows_prices_at_the_first_call(home: Home) -> None:
    def price(usd: str) -> dict[str, str]:
        return {"prompt": usd, "completion": usd}

    listed = [
        {"id": "dear/m", "pricing": price("0.00001")},
        {"id": "cheap/m", "pricing": price("0.000001")},
    ]
    settings = {"tiers": {"dear": {"model": "dear/m"}, "cheap": {"model": "cheap/m"}}, "prices": {}}
    gets = {"models": {"data": listed}}
    async with engine_over(home, settings=settings, gets=gets) as (engine, _):
        assert (await done(engine)).tier == "cheap"


# what a call writes


async def test_a_call_waits_for_two_flushed_commits_only(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.txt").write_text("one\n")
    async with engine_over(home) as (engine, _):
        await done(engine)  # what is done once for all is done
        durable: list[bool] = []
        write = engine.store.write

        async def counted(work: Any, **how: Any) -> Any:
            durable.append(how.get("durable", True))
            return await write(work, **how)

        monkeypatch.setattr(engine.store, "write", counted)
        await done(engine, CallRequest("Summarize", files=("a.txt",)), tmp_path)
        assert durable.count(True) == 2, "the hold with the start, the bill with the end"


async def test_a_call_is_in_a_hurry_but_not_while_it_waits_for_its_provider(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module, name in ((calls, "BEGINNING"), (attempt, "ENDING")):
        monkeypatch.setattr(module, name, 60.0)
    text, end = Gate(), Gate()
    steps = (sse(chunk("part")), text, sse(chunk(finish="stop")), end, sse("[DONE]"))
    async with engine_over(home, stream(*steps)) as (engine, _):
        job = await engine.delegate(ASK, origin())
        assert engine.board.hurried
        await text.reached.wait()
        assert not engine.board.hurried
        text.open.set()
        await end.reached.wait()
        assert engine.board.hurried
        end.open.set()
        assert (await engine.ended(job.id)).state is JobState.DONE
