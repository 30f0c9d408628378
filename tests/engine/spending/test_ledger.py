"""The ledger: exact sums, corrections, and a file that always says the same."""

from __future__ import annotations

import asyncio
import fcntl
import json
import threading
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from tests.engine.money_kit import NOON, HeldClock, Money, ask, entry, open_money

from workers_tui.engine.errors import WrongUse
from workers_tui.engine.money import Cost, CostSource, from_usd, to_usd
from workers_tui.engine.spending import day_sums, ledger_rows, usage_log
from workers_tui.engine.spending.ledger import add_costs
from workers_tui.engine.usage import Usage
from workers_tui.home.places import Home


@pytest.fixture
async def money(home: Home) -> AsyncIterator[Money]:
    async with open_money(home) as opened:
        yield opened


async def book(money: Money, cost: str | Cost | None = "0.1", **changes: Any) -> str:
    """Book one call; return its id."""
    hold = await money.budget.reserve(ask())
    await money.budget.settle(hold, entry(hold, cost, **changes))
    await money.ledger.written()
    return hold.call


async def spent(money: Money) -> Decimal:
    """The sum of `cost` over the file, as any reader would add it up."""
    lines = [json.loads(line, parse_float=Decimal) for line in await money.lines()]
    return sum((Decimal(line["cost"] or 0) for line in lines), Decimal(0))


RECONCILED = CostSource.RECONCILED


async def test_a_line_has_every_field_of_the_contract(money: Money) -> None:
    await book(money, "0.012", task="two\nlines  of " + "x" * 200, session="s1", project="/p")
    (line,) = map(json.loads, await money.lines())
    line.pop("seq")
    task = line.pop("task")
    assert (len(task), task[:13]) == (120, "two lines of ")
    assert line == {
        "ts": "2026-11-29T12:00:00.000Z", "call": line["call"], "job": "job01", "kind": "call",
        "tier": "fast", "model": "m/one", "in": 100, "out": 10, "cost": 0.012, "ms": 5,
        "provider": "openrouter", "cached": 0, "reasoning": 0, "cost_source": "reported",
        "status": "ok", "finish_reason": None, "project": "/p", "session": "s1",
        "day": "2026-11-29",
    }  # fmt: skip


async def test_a_correction_is_a_row_with_the_difference(money: Money) -> None:
    call = await book(money, Cost(from_usd("0.08"), CostSource.ESTIMATED), generation_id="gen-1")
    await money.ledger.correct(call, Cost(from_usd("0.03"), RECONCILED))
    line = json.loads((await money.lines())[-1])
    assert (line["call"], line["in"], line["out"]) == (call, 0, 0)
    assert (line["cost"], line["status"]) == (-0.05, "correction")
    assert line["cost_source"] == "reconciled"
    totals = (await money.ledger.totals())[""]
    assert (totals.calls, totals.cost_pico) == (1, from_usd("0.03"))
    assert (totals.reported_pico, totals.estimated_pico) == (from_usd("0.03"), 0)
    assert await spent(money) == Decimal("0.03")
    assert await money.ledger.pending() == []


async def test_a_pending_call_becomes_known(money: Money) -> None:
    call = await book(money, None, generation_id="gen-1")
    assert (await money.budget.refresh()).pending_calls == 1
    await money.ledger.correct(call, Cost(from_usd("0.03"), RECONCILED))
    spend = await money.budget.refresh()
    assert (spend.pending_calls, spend.spent_pico) == (0, from_usd("0.03"))


async def test_the_same_correction_twice_adds_nothing(money: Money) -> None:
    call = await book(money, None, generation_id="gen-1")
    for _ in range(3):
        await money.ledger.correct(call, Cost(from_usd("0.03"), RECONCILED))
    assert len(await money.lines()) == 2
    assert (await money.ledger.of_job("job01"))[1] == Cost(from_usd("0.03"), RECONCILED)


async def test_an_estimate_that_was_right_still_becomes_reconciled(money: Money) -> None:
    call = await book(money, Cost(from_usd("0.03"), CostSource.ESTIMATED), generation_id="gen-1")
    await money.ledger.correct(call, Cost(from_usd("0.03"), RECONCILED))
    totals = (await money.ledger.totals())[""]
    assert (totals.reported_pico, totals.estimated_pico) == (from_usd("0.03"), 0)


async def test_a_correction_counts_on_the_day_of_its_call(money: Money) -> None:
    call = await book(money, None, generation_id="gen-1")
    money.clock.move(timedelta(days=2))
    await money.ledger.correct(call, Cost(from_usd("0.03"), RECONCILED))
    assert (await money.budget.refresh()).spent_pico == 0
    day = (await money.ledger.totals(NOON.date()))[""]
    assert day.cost_pico == from_usd("0.03")
    assert json.loads((await money.lines())[-1])["ts"].startswith("2026-12-01")


async def test_a_correction_of_an_unknown_call_is_nothing(money: Money) -> None:
    await money.ledger.correct("nobody", Cost(1, RECONCILED))
    assert await money.lines() == []


async def test_sums_by_every_axis_are_the_sum(money: Money) -> None:
    for number in range(12):
        await book(
            money,
            f"0.00{number}",
            tier=("fast", "code", None)[number % 3],
            model=f"m/{number % 2}",
            project=None if number % 4 else "/p",
            session=f"s{number % 5}",
        )
    whole = (await money.ledger.totals())[""]
    assert whole.cost_pico == sum(from_usd(f"0.00{number}") for number in range(12))
    for by in ("model", "session", "provider", "kind"):
        parts = await money.ledger.totals(by=by)
        assert sum(part.cost_pico for part in parts.values()) == whole.cost_pico
    assert set(await money.ledger.totals(by="tier")) == {"fast", "code"}
    assert (await money.ledger.totals(by="project"))["/p"].calls == 3


async def test_amounts_below_a_float_s_grain_stay_exact(money: Money) -> None:
    money.rules.cap = None
    picos = [1, 999_999_999_999, 123_456_789_012_345 % 10**12, 7]
    for pico in picos:
        await book(money, Cost(pico, CostSource.REPORTED))
    assert (await money.ledger.totals())[""].cost_pico == sum(picos)
    assert await spent(money) == to_usd(sum(picos))


async def test_counts_no_column_can_hold_do_not_stop_the_booking(money: Money) -> None:
    await book(money, usage=Usage(10**30, -5))
    assert (await money.ledger.totals())[""].calls == 1


@pytest.mark.parametrize(
    ("first", "last", "calls"),
    [(-9, -1, 0), (-1, 0, 2), (0, 0, 2), (0, 1, 3), (1, 9, 1), (2, 1, 0)],
)
async def test_some_days_are_summed_from_the_first_to_the_last(
    money: Money, first: int, last: int, calls: int
) -> None:
    await book(money)
    await book(money)
    money.clock.move(timedelta(days=1))
    await book(money)
    days = [NOON.date() + timedelta(days=day) for day in (first, last)]
    found = await money.store.read(lambda conn: day_sums.days_totals(conn, *days))
    assert (found.calls, found.cost_pico) == (calls, calls * from_usd("0.1"))


async def test_a_lone_surrogate_in_a_task_is_booked(money: Money) -> None:
    await book(money, task="half a pair \ud83d here")
    assert len(await money.lines()) == 1


# the file


@pytest.mark.parametrize("cut", [1, 10, 200])
async def test_a_torn_tail_of_ours_is_written_anew(home: Home, cut: int) -> None:
    async with open_money(home) as money:
        await book(money)
        await book(money)
        whole = home.usage_jsonl.read_bytes()
    home.usage_jsonl.write_bytes(whole[:-cut])
    async with open_money(home):
        assert home.usage_jsonl.read_bytes() == whole


async def test_a_torn_line_of_another_program_stays_and_ours_follows(home: Home) -> None:
    async with open_money(home) as money:
        await book(money)
        with home.usage_jsonl.open("ab") as file:
            file.write(b'{"ts": "2026-11-29T12:00:00Z", "model": "x", "co')
        await book(money)
        assert len(await money.lines()) == 3
        health = await money.ledger.health()
        assert (health.rows, health.bad_rows) == (2, 1)


async def test_a_file_that_is_gone_is_written_from_the_store(home: Home) -> None:
    async with open_money(home) as money:
        for _ in range(3):
            await book(money)
        whole = home.usage_jsonl.read_bytes()
        home.usage_jsonl.unlink()
        await book(money)
        assert home.usage_jsonl.read_bytes().startswith(whole)
        assert len(await money.lines()) == 4


async def test_a_file_cut_to_an_earlier_line_is_completed(home: Home) -> None:
    async with open_money(home) as money:
        for _ in range(5):
            await book(money)
        whole = home.usage_jsonl.read_bytes()
    home.usage_jsonl.write_bytes(b"".join(whole.splitlines(keepends=True)[:2]))
    async with open_money(home):
        assert home.usage_jsonl.read_bytes() == whole


async def test_two_engines_write_one_file_in_order(home: Home) -> None:
    async with open_money(home) as one, open_money(home, engine="two") as two:
        one.rules.cap = two.rules.cap = None
        await asyncio.gather(*(book(money) for money in (one, two) for _ in range(25)))
        numbers = [json.loads(line)["seq"] for line in await one.lines()]
    assert numbers == list(range(1, 51))


async def test_a_file_that_cannot_be_written_does_not_stop_the_work(home: Home) -> None:
    async with open_money(home) as money:
        await book(money)
        home.usage_jsonl.unlink()
        home.usage_jsonl.mkdir()
        await book(money)
        health = await money.ledger.health()
        assert "not up to date" in health.error
        home.usage_jsonl.rmdir()
        await book(money)
        assert len(await money.lines()) == 3
        assert (await money.ledger.health()).error == ""


async def test_a_file_that_somebody_keeps_locked_does_not_hold_the_reply_up(
    money: Money, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workers_tui.engine.spending.ledger.PATIENCE", 0.01)
    await book(money)
    with money.home.usage_jsonl.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        await book(money)
        assert len(await money.lines()) == 1
        assert (await money.ledger.totals())[""].calls == 2
    await money.ledger.project()
    assert len(await money.lines()) == 2


async def test_lines_that_wait_leave_a_reader_of_the_store_to_others(
    money: Money, monkeypatch: pytest.MonkeyPatch
) -> None:
    await book(money)
    (row,) = await money.store.read(lambda conn: ledger_rows.after(conn, 0, 10))
    free = threading.Event()

    def slow(*_: object) -> int:
        free.wait()
        return row.number

    with monkeypatch.context() as held:
        held.setattr("workers_tui.engine.spending.usage_log.catch_up", slow)
        try:
            for _ in range(3):
                money.ledger.booked(row)
            async with asyncio.timeout(10):
                assert (await money.ledger.totals())[""].calls == 1
        finally:
            free.set()
        await money.ledger.written()


async def test_a_store_that_closes_meanwhile_does_not_undo_a_booking(home: Home) -> None:
    async with open_money(home) as money:
        await book(money)
        (row,) = await money.store.read(lambda conn: ledger_rows.after(conn, 0, 10))
        await money.store.close()
        money.ledger.booked(row)
        await money.ledger.written()


# older files, lost stores

OLDER = (
    b'{"ts":"2026-11-29T10:00:00Z","tier":"fast","model":"a/b","in":10,"out":5,"cost":0.25,"ms":9,'
    b'"task":"one"}\n'
    b'{"ts":"2026-11-29T11:00:00+01:00","tier":"fast","model":"a/b","in":10,"out":5,"cost":"0.1"}\n'
    b'{"tier":"fast","model":"a/b","in":10,"out":5,"cost":0.5}\n'
    b'{"ts":"2026-11-29T12:00:00Z","model":"a/b","in":1,"out":1,"cost":null}\n'
    b'{"ts":"2026-11-29T12:30:00Z","model":"a/b","in":1,"out":1,"cost":NaN}\n'
    b"[1,2]\n\n"
    b'{"ts":"2026-11-29T13:00:00Z","mod'
)


async def test_an_older_file_counts_and_its_bad_rows_are_told(home: Home) -> None:
    home.usage_jsonl.write_bytes(OLDER)
    async with open_money(home) as money:
        health = await money.ledger.health()
        assert (health.rows, health.bad_rows) == (3, 4)
        spend = money.spend
        assert (spend.cost_pico, spend.unknown_calls) == (from_usd("0.35"), 1)
        assert spend.spent_pico == from_usd("0.4")
        await book(money)
        assert len(await money.lines()) == 9
    async with open_money(home) as money:
        assert (await money.ledger.health()).rows == 4


async def test_importing_twice_takes_once(money: Money, tmp_path: Path) -> None:
    older = tmp_path / "older.jsonl"
    older.write_bytes(OLDER + b"\n" + OLDER.splitlines(keepends=True)[0])
    assert await money.ledger.import_file(older) == (4, 4)
    assert await money.ledger.import_file(older) == (0, 4)
    assert (await money.ledger.totals())[""].cost_pico == from_usd("0.6")
    assert len(await money.lines()) == 4


async def test_importing_again_after_the_store_was_lost_takes_nothing(
    home: Home, tmp_path: Path
) -> None:
    older = tmp_path / "older.jsonl"
    older.write_bytes(OLDER)
    async with open_money(home) as money:
        assert (await money.ledger.import_file(older))[0] == 3
    home.store_db.unlink()
    async with open_money(home) as money:
        assert (await money.ledger.health()).rows == 3
        assert (await money.ledger.import_file(older))[0] == 0


async def test_importing_what_is_not_there_says_so(money: Money, tmp_path: Path) -> None:
    with pytest.raises(WrongUse, match="no file"):
        await money.ledger.import_file(tmp_path / "none.jsonl")


async def test_a_lost_store_is_rebuilt_from_the_file(home: Home) -> None:
    async with open_money(home) as money:
        await book(money, "0.1", tier="code", session="s")
        call = await book(money, Cost(None, CostSource.PENDING), generation_id="gen-9")
        await book(money, Cost(from_usd("0.2"), CostSource.ESTIMATED), generation_id="gen-8")
        await money.ledger.correct(call, Cost(from_usd("0.03"), RECONCILED))
        await book(money, Cost(None, CostSource.UNKNOWN))
        before, file = money.spend, home.usage_jsonl.read_bytes()
        axes = [await money.ledger.totals(by=by) for by in ("tier", "session", "model")]
    home.store_db.write_bytes(b"zap" * 5000)
    async with open_money(home) as money:
        assert money.store.set_aside is not None
        assert money.spend == before
        assert axes == [await money.ledger.totals(by=by) for by in ("tier", "session", "model")]
        assert [one.generation_id for one in await money.ledger.pending()] == ["gen-8"]
        assert home.usage_jsonl.read_bytes() == file
        await book(money)
        assert [json.loads(line)["seq"] for line in await money.lines()] == [1, 2, 3, 4, 5, 6]


async def test_a_store_of_yesterday_takes_the_newer_rows_from_the_file(home: Home) -> None:
    async with open_money(home) as money:
        await book(money)
    old = home.store_db.read_bytes()
    async with open_money(home) as money:
        await book(money)
        await book(money)
    home.store_db.write_bytes(old)
    async with open_money(home) as money:
        assert money.spend.calls == 3
        await book(money)
        assert [json.loads(line)["seq"] for line in await money.lines()] == [1, 2, 3, 4]


async def test_bad_lines_are_counted_on_from_where_the_last_count_ended(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workers_tui.engine.spending.usage_check.WORTH_KEEPING", 1)
    async with open_money(home) as money:
        for expected in range(1, 4):
            await book(money)
            with home.usage_jsonl.open("ab") as file:
                file.write(b"rubbish\n")
            assert (await money.ledger.health()).bad_rows == expected


@pytest.mark.parametrize("start", ['{"seq":1,"ts":"x","cost":', '{"cost":'])
async def test_a_line_that_is_nested_too_deeply_is_a_bad_line(home: Home, start: str) -> None:
    async with open_money(home) as money:
        await book(money)
        with home.usage_jsonl.open("a") as file:
            file.write(f"{start}{'[' * 100_000}{']' * 100_000}}}\n")
        assert (await money.ledger.health()).bad_rows == 1
        await book(money)
        lines = home.usage_jsonl.read_text().splitlines()
        assert [json.loads(line)["seq"] for line in (lines[0], lines[-1])] == [1, 2]


def test_a_cost_is_as_certain_as_its_least_certain_part() -> None:
    known, guessed = Cost(5, CostSource.REPORTED), Cost(7, CostSource.ESTIMATED, 9)
    assert add_costs([known, guessed]) == Cost(12, CostSource.ESTIMATED, 9)
    assert add_costs([known, Cost(None, CostSource.PENDING)]) == Cost(5, CostSource.PENDING)
    assert add_costs([Cost(None, CostSource.UNKNOWN)]) == Cost(None, CostSource.UNKNOWN)
    assert add_costs([]) is None


async def test_an_entry_far_from_now_is_put_into_its_day(home: Home) -> None:
    async with open_money(home, clock=HeldClock(datetime(2020, 1, 1, tzinfo=UTC))) as money:
        await book(money, at=datetime(2020, 1, 1, 5, tzinfo=UTC))
        assert money.spend.by_hour_pico[5] == from_usd("0.1")


@pytest.mark.parametrize("at_the_end", [True, False])
async def test_lines_that_the_disk_did_not_take_are_written_later_without_another_bill(
    money: Money, home: Home, monkeypatch: pytest.MonkeyPatch, at_the_end: bool
) -> None:
    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(usage_log, "catch_up", full)
        await book(money)
        assert home.usage_jsonl.read_bytes() == b""
    if at_the_end:
        await money.ledger.close()
    else:
        money.ledger.write_late()
        await money.ledger.written()
    assert len(home.usage_jsonl.read_bytes().splitlines()) == 1
    assert (await money.ledger.health()).error == ""
