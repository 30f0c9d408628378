"""Open costs are asked for until the provider knows them; drift is shown, not hidden."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest
from tests.engine.money_kit import Money, ask, entry, job, open_money

from workers_tui.engine.errors import StoreUnusable, UpstreamFailed
from workers_tui.engine.jobs import job_rows
from workers_tui.engine.jobs.job import JobState
from workers_tui.engine.money import Cost, CostSource, from_usd
from workers_tui.engine.spending.reconcile import DELAYS, LABEL, Drift, KeyUsage, Reconciler
from workers_tui.home.places import Home


@pytest.fixture
async def money(home: Home) -> AsyncIterator[Money]:
    async with open_money(home) as opened:
        yield opened


class Provider:
    """Knows some bills; forgets how to answer when told to."""

    def __init__(self, **bills: str) -> None:
        self.bills = bills
        self.asked: list[tuple[str, str]] = []
        self.day: KeyUsage | None = None
        self.down = False

    async def cost(self, provider: str, generation: str) -> Cost | None:
        self.asked.append((provider, generation))
        if self.down:
            raise UpstreamFailed("openrouter answers 502")
        bill = self.bills.get(generation)
        return None if bill is None else Cost(from_usd(bill), CostSource.RECONCILED)

    async def key(self, provider: str) -> KeyUsage | None:
        if self.down:
            raise UpstreamFailed("openrouter answers 502")
        return self.day

    def reconciler(self, money: Money) -> Reconciler:
        return Reconciler(money.store, money.ledger, money.jobs, money.clock, self.cost, self.key)


async def book(money: Money, generation: str | None, cost: Cost, job_id: str = "job01") -> str:
    hold = await money.budget.reserve(ask(job=job_id))
    await money.budget.settle(hold, entry(hold, cost, generation_id=generation))
    return hold.call


PENDING = Cost(None, CostSource.PENDING)
GUESS = Cost(from_usd("0.08"), CostSource.ESTIMATED)


async def test_pending_and_estimated_costs_are_settled_by_generation_id(money: Money) -> None:
    await book(money, "gen-1", PENDING)
    await book(money, "gen-2", GUESS)
    await book(money, None, GUESS)
    provider = Provider(**{"gen-1": "0.01", "gen-2": "0.02"})
    drift = await provider.reconciler(money).settle_open()
    assert drift == Drift(asked=2, settled=2, changed_pico=from_usd("-0.05"), still_open=0)
    spend = await money.budget.refresh()
    assert (spend.pending_calls, spend.cost_pico) == (0, from_usd("0.11"))
    assert spend.reported_pico == from_usd("0.03")


async def test_what_the_provider_does_not_know_yet_stays_open(money: Money) -> None:
    await book(money, "gen-1", PENDING)
    await book(money, "gen-2", PENDING)
    provider = Provider(**{"gen-2": "0.02"})
    reconciler = provider.reconciler(money)
    assert (await reconciler.settle_open()).still_open == 1
    provider.bills["gen-1"] = "0"
    assert (await reconciler.settle_open()).settled == 1
    assert (await money.budget.refresh()).spent_pico == from_usd("0.02")


async def test_a_provider_that_is_down_changes_nothing(money: Money) -> None:
    await book(money, "gen-1", GUESS)
    provider = Provider()
    provider.down = True
    drift = await provider.reconciler(money).reconcile(["openrouter"])
    assert (drift.settled, drift.still_open) == (0, 1)
    assert "502" in drift.providers[0].error
    assert drift.providers[0].drift_pico is None


async def test_an_ended_job_shows_what_it_really_cost(money: Money) -> None:
    made = await money.jobs.create(job())
    await money.jobs.change(made.id, state=JobState.RUNNING)
    await book(money, "gen-1", GUESS, made.id)
    await money.jobs.change(made.id, state=JobState.CANCELLED, cost=GUESS)
    await Provider(**{"gen-1": "0.01"}).reconciler(money).settle_open()
    fixed = await money.jobs.get(made.id)
    assert fixed.cost == Cost(from_usd("0.01"), CostSource.RECONCILED)
    assert fixed.state is JobState.CANCELLED


async def test_a_bill_and_the_cost_of_its_job_are_booked_together_or_not_at_all(
    money: Money, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = await money.jobs.create(job())
    await money.jobs.change(made.id, state=JobState.RUNNING)
    await book(money, "gen-1", GUESS, made.id)
    await money.jobs.change(made.id, state=JobState.CANCELLED, cost=GUESS)
    reconciler = Provider(**{"gen-1": "0.01"}).reconciler(money)

    def full(*_: object) -> int:
        raise sqlite3.OperationalError("database or disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(job_rows, "update", full)
        with pytest.raises(StoreUnusable):
            await reconciler.settle_open()
    assert (await reconciler.settle_open()).settled == 1
    assert (await money.jobs.get(made.id)).cost == Cost(from_usd("0.01"), CostSource.RECONCILED)


async def test_the_background_outlives_a_store_that_fails_after_a_bill_was_settled(
    money: Money,
) -> None:
    provider = Provider(**{"gen-1": "0.01", "gen-2": "0.02"})
    reconciler = provider.reconciler(money)
    told: list[Drift] = []

    async def fails(drift: Drift) -> None:
        told.append(drift)
        raise StoreUnusable("the disk is full")

    reconciler.on_settled(fails)
    run = asyncio.ensure_future(reconciler.run())
    async with asyncio.timeout(30):
        for number in (1, 2):
            await book(money, f"gen-{number}", PENDING)
            while len(told) < number:
                assert not run.done()
                money.clock.move(timedelta(seconds=200))
                await money.budget.refresh()
    run.cancel()
    await asyncio.gather(run, return_exceptions=True)


async def test_the_utc_day_is_compared_with_the_key(money: Money) -> None:
    money.rules.timezone = "Pacific/Kiritimati"
    await book(money, "gen-1", GUESS)
    provider = Provider(**{"gen-1": "0.05"})
    provider.day = KeyUsage(from_usd("0.35"))
    money.clock.move(timedelta(hours=2))
    drift = await provider.reconciler(money).reconcile(["openrouter", "openrouter"])
    (one,) = drift.providers
    assert one.label == LABEL == "all users of this key, UTC day"
    assert (one.ours_pico, one.drift_pico) == (from_usd("0.05"), from_usd("0.30"))


async def test_the_background_asks_after_each_open_call_and_again_later(money: Money) -> None:
    provider = Provider()
    reconciler = provider.reconciler(money)
    told: asyncio.Queue[Drift] = asyncio.Queue()
    reconciler.on_settled(told.put)
    run = asyncio.ensure_future(reconciler.run())
    await book(money, "gen-1", PENDING)
    async with asyncio.timeout(30):
        while len(provider.asked) < 3:
            money.clock.move(timedelta(seconds=40))
            await money.budget.refresh()
        provider.bills["gen-1"] = "0.01"
        while told.empty():
            money.clock.move(timedelta(seconds=200))
            await money.budget.refresh()
    assert (await told.get()).settled == 1
    run.cancel()
    await asyncio.gather(run, return_exceptions=True)


async def test_the_background_does_not_ask_while_nothing_is_open(money: Money) -> None:
    provider = Provider()
    run = asyncio.ensure_future(provider.reconciler(money).run())
    for _ in range(20):
        money.clock.move(timedelta(minutes=10))
        await money.budget.refresh()
    assert provider.asked == []
    run.cancel()
    await asyncio.gather(run, return_exceptions=True)


async def test_a_bill_that_never_comes_is_asked_for_a_few_times_only(money: Money) -> None:
    provider = Provider()
    await book(money, "gen-1", PENDING)
    run = asyncio.ensure_future(provider.reconciler(money).run())
    for _ in range(200):
        money.clock.move(timedelta(minutes=5))
        await money.budget.refresh()
    assert len(provider.asked) == len(DELAYS)
    assert len(await money.ledger.pending()) == 1
    run.cancel()
    await asyncio.gather(run, return_exceptions=True)
