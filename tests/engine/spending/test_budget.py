"""The cap: what is let through, what waits, what is refused, and that no cent goes astray."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import AsyncIterator, Callable
from datetime import UTC, date, datetime, timedelta

import pytest
from tests.engine.money_kit import NOON, HeldClock, Money, Rules, ask, entry, job, open_money

from workers_tui.engine.errors import BudgetRefused, StoreUnusable, WrongUse
from workers_tui.engine.jobs import job_rows
from workers_tui.engine.jobs.job import JobState
from workers_tui.engine.money import Cost, CostSource, from_usd
from workers_tui.engine.spending import holds
from workers_tui.engine.spending.budget import Ask, Hold
from workers_tui.engine.spending.schema import STORE_MIGRATIONS
from workers_tui.engine.store.store import Store
from workers_tui.home.places import Home

CENT = from_usd("0.01")


@pytest.fixture
async def money(home: Home) -> AsyncIterator[Money]:
    async with open_money(home) as opened:
        yield opened


async def until(money: Money, true: Callable[[], bool]) -> None:
    """Follow the board until something is so."""
    watcher = money.board.watch()
    async with asyncio.timeout(30):
        while not true():
            await watcher.changed()
    watcher.close()


async def waiting(money: Money, request: Ask) -> asyncio.Task[Hold]:
    """A reservation that has said that it waits."""
    told = asyncio.Event()

    async def on_wait(_why: str) -> None:
        told.set()

    task = asyncio.ensure_future(money.budget.reserve(request, on_wait))
    async with asyncio.timeout(30):
        await told.wait()
    return task


async def test_a_hold_is_on_disk_before_reserve_returns(money: Money, home: Home) -> None:
    hold = await money.budget.reserve(ask("0.25"))
    other = await Store.open(home.store_db, STORE_MIGRATIONS)
    kept = await other.read(lambda conn: conn.execute("SELECT call, pico FROM holds").fetchall())
    await other.close()
    assert kept == [(hold.call, from_usd("0.25"))]


async def test_spent_held_and_free_are_three_numbers(money: Money) -> None:
    hold = await money.budget.reserve(ask("0.25"))
    await money.budget.settle(hold, entry(hold, "0.2"))
    await money.budget.reserve(ask("0.3"))
    spend = money.spend
    assert spend.spent_pico == from_usd("0.2")
    assert spend.held_pico == from_usd("0.3")
    assert spend.free_pico == from_usd("0.5")


async def test_fifty_calls_of_a_tenth_of_a_cent_fit_under_five_cents(money: Money) -> None:
    money.rules.cap = "0.05"
    for _ in range(50):
        hold = await money.budget.reserve(ask("0.001"))
        await money.budget.settle(hold, entry(hold, "0.001"))
    assert money.spend.free_pico == 0
    with pytest.raises(BudgetRefused):
        await money.budget.reserve(ask("0.000000000001"))


async def test_a_refusal_names_spent_held_estimate_cap_and_reset_in_one_line(money: Money) -> None:
    hold = await money.budget.reserve(ask("0.95"))
    await money.budget.settle(hold, entry(hold, "0.95"))
    await money.budget.reserve(ask("0.02"))
    with pytest.raises(BudgetRefused) as refused:
        await money.budget.reserve(ask("0.1"))
    text = str(refused.value)
    for part in ("$0.95", "$0.02", "$0.10", "$1.00", "2026-11-30 00:00 UTC"):
        assert part in text
    assert "\n" not in text


async def test_what_only_other_holds_keep_out_waits_until_they_settle(money: Money) -> None:
    first = await money.budget.reserve(ask("0.8"))
    second = await waiting(money, ask("0.5"))
    await money.budget.settle(first, entry(first, "0.3"))
    assert (await second).pico == from_usd("0.5")
    assert money.spend.held_pico == from_usd("0.5")


async def test_a_wait_ends_in_a_refusal_when_the_holds_cost_too_much(money: Money) -> None:
    first = await money.budget.reserve(ask("0.8"))
    second = await waiting(money, ask("0.5"))
    await money.budget.settle(first, entry(first, "0.8"))
    with pytest.raises(BudgetRefused):
        await second


async def test_released_holds_let_the_next_go(money: Money) -> None:
    first = await money.budget.reserve(ask("1"))
    second = await waiting(money, ask("1"))
    await money.budget.release(first)
    assert (await second).pico == from_usd("1")


async def test_holds_of_another_engine_are_waited_for(money: Money, home: Home) -> None:
    async with open_money(home, engine="two", clock=money.clock, rules=money.rules) as other:
        theirs = await other.budget.reserve(ask("0.9"))
        ours = await waiting(money, ask("0.9"))
        await other.budget.settle(theirs, entry(theirs, "0.05"))
        async with asyncio.timeout(30):
            assert (await ours).pico == from_usd("0.9")


async def test_raising_the_cap_lets_a_waiting_request_go(money: Money) -> None:
    await money.budget.reserve(ask("0.8"))
    second = await waiting(money, ask("0.5"))
    money.rules.cap = "2"
    await money.budget.refresh()
    assert (await second).pico == from_usd("0.5")


async def test_midnight_lets_a_waiting_request_go_on_the_new_day(money: Money) -> None:
    await money.budget.reserve(ask("0.8"))
    second = await waiting(money, ask("0.5"))
    money.clock.move(timedelta(hours=13))
    while not second.done():
        money.clock.move(timedelta(minutes=1))
        await money.budget.refresh()
    assert (await second).day == date(2026, 11, 30)


async def test_a_reservation_that_is_cancelled_leaves_no_hold(money: Money) -> None:
    for turns in range(6):
        task = asyncio.ensure_future(money.budget.reserve(ask("0.5")))
        for _ in range(turns):
            await asyncio.sleep(0)
        task.cancel()
        (outcome,) = await asyncio.gather(task, return_exceptions=True)
        if isinstance(outcome, Hold):
            await money.budget.release(outcome)
    await money.store.write(lambda _conn: None)
    spend = await money.budget.refresh()
    assert (spend.held_pico, spend.holds) == (0, 0)


async def test_a_cancelled_wait_for_room_leaves_no_hold(money: Money) -> None:
    first = await money.budget.reserve(ask("0.8"))
    second = await waiting(money, ask("0.5"))
    second.cancel()
    await asyncio.gather(second, return_exceptions=True)
    await money.budget.release(first)
    assert (await money.budget.refresh()).holds == 0


async def test_lowering_the_cap_below_the_spend_refuses_new_calls_only(money: Money) -> None:
    paid = await money.budget.reserve(ask("0.4"))
    await money.budget.settle(paid, entry(paid, "0.4"))
    running = await money.budget.reserve(ask("0.4"))
    money.rules.cap = "0.2"
    with pytest.raises(BudgetRefused, match=r"spent \$0\.40.*cap \$0\.20"):
        await money.budget.reserve(ask("0.01"))
    await money.budget.settle(running, entry(running, "0.3"))
    assert money.spend.spent_pico == from_usd("0.7")
    assert money.spend.free_pico == 0


async def test_without_a_cap_nothing_is_held_and_nothing_is_refused(money: Money) -> None:
    money.rules.cap = None
    hold = await money.budget.reserve(ask("1000"))
    assert (hold.pico, money.spend.held_pico) == (0, 0)
    assert money.spend.cap_pico is None
    assert money.spend.free_pico is None
    await money.budget.settle(hold, entry(hold, "999"))
    assert money.spend.spent_pico == from_usd("999")


async def test_a_cap_of_nothing_still_lets_free_calls_through(money: Money) -> None:
    money.rules.cap = "0"
    hold = await money.budget.reserve(ask("0"))
    await money.budget.settle(hold, entry(hold, "0"))
    assert money.spend.calls == 1
    with pytest.raises(BudgetRefused):
        await money.budget.reserve(ask("0.01"))


async def test_a_confirmed_zero_is_not_unknown(money: Money) -> None:
    hold = await money.budget.reserve(ask("0.1"))
    await money.budget.settle(hold, entry(hold, "0"))
    spend = money.spend
    assert (spend.spent_pico, spend.unknown_calls, spend.pending_calls) == (0, 0, 0)
    assert json.loads((await money.lines())[0])["cost"] == 0


async def test_unknown_cost_counts_its_estimate_against_the_cap(money: Money) -> None:
    hold = await money.budget.reserve(ask("0.1"))
    await money.budget.settle(hold, entry(hold, Cost(None, CostSource.UNKNOWN)))
    spend = money.spend
    assert (spend.spent_pico, spend.cost_pico, spend.unknown_calls) == (from_usd("0.1"), 0, 1)
    assert json.loads((await money.lines())[0])["cost"] is None


async def test_unknown_cost_without_an_estimate_counts_the_unknown_charge(money: Money) -> None:
    hold = await money.budget.reserve(ask("0"))
    await money.budget.settle(hold, entry(hold, Cost(None, CostSource.UNKNOWN)))
    assert money.spend.spent_pico == from_usd("0.05")


@pytest.mark.parametrize("pico", [-1, 10**17, 10**30])
async def test_an_amount_that_cannot_be_is_unknown(money: Money, pico: int) -> None:
    hold = await money.budget.reserve(ask("0.1"))
    await money.budget.settle(hold, entry(hold, Cost(pico, CostSource.REPORTED)))
    assert (money.spend.spent_pico, money.spend.unknown_calls) == (from_usd("0.1"), 1)


async def test_a_hold_beyond_every_number_is_refused(money: Money) -> None:
    with pytest.raises(BudgetRefused):
        await money.budget.reserve(ask("1000000000000"))


async def test_three_billed_attempts_are_all_booked_to_the_one_job(money: Money) -> None:
    for cost in ("0.01", "0.02", "0.03"):
        hold = await money.budget.reserve(ask("0.1", job="job77"))
        await money.budget.settle(hold, entry(hold, cost))
    usage, cost_ = await money.ledger.of_job("job77")
    assert cost_ == Cost(from_usd("0.06"), CostSource.REPORTED)
    assert usage.input == 300
    assert len(await money.lines()) == 3


async def test_settling_twice_books_once(money: Money) -> None:
    hold = await money.budget.reserve(ask())
    await money.budget.settle(hold, entry(hold, "0.1"))
    await money.budget.settle(hold, entry(hold, "0.1"))
    assert (money.spend.calls, money.spend.spent_pico) == (1, from_usd("0.1"))


async def test_a_late_bill_replaces_the_estimate_that_was_booked_meanwhile(money: Money) -> None:
    hold = await money.budget.reserve(ask())
    await money.budget.settle(hold, entry(hold, Cost(CENT * 10, CostSource.ESTIMATED)))
    await money.budget.settle(hold, entry(hold, "0.03"))
    spend = money.spend
    assert (spend.calls, spend.spent_pico) == (1, from_usd("0.03"))
    assert (spend.reported_pico, spend.estimated_pico) == (from_usd("0.03"), 0)


async def test_a_call_belongs_to_the_day_of_its_hold(money: Money) -> None:
    hold = await money.budget.reserve(ask("0.5"))
    money.clock.move(timedelta(hours=13))
    await money.budget.settle(hold, entry(hold, "0.5", at=money.clock.now()))
    assert money.spend.day == date(2026, 11, 30)
    assert money.spend.spent_pico == 0
    yesterday = (await money.ledger.totals(date(2026, 11, 29)))[""]
    assert yesterday.cost_pico == from_usd("0.5")


async def test_a_clock_that_moves_back_a_day_does_not_open_the_cap_again(money: Money) -> None:
    hold = await money.budget.reserve(ask("0.9"))
    await money.budget.settle(hold, entry(hold, "0.9"))
    money.clock.move(timedelta(days=-1))
    with pytest.raises(BudgetRefused):
        await money.budget.reserve(ask("0.2"))
    assert (await money.budget.refresh()).day == date(2026, 11, 29)
    assert money.spend.resets_at == datetime(2026, 11, 30, tzinfo=UTC)


async def test_a_day_booked_far_ahead_is_not_believed_but_told(money: Money) -> None:
    money.clock.move(timedelta(days=365))
    hold = await money.budget.reserve(ask("0.9"))
    await money.budget.settle(hold, entry(hold, "0.9"))
    money.clock.move(timedelta(days=-365))
    spend = await money.budget.refresh()
    assert spend.day == date(2026, 11, 29)
    assert spend.spent_pico == 0
    assert "2027-11-29" in spend.warning


async def test_the_zone_in_the_store_counts_for_every_engine(home: Home) -> None:
    late = HeldClock(datetime(2026, 11, 29, 20, 0, tzinfo=UTC))
    async with (
        open_money(home, clock=late, rules=Rules(timezone="Asia/Tokyo")) as one,
        open_money(home, engine="two", clock=late, rules=Rules(timezone=None)) as two,
    ):
        assert one.spend.day == two.spend.day == date(2026, 11, 30)
        assert two.spend.timezone == "Asia/Tokyo"
        one.rules.timezone = "America/New_York"
        await one.budget.refresh()
        assert (await two.budget.refresh()).timezone == "America/New_York"


async def test_a_zone_that_is_none_leaves_the_stored_one(home: Home) -> None:
    async with open_money(home, rules=Rules(timezone="Europe/Berlin")):
        pass
    async with open_money(home, rules=Rules(timezone="Mars/Olympus")) as money:
        assert money.spend.timezone == "Europe/Berlin"


async def test_hours_and_rate_tell_when_the_cap_is_reached(money: Money) -> None:
    money.rules.cap = "10"
    for hours, cost in ((-1, "1"), (0, "0.5")):
        hold = await money.budget.reserve(ask("1"))
        await money.budget.settle(hold, entry(hold, cost, at=NOON + timedelta(hours=hours)))
    money.clock.move(timedelta(minutes=30))
    spend = await money.budget.refresh()
    assert spend.by_hour_pico[11] == from_usd("1")
    assert spend.by_hour_pico[12] == from_usd("0.5")
    assert spend.burn_pico_per_hour == from_usd("1")
    assert spend.reaches_cap_at == money.clock.now() + timedelta(hours=8.5)


async def test_bookings_of_another_engine_show_without_asking(money: Money, home: Home) -> None:
    async with open_money(home, engine="two", clock=money.clock, rules=money.rules) as other:
        hold = await other.budget.reserve(ask())
        await other.budget.settle(hold, entry(hold, "0.1"))
        await until(money, lambda: money.spend.spent_pico == from_usd("0.1"))


async def test_a_generation_id_noted_on_the_hold_is_booked_with_it(money: Money) -> None:
    hold = await money.budget.reserve(ask())
    await money.budget.note_generation(hold, "gen-1")
    await money.budget.settle(hold, entry(hold, Cost(CENT, CostSource.ESTIMATED)))
    assert [open_.generation_id for open_ in await money.ledger.pending()] == ["gen-1"]


async def test_a_store_that_cannot_be_written_books_nothing_and_says_so(
    money: Money, monkeypatch: pytest.MonkeyPatch
) -> None:
    hold = await money.budget.reserve(ask())
    with monkeypatch.context() as patch:
        patch.setattr(holds, "drop", full)
        with pytest.raises(StoreUnusable, match="disk is full"):
            await money.budget.settle(hold, entry(hold))
    spend = await money.budget.refresh()
    assert (spend.calls, spend.held_pico) == (0, from_usd("0.1"))


@pytest.mark.parametrize("billed", [True, False])
async def test_what_a_full_disk_did_not_take_is_booked_once_there_is_room(
    money: Money, monkeypatch: pytest.MonkeyPatch, billed: bool
) -> None:
    hold = await money.budget.reserve(ask())
    keeping = asyncio.create_task(money.budget.keep_fresh())

    async def full(*_: object, **__: object) -> None:
        raise StoreUnusable("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(money.store, "write", full)
        patch.setattr(money.store, "read", full)
        with pytest.raises(StoreUnusable):
            await (money.budget.settle(hold, entry(hold)) if billed else money.budget.release(hold))
        money.clock.move(timedelta(minutes=1))  # still full: it must not give up
        await asyncio.sleep(0)
    money.clock.move(timedelta(minutes=1))
    await until(money, lambda: money.spend.held_pico == 0)
    keeping.cancel()
    assert (money.spend.calls, money.spend.held_pico) == (int(billed), 0)


@pytest.mark.parametrize("billed", [True, False])
async def test_what_a_full_disk_did_not_take_is_offered_once_more_at_the_end(
    home: Home, monkeypatch: pytest.MonkeyPatch, billed: bool
) -> None:
    async with open_money(home) as money:
        hold = await money.budget.reserve(ask())
        with monkeypatch.context() as patch:
            patch.setattr(holds, "drop", full)
            with pytest.raises(StoreUnusable):
                await (
                    money.budget.settle(hold, entry(hold)) if billed else money.budget.release(hold)
                )
    async with open_money(home) as money:
        assert (money.spend.calls, money.spend.holds) == (int(billed), 0)


async def test_a_cancelled_reservation_that_a_full_disk_did_not_undo_is_undone_later(
    money: Money, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(holds, "drop", full)
        reserve = asyncio.ensure_future(money.budget.reserve(ask()))
        await asyncio.sleep(0)  # it is on its way to the disk
        reserve.cancel()
        await asyncio.gather(reserve, return_exceptions=True)
        await money.store.write(lambda _conn: None)
    assert (await money.budget.refresh()).holds == 1
    keeping = asyncio.create_task(money.budget.keep_fresh())
    await until(money, lambda: money.spend.holds == 0)
    keeping.cancel()


def full(*_: object) -> bool:
    error = sqlite3.OperationalError("database or disk is full")
    error.sqlite_errorname = "SQLITE_FULL"
    raise error


async def test_a_job_begins_and_ends_in_the_transactions_of_its_money(money: Money) -> None:
    made = await money.jobs.create(job())
    with money.jobs.joining(made.id, state=JobState.RUNNING) as begins:
        hold = await money.budget.reserve(ask("0.1", job=made.id), None, begins)
    assert (await money.jobs.get(made.id)).state is JobState.RUNNING
    with money.jobs.joining(made.id, state=JobState.DONE) as ends:
        await money.budget.settle(hold, entry(hold), ends)
    kept = await money.store.read(lambda conn: job_rows.get(conn, made.id))
    assert kept is not None
    assert kept.state is JobState.DONE
    assert (money.spend.held_pico, money.spend.spent_pico) == (0, from_usd("0.1"))


async def test_a_step_that_the_job_may_not_take_does_not_keep_the_bill_from_being_booked(
    money: Money,
) -> None:
    made = await money.jobs.create(job())
    hold = await money.budget.reserve(ask("0.1", job=made.id))
    with (
        pytest.raises(WrongUse, match="cannot become done"),
        money.jobs.joining(made.id, state=JobState.DONE) as ends,
    ):
        await money.budget.settle(hold, entry(hold), ends)
    assert (money.spend.held_pico, money.spend.spent_pico) == (0, from_usd("0.1"))
    assert (await money.jobs.get(made.id)).state is JobState.QUEUED


async def test_no_money_is_held_for_a_job_that_may_not_begin(money: Money) -> None:
    made = await money.jobs.create(job())
    await money.jobs.change(made.id, state=JobState.CANCELLED)
    with (
        pytest.raises(WrongUse, match="cannot change now"),
        money.jobs.joining(made.id, state=JobState.RUNNING) as begins,
    ):
        await money.budget.reserve(ask("0.1", job=made.id), None, begins)
    assert (await money.budget.refresh()).holds == 0
