"""What remains after a kill -9 at each step of a call."""

from __future__ import annotations

import asyncio
import errno
import os
import threading
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from tests.engine.aftermath import Promises, examine, run_victim
from tests.engine.money_kit import Rules, ask, job, open_money
from tests.engine.victim import STEPS

from workers_tui.engine.errors import StoreUnusable
from workers_tui.engine.jobs.job import JobState
from workers_tui.engine.money import Cost, CostSource, from_usd
from workers_tui.engine.recovery import Recovered, keep_recovering, recover
from workers_tui.engine.store.engine_lock import EngineLock, known_engines, off_the_loop, take_dead
from workers_tui.home.places import Home


@pytest.mark.parametrize("step", STEPS)
async def test_kill_9_at_a_step_loses_nothing(home: Home, step: str) -> None:
    promises = Promises()
    assert await run_victim(home, step, 7, 3, promises) == -9
    found = await examine(home, promises)
    assert found.lost == []
    assert found.held == 0


async def test_engines_that_start_together_take_an_older_file_in_once(home: Home) -> None:
    older = b'{"ts":"2026-11-29T10:00:00Z","model":"a/b","in":1,"out":1,"cost":0.001}\n'
    home.usage_jsonl.write_bytes(older * 2500)
    promises = Promises()
    codes = await asyncio.gather(*(run_victim(home, "none", n, 4, promises) for n in range(3)))
    assert codes == [0, 0, 0]
    async with open_money(home, rules=Rules(cap="50")) as money:
        health = await money.ledger.health()
        assert (health.rows, health.bad_rows) == (2512, 0)
        assert len(await money.lines()) == 2512
        totals = (await money.ledger.totals())[""]
    assert totals.cost_pico == 2500 * from_usd("0.001") + sum(promises.settled.values())


async def leave_behind(home: Home, engine: str) -> None:
    """A dead engine's job and hold."""
    async with open_money(home, engine=engine) as dead:
        made = await dead.jobs.create(job("half done", tier="fast", session="s1"))
        await dead.jobs.change(made.id, state=JobState.RUNNING)
        hold = await dead.budget.reserve(ask("0.2", job=made.id))
        await dead.budget.note_generation(hold, "gen-7")
        waiting = await dead.jobs.create(job("not begun"))
        assert waiting.state is JobState.QUEUED


async def test_jobs_of_a_dead_engine_are_lost_and_its_holds_estimates(home: Home) -> None:
    await leave_behind(home, "dead")
    async with open_money(home, engine="next") as money:
        found = await recover(home, money.store, money.jobs, money.budget, money.clock)
        assert found == Recovered(engines=1, jobs=2, holds=1, pico=from_usd("0.2"))
        queued, running = await money.jobs.find()
        assert (queued.state, queued.error) == (
            JobState.LOST, "the program that ran it ended before it began",
        )  # fmt: skip
        assert running.cost == Cost(from_usd("0.2"), CostSource.ESTIMATED)
        assert "what had arrived is kept" in (running.error or "")
        (booked,) = await money.ledger.pending()
        assert (booked.status, booked.tier, booked.session) == ("lost", "fast", "s1")
        assert booked.generation_id == "gen-7"
        assert (await money.budget.refresh()).held_pico == 0
        again = await recover(home, money.store, money.jobs, money.budget, money.clock)
        assert not again


async def test_a_living_engine_is_left_alone(home: Home) -> None:
    lock = EngineLock.take(home.engines)
    await leave_behind(home, lock.id)
    async with open_money(home, engine="next") as money:
        assert not await recover(home, money.store, money.jobs, money.budget, money.clock)
        assert money.spend.held_pico == from_usd("0.2")
        lock.release()
        assert await recover(home, money.store, money.jobs, money.budget, money.clock)


async def test_an_engine_that_dies_while_we_wait_for_its_hold_lets_us_go(home: Home) -> None:
    async with open_money(home, engine="dead") as dead:
        held = replace(ask("0.25"), estimate_pico=from_usd("0.2"))
        await dead.budget.reserve(held)
    async with open_money(home, engine="next", rules=Rules(cap="0.3")) as money:
        waits = asyncio.Event()

        async def on_wait(_why: str) -> None:
            waits.set()

        told: list[Recovered] = []
        reserve = asyncio.ensure_future(money.budget.reserve(ask("0.1"), on_wait))
        await asyncio.wait_for(waits.wait(), 30)
        looking = asyncio.ensure_future(
            keep_recovering(home, money.store, money.jobs, money.budget, money.clock, told.append)
        )
        async with asyncio.timeout(30):
            while not told:
                money.clock.move(timedelta(seconds=6))
                await money.budget.refresh()
            assert (await reserve).pico == from_usd("0.1")
        looking.cancel()
        await asyncio.gather(looking, return_exceptions=True)


async def test_a_home_that_takes_nothing_for_a_while_only_delays_the_cleaning_up(
    home: Home, caplog: pytest.LogCaptureFixture
) -> None:
    async with open_money(home, engine="next") as money:
        in_the_way = home.engines / "broken.lock"
        in_the_way.mkdir()  # no lock can be opened there
        await leave_behind(home, "dead")
        told: list[Recovered] = []
        looking = asyncio.ensure_future(
            keep_recovering(home, money.store, money.jobs, money.budget, money.clock, told.append)
        )
        async with asyncio.timeout(30):
            while "cannot look for dead engines" not in caplog.text:
                assert not looking.done()
                money.clock.move(timedelta(seconds=6))
                await money.budget.refresh()
        in_the_way.rmdir()
        async with asyncio.timeout(30):
            while not told:
                assert not looking.done()
                money.clock.move(timedelta(seconds=6))
                await money.budget.refresh()
        looking.cancel()
        await asyncio.gather(looking, return_exceptions=True)
    assert told[0].holds == 1


async def test_locks_of_dead_engines_are_cleared_away(home: Home) -> None:
    (home.engines / "stale.lock").touch()
    lock = EngineLock.take(home.engines)
    assert known_engines(home.engines) == {"stale", lock.id}
    assert take_dead(home.engines, lock.id) is None
    async with open_money(home, engine=lock.id) as money:
        await recover(home, money.store, money.jobs, money.budget, money.clock)
    assert known_engines(home.engines) == {lock.id}
    lock.release()
    assert known_engines(home.engines) == set()


async def test_a_lock_that_comes_when_its_asker_was_cancelled_is_let_go(home: Home) -> None:
    going, goes_on = threading.Event(), threading.Event()

    def slow() -> EngineLock:
        going.set()
        goes_on.wait(20)
        return EngineLock.take(home.engines)

    taking = asyncio.create_task(off_the_loop(slow))
    await asyncio.to_thread(going.wait, 20)
    taking.cancel()
    goes_on.set()
    (outcome,) = await asyncio.gather(taking, return_exceptions=True)
    assert isinstance(outcome, asyncio.CancelledError)
    assert known_engines(home.engines) == set()


async def test_a_lock_whose_file_cannot_be_removed_is_let_go_all_the_same(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = EngineLock.take(home.engines)
    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", fails)
        lock.release()
    dead = take_dead(home.engines, lock.id)
    assert dead is not None
    dead.release()


async def test_a_start_that_cannot_look_for_the_dead_says_where(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workers_tui.engine.recovery.known_engines", fails)
    async with open_money(home) as money:
        with pytest.raises(StoreUnusable, match=f"cannot look into {home.engines}: Input/output"):
            await recover(home, money.store, money.jobs, money.budget, money.clock)


def fails(*_: object, **__: object) -> None:
    raise OSError(errno.EIO, os.strerror(errno.EIO))
