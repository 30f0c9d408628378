"""Prices as values, and who is asked for them in which order."""

from __future__ import annotations

import json
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.engine.call_kit import MODEL, FastClock, engine_over, error, origin

from workers_tui.engine.clock import SystemClock
from workers_tui.engine.engine import Engine
from workers_tui.engine.jobs.job import CallRequest
from workers_tui.engine.money import from_usd
from workers_tui.engine.pricing.model_lists import FRESH, ModelLists, read_models
from workers_tui.engine.pricing.price import FREE, Price, Rates
from workers_tui.engine.pricing.price_table import PriceTable
from workers_tui.engine.usage import Usage
from workers_tui.home.places import Home

M = 1_000_000


def usd(price: Price, **usage: int) -> Decimal:
    return Decimal(price.cost_pico(Usage(**usage))) / 10**12


CACHING = Price(
    Decimal(2), Decimal(10), cache_read=Decimal("0.2"), cache_write=Decimal(3),
    cache_write_1h=Decimal(4),
)  # fmt: skip
LONG = Price(Decimal(1), Decimal(2), steps=(Rates(Decimal(3), Decimal(5), above=1000),))


def test_parts_of_the_prompt_have_their_own_prices() -> None:
    assert usd(CACHING, input=M) == 2
    assert usd(CACHING, input=M, cached=M) == Decimal("0.2")
    assert usd(CACHING, input=M, cached=M // 2) == Decimal("1.1")
    assert usd(CACHING, input=M, cache_write=M) == 3
    assert usd(CACHING, input=M, cache_write_1h=M) == 4
    assert usd(CACHING, output=M, reasoning=M) == 10


def test_without_a_cache_price_cached_tokens_cost_what_others_do() -> None:
    assert usd(Price(Decimal(2), Decimal(1)), input=M, cached=M) == 2


def test_a_long_prompt_is_charged_whole_at_its_rate() -> None:
    assert usd(LONG, input=1000, output=0) == Decimal("0.001")
    assert usd(LONG, input=1001, output=1000) == Decimal("0.008003")


def test_a_request_may_have_a_price_of_its_own() -> None:
    assert usd(Price(Decimal(0), Decimal(0), request=Decimal("0.01"))) == Decimal("0.01")


prices = st.decimals(0, 100, places=4)
price_values = st.builds(
    Price,
    prices,
    prices,
    cache_read=st.none() | prices,
    cache_write=st.none() | prices,
    cache_write_1h=st.none() | prices,
    request=st.decimals(0, 1, places=3),
    steps=st.lists(
        st.builds(Rates, prices, prices, st.none() | prices, above=st.integers(1, 5000)), max_size=2
    ).map(lambda steps: tuple(sorted(steps, key=lambda rates: rates.above))),
)


@given(price_values, st.data())
def test_no_bill_within_the_bounds_is_above_the_bound(price: Price, data: st.DataObject) -> None:
    most_in, most_out = data.draw(st.integers(0, 10_000)), data.draw(st.integers(0, 10_000))
    tokens = data.draw(st.integers(0, most_in))
    cached = data.draw(st.integers(0, tokens))
    written = data.draw(st.integers(0, tokens - cached))
    usage = Usage(tokens, data.draw(st.integers(0, most_out)), cached, written)
    assert price.cost_pico(usage) <= price.bound_pico(most_in, most_out, Decimal(0))


def listed(**pricing: Any) -> Price | None:
    entry = {"id": "a/b", "context_length": 100, "pricing": pricing}
    (info,) = read_models([entry, {"no": "id"}, "odd"], "acme list")
    return info.price


def test_listed_prices_are_per_token_and_become_per_million() -> None:
    price = listed(prompt="0.0000001", completion="0.0000002", input_cache_read="1e-8")
    assert price == Price(
        Decimal("0.1"), Decimal("0.2"), Decimal("0.01"), source="acme list", context=100
    )


@pytest.mark.parametrize("prompt", ["-1", "NaN", "free", None, True])
def test_a_price_that_is_none_is_not_known(prompt: Any) -> None:
    assert listed(prompt=prompt, completion="0.1") is None


def test_surcharges_of_long_prompts_are_taken_from_the_list() -> None:
    price = listed(
        prompt="0.000001",
        completion="0.000002",
        overrides=[{"min_prompt_tokens": 500, "prompt": "0.000003"}],
    )
    assert price is not None
    assert price.rates_for(500).input == 1
    assert price.rates_for(501) == Rates(Decimal(3), Decimal(2), above=500)


def test_an_override_that_depends_on_something_else_counts_always() -> None:
    price = listed(prompt="0", completion="0", overrides=[{"utc": "22-6", "prompt": "0.000005"}])
    assert price is not None
    assert price.bound_pico(M, 0, Decimal(0)) == from_usd(5)


async def test_the_table_that_came_along_knows_steps() -> None:
    table = PriceTable()
    assert table.find("openrouter", "x", SystemClock().now()) is None
    await table.load()
    price = table.find("anthropic", "claude-sonnet-4-5", SystemClock().now())
    assert price is not None
    assert price.source == "genai-prices"
    assert price.cache_read is not None
    assert price.steps
    assert price.steps[0].input > price.input
    assert table.find("openrouter", "no/such-model", SystemClock().now()) is None
    assert table.find("no-such-provider", "m", SystemClock().now()) is None


LIST = {
    "data": [
        {"id": MODEL, "name": "Flash", "pricing": {"prompt": "0.000005", "completion": "0.000006"}},
        {"id": "a/free:free", "pricing": {"prompt": "0", "completion": "0"}},
    ]
}


async def found(engine: Engine, model: str = MODEL, provider: str = "openrouter") -> Price | None:
    return await engine.prices.ready(provider, model)


async def test_own_prices_win_then_the_providers_list_then_the_table(home: Home) -> None:
    async with engine_over(home, gets={"models": LIST}) as (engine, _):
        price = await found(engine)
        assert price is not None
        assert (price.source, price.input) == ("models.json", Decimal("0.1"))
    home.models_json.write_text(json.dumps({"tiers": {"x": {"model": MODEL}}}))
    async with engine_over(home, gets={"models": LIST}) as (engine, _):
        price = await found(engine)
        assert price is not None
        assert price.source.startswith("openrouter list 20")
        assert price.input == 5
        other = await found(engine, "qwen/qwen3-coder-next")
        assert other is not None
        assert other.source == "genai-prices"
        assert await found(engine, "no/such") is None


async def test_the_list_is_kept_on_disk_with_its_date(home: Home) -> None:
    async with engine_over(home, settings={"prices": {}}, gets={"models": LIST}) as (engine, one):
        await found(engine)
        await found(engine)
        assert len(one.requests) == 1
    async with engine_over(home, settings={"prices": {}}) as (engine, two):
        price = await found(engine)
        assert price is not None
        assert price.input == 5
        assert two.requests == []


async def test_a_list_that_cannot_be_kept_counts_all_the_same(home: Home) -> None:
    (home.state / "models").write_text("in the way of the directory")
    async with engine_over(home, settings={"prices": {}}, gets={"models": LIST}) as (engine, _):
        assert await found(engine) is not None


async def test_numbers_with_a_point_in_a_list_do_no_harm(home: Home) -> None:
    entry = {**LIST["data"][0], "default_parameters": {"temperature": 0.6}}
    gets = {"models": {"data": [entry, *LIST["data"][1:]]}}
    async with engine_over(home, settings={"prices": {}}, gets=gets) as (engine, _):
        assert await found(engine) is not None
    async with engine_over(home, settings={"prices": {}}) as (engine, provider):  # from the disk
        assert await found(engine) is not None
        assert provider.requests == []


async def test_a_list_of_another_address_is_another_list(home: Home) -> None:
    async with engine_over(home, settings={"prices": {}}, gets={"models": LIST}) as (engine, _):
        await found(engine)
    elsewhere = {"OPENROUTER_BASE_URL": "https://gateway.test/api/v1"}
    async with engine_over(home, settings={"prices": {}}, environ=elsewhere) as (engine, _):
        price = await found(engine)
        assert price is not None
        assert price.source == "genai-prices"


@pytest.mark.parametrize("away", [FRESH, -FRESH * 3], ids=["old", "of a wrong clock"])
async def test_an_old_list_is_asked_for_again_and_stays_when_nobody_answers(
    home: Home, away: timedelta
) -> None:
    class Tomorrow(SystemClock):
        def now(self) -> Any:
            return super().now() + away + timedelta(minutes=1)

    async with engine_over(home, settings={"prices": {}}, gets={"models": LIST}) as (engine, _):
        await found(engine)
    async with engine_over(home, settings={"prices": {}}, clock=Tomorrow()) as (engine, provider):
        price = await found(engine)
        assert price is not None
        assert price.input == 5
        assert len(provider.requests) == 1


async def test_a_torn_list_on_disk_is_asked_for_again(home: Home, tmp_path: Path) -> None:
    async with engine_over(home, settings={"prices": {}}, gets={"models": LIST}) as (engine, _):
        await found(engine)
    (kept,) = (home.state / "models").iterdir()
    kept.write_text(kept.read_text()[:40])

    async def fetch(_: str) -> list[Any]:
        return list(LIST["data"])

    lists = ModelLists(kept.parent, FastClock(), fetch)
    await lists.load("openrouter", "https://openrouter.ai/api/v1")
    assert lists.get("openrouter") is None


async def test_a_list_on_disk_that_names_no_zone_does_not_stop_a_call(home: Home) -> None:
    async with engine_over(home, settings={"prices": {}}, gets={"models": LIST}) as (engine, _):
        await found(engine)
    (kept,) = (home.state / "models").iterdir()
    raw = json.loads(kept.read_text())
    kept.write_text(json.dumps({**raw, "at": raw["at"][:19]}))
    async with engine_over(home, settings={"prices": {}}) as (engine, _):
        price = await found(engine)
    assert price is not None
    assert price.input == 5


async def test_this_machine_is_free_unless_priced(home: Home) -> None:
    providers = {"local": {"base_url": "http://127.0.0.1:1/v1"}}
    settings = {"providers": providers, "prices": {"dear": {"input": 1, "output": 1}}}
    async with engine_over(home, settings=settings) as (engine, _):
        free, dear = await found(engine, "llama", "local"), await found(engine, "dear", "local")
        assert free is not None
        assert dear is not None
        assert free is FREE
        assert dear.source == "models.json"
        # a name the table knows is still a model of this machine
        known = await found(engine, "gpt-4o", "local")
        assert known is not None
        assert known.source == "loopback"


async def test_a_gateway_on_this_machine_is_not_free(home: Home) -> None:
    here = {"OPENROUTER_BASE_URL": "http://127.0.0.1:1/api/v1"}
    async with engine_over(home, settings={"prices": {}}, environ=here) as (engine, _):
        price = await found(engine)
        assert price is not None
        assert price.source == "genai-prices"


async def test_endings_choose_endpoints_of_the_same_model(home: Home) -> None:
    async with engine_over(home, settings={"prices": {}}, gets={"models": LIST}) as (engine, _):
        floor, free = await found(engine, f"{MODEL}:floor"), await found(engine, f"{MODEL}:free")
        assert floor is not None
        assert free is not None
        assert [floor.input, free.input] == [Decimal(5), Decimal(0)]


async def test_a_name_that_is_not_listed_has_neighbours(home: Home) -> None:
    async with engine_over(home, settings={"prices": {}}, gets={"models": LIST}) as (engine, _):
        await found(engine)
        assert engine.prices.nearest("openrouter", "deepseek/deepseek-v4-flsh")[0] == MODEL
        assert engine.prices.nearest("openrouter", MODEL) == []


@pytest.mark.parametrize("mode", ["strict", "soft"])
async def test_a_call_that_cannot_be_for_its_models_name_tells_the_neighbours(
    home: Home, mode: str
) -> None:
    settings = {
        "prices": {},
        "tiers": {"fast": {"model": "deepseek/deepseek-v4-flsh"}},
        "budget_mode": mode,
    }
    refusal = error(400, {"error": {"message": "not a valid model ID"}})
    async with engine_over(home, refusal, settings=settings, gets={"models": LIST}) as (engine, _):
        job = await engine.ended((await engine.delegate(CallRequest("t"), origin())).id)
    assert job.error is not None
    assert "does not list deepseek/deepseek-v4-flsh; nearest: " in job.error
    assert MODEL in job.error


async def test_a_remote_provider_without_a_key_is_not_asked(home: Home) -> None:
    nobody = {"OPENROUTER_API_KEY": ""}
    async with engine_over(
        home, settings={"prices": {}}, environ=nobody, gets={"models": LIST}
    ) as (engine, provider):
        price = await found(engine)
        assert price is not None
        assert price.source == "genai-prices"
        assert provider.requests == []
