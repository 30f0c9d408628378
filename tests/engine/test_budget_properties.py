"""Whatever the order of things: bills never exceed a strict cap, and holds come back to nothing."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import tempfile
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from datetime import timedelta
from decimal import Decimal
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.engine.money_kit import HeldClock, Money, Rules, ask, entry, open_money

from workers_tui.engine.errors import BudgetRefused
from workers_tui.engine.money import Cost, CostSource, Pico, from_usd, to_usd
from workers_tui.engine.recovery import recover
from workers_tui.engine.spending.budget import Ask, Hold
from workers_tui.engine.store.engine_lock import EngineLock
from workers_tui.home.files import prepare
from workers_tui.home.places import Home

CAP = from_usd("1")
ENGINES = 3

steps = st.one_of(
    st.tuples(st.just("reserve"), st.integers(0, ENGINES - 1), st.integers(0, 60)),
    st.tuples(st.just("settle"), st.integers(0, 9), st.integers(0, 100)),
    st.tuples(st.just("release"), st.integers(0, 9), st.just(0)),
    st.tuples(st.just("pending"), st.integers(0, 9), st.just(0)),
    st.tuples(st.just("correct"), st.integers(0, 9), st.integers(0, 100)),
    st.tuples(st.just("cancel"), st.integers(0, 9), st.just(0)),
    st.tuples(st.just("crash"), st.integers(0, ENGINES - 1), st.just(0)),
    st.tuples(st.just("clock"), st.integers(-40, 40), st.just(0)),
)


@dataclass
class World:
    """Some engines on one store, and what they were promised."""

    home: Home
    clock: HeldClock = field(default_factory=HeldClock)
    engines: list[Money] = field(default_factory=list)
    locks: list[EngineLock] = field(default_factory=list)
    stacks: list[AsyncExitStack] = field(default_factory=list)
    holds: list[tuple[int, Hold]] = field(default_factory=list)
    waiting: list[tuple[int, asyncio.Task[Hold]]] = field(default_factory=list)
    bills: dict[str, Pico] = field(default_factory=dict)
    """What each booked call is known to cost at last."""
    open: list[tuple[str, Pico]] = field(default_factory=list)
    """Calls that can be corrected, and what they may cost."""

    async def start(self, engine: int) -> None:
        """Start an engine, in the place of a dead one."""
        lock = EngineLock.take(self.home.engines)
        stack = AsyncExitStack()
        money = await stack.enter_async_context(
            open_money(self.home, engine=lock.id, clock=self.clock, rules=Rules(cap="1"))
        )
        self.engines[engine : engine + 1] = [money]
        self.locks[engine : engine + 1] = [lock]
        self.stacks[engine : engine + 1] = [stack]

    async def recover(self, engine: int) -> None:
        money = self.engines[engine]
        await recover(self.home, money.store, money.jobs, money.budget, self.clock)

    async def reserve(self, engine: int, cents: int) -> None:
        told = asyncio.Event()

        async def on_wait(_why: str) -> None:
            told.set()

        budget = self.engines[engine].budget
        request = ask(f"0.{cents:02}")
        request = replace(request, estimate_pico=request.hold_pico // 2)
        task = asyncio.ensure_future(budget.reserve(request, on_wait))
        bell = asyncio.ensure_future(told.wait())
        await asyncio.wait({task, bell}, return_when=asyncio.FIRST_COMPLETED)
        bell.cancel()
        self.waiting.append((engine, task))

    async def gather(self) -> None:
        """Take the holds of reservations that came through, here or while others settled."""
        still = []
        for engine, task in self.waiting:
            if not task.done():
                still.append((engine, task))
            elif not task.cancelled() and task.exception() is None:
                self.holds.append((engine, task.result()))
            elif not task.cancelled():
                assert isinstance(task.exception(), BudgetRefused)
        self.waiting = still

    async def settle(self, pick: int, percent: int) -> None:
        if self.holds:
            engine, hold = self.holds.pop(pick % len(self.holds))
            pico = hold.pico * percent // 100
            await self.engines[engine].budget.settle(
                hold, entry(hold, Cost(pico, CostSource.REPORTED))
            )
            self.bills[hold.call] = pico

    async def pending(self, pick: int) -> None:
        if self.holds:
            engine, hold = self.holds.pop(pick % len(self.holds))
            await self.engines[engine].budget.settle(
                hold, entry(hold, Cost(None, CostSource.PENDING), generation_id=hold.call)
            )
            self.open.append((hold.call, hold.pico))

    async def correct(self, pick: int, percent: int) -> None:
        if self.open:
            call, most = self.open[pick % len(self.open)]
            cost = Cost(most * percent // 100, CostSource.RECONCILED)
            await self.engines[0].ledger.correct(call, cost)
            self.bills[call] = cost.pico or 0

    async def release(self, pick: int) -> None:
        if self.holds:
            engine, hold = self.holds.pop(pick % len(self.holds))
            await self.engines[engine].budget.release(hold)

    async def cancel(self, pick: int) -> None:
        if self.waiting:
            _engine, task = self.waiting[pick % len(self.waiting)]
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def crash(self, engine: int) -> None:
        """The engine is gone with what it held; another one cleans up."""
        for _engine, task in [one for one in self.waiting if one[0] == engine]:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        await self.gather()
        await self.engines[engine].store.close()
        self.locks[engine].release()
        for _engine, hold in [one for one in self.holds if one[0] == engine]:
            self.bills[hold.call] = hold.estimate_pico
        self.holds = [one for one in self.holds if one[0] != engine]
        await self.start(engine)
        await self.recover(engine)

    async def do(self, step: tuple[str, int, int]) -> None:
        match step:
            case ("reserve", engine, cents):
                await self.reserve(engine, cents)
            case ("settle", pick, percent):
                await self.settle(pick, percent)
            case ("pending", pick, _):
                await self.pending(pick)
            case ("correct", pick, percent):
                await self.correct(pick, percent)
            case ("release", pick, _):
                await self.release(pick)
            case ("cancel", pick, _):
                await self.cancel(pick)
            case ("crash", engine, _):
                await self.crash(engine)
            case ("clock", hours, _):
                self.clock.move(timedelta(hours=hours))
        await self.gather()
        await self.check()

    async def check(self) -> None:
        """No day of any engine's is ever beyond the cap, holds included."""
        days = await self.engines[0].store.read(_days)
        assert all(spent + held <= CAP for spent, held in days.values()), days

    async def finish(self) -> None:
        while self.waiting:
            await self.cancel(0)
            await self.gather()
        while self.holds:
            await self.settle(0, 50)
        for number in range(len(self.open)):
            await self.correct(number, 50)
        days = await self.engines[0].store.read(_days)
        assert sum(held for _spent, held in days.values()) == 0
        assert (await self.engines[-1].ledger.totals())[""].cost_pico == sum(self.bills.values())
        for money in self.engines:
            await money.ledger.written()
        lines = [json.loads(line, parse_float=Decimal) for line in await self.engines[0].lines()]
        spent = sum((Decimal(line["cost"] or 0) for line in lines), Decimal(0))
        assert spent == to_usd(sum(self.bills.values()))
        for stack, lock in zip(self.stacks, self.locks, strict=True):
            await stack.aclose()
            lock.release()


def _days(conn: sqlite3.Connection) -> dict[str, tuple[Pico, Pico]]:
    """Charge and holds of each day."""
    rows = conn.execute(
        "SELECT day, sum(charge), sum(held) FROM (SELECT day, charge, 0 AS held FROM sums WHERE"
        " axis='' UNION ALL SELECT day, 0, pico FROM holds) GROUP BY day"
    )
    return {day: (charge, held) for day, charge, held in rows}


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(steps, max_size=40))
def test_bills_stay_under_the_cap_and_holds_come_back(plan: list[tuple[str, int, int]]) -> None:
    asyncio.run(run_world(plan))


async def run_world(plan: list[tuple[str, int, int]]) -> None:
    """Do all steps of a plan on a home of its own."""
    with tempfile.TemporaryDirectory() as directory:
        home = Home(Path(directory), Path(directory))
        prepare(home)
        world = World(home)
        for engine in range(ENGINES):
            await world.start(engine)
        for step in plan:
            await world.do(step)
        await world.finish()


async def test_many_at_once_never_pass_the_cap(home: Home) -> None:
    world = World(home)
    for engine in range(ENGINES):
        await world.start(engine)

    async def one(engine: int, number: int) -> Pico:
        budget = world.engines[engine].budget
        request: Ask = ask("0.05")
        try:
            hold = await budget.reserve(request)
        except BudgetRefused:
            return 0
        await budget.settle(hold, entry(hold, Cost(hold.pico * (number % 2), CostSource.REPORTED)))
        return hold.pico * (number % 2)

    bills = await asyncio.gather(*(one(n % ENGINES, n // ENGINES) for n in range(90)))
    assert sum(bills) <= CAP
    assert sum(bills) > CAP - from_usd("0.05")
    world.bills = {str(number): bill for number, bill in enumerate(bills)}
    await world.finish()
