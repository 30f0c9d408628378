"""The line before the cap: who waits for room is served in turn."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.engine.money_kit import Money, ask, entry, open_money

from workers_tui.engine.errors import BudgetRefused
from workers_tui.engine.money import from_usd
from workers_tui.engine.spending.budget import Ask, Hold
from workers_tui.home.files import prepare
from workers_tui.home.places import Home


@pytest.fixture
async def money(home: Home) -> AsyncIterator[Money]:
    async with open_money(home) as opened:
        yield opened


class Asker:
    """Asks for room and remembers whether it was told to wait."""

    def __init__(self, money: Money, request: Ask) -> None:
        self.waits = asyncio.Event()
        self.task = asyncio.ensure_future(money.budget.reserve(request, self._on_wait))

    async def _on_wait(self, _why: str) -> None:
        self.waits.set()

    async def answered(self) -> None:
        """It has its hold, is refused, or was told to wait."""
        waits = asyncio.ensure_future(self.waits.wait())
        await asyncio.wait({self.task, waits}, return_when=asyncio.FIRST_COMPLETED)
        waits.cancel()

    @property
    def still(self) -> bool:
        return self.waits.is_set() and not self.task.done()


async def asked(money: Money, usd: str) -> Asker:
    asker = Asker(money, ask(usd))
    await asker.answered()
    return asker


async def test_a_small_request_does_not_pass_a_large_one_that_waits(money: Money) -> None:
    first, second = [await money.budget.reserve(ask("0.4")) for _ in range(2)]
    large, small = await asked(money, "0.9"), await asked(money, "0.1")
    assert small.still  # there would be room for it
    await money.budget.settle(first, entry(first, "0"))
    await money.budget.settle(second, entry(second, "0"))
    assert (await large.task).pico == from_usd("0.9")
    assert (await small.task).pico == from_usd("0.1")


async def test_one_that_can_never_fit_holds_nobody_up(money: Money) -> None:
    first = await money.budget.reserve(ask("0.8"))
    large, small = await asked(money, "0.5"), await asked(money, "0.1")
    await money.budget.settle(first, entry(first, "0.6"))
    with pytest.raises(BudgetRefused):
        await large.task
    assert (await small.task).pico == from_usd("0.1")


async def test_one_that_cannot_fit_is_refused_though_others_wait_before_it(money: Money) -> None:
    first = await money.budget.reserve(ask("0.8"))
    waits = await asked(money, "0.9")
    with pytest.raises(BudgetRefused):
        await money.budget.reserve(ask("1.1"))
    await money.budget.release(first)
    await waits.task


async def test_what_holds_nothing_waits_for_nobody(money: Money) -> None:
    await money.budget.reserve(ask("0.8"))
    waits = await asked(money, "0.9")
    assert (await money.budget.reserve(ask("0"))).pico == 0
    assert waits.still
    waits.task.cancel()


async def test_whoever_gives_up_lets_the_next_go(money: Money) -> None:
    await money.budget.reserve(ask("0.8"))
    large, small = await asked(money, "0.9"), await asked(money, "0.1")
    large.task.cancel()
    assert (await small.task).pico == from_usd("0.1")


steps = st.one_of(
    st.tuples(st.just("ask"), st.integers(1, 99)),
    st.tuples(st.just("settle"), st.integers(0, 20)),
    st.tuples(st.just("cancel"), st.integers(0, 5)),
)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(steps, max_size=30))
def test_nobody_is_served_before_one_who_waited_first(plan: list[tuple[str, int]]) -> None:
    asyncio.run(_in_turn(plan))


async def _in_turn(plan: list[tuple[str, int]]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        home = Home(Path(directory), Path(directory))
        prepare(home)
        async with open_money(home) as money:
            line = Line(money)
            for step, number in plan:
                await line.do(step, number)
            await line.finish()


class Line:
    """Askers in the order they came, and the holds that were given out."""

    def __init__(self, money: Money) -> None:
        self._money = money
        self._askers: list[Asker] = []
        self._settled: set[str] = set()
        self.passed: list[str] = []

    @property
    def _waiting(self) -> list[Asker]:
        return [asker for asker in self._askers if asker.still]

    @property
    def _holds(self) -> list[Hold]:
        tasks = [asker.task for asker in self._askers if asker.task.done()]
        given = [one.result() for one in tasks if not one.cancelled() and not one.exception()]
        return [hold for hold in given if hold.call not in self._settled]

    async def do(self, step: str, number: int) -> None:
        if step == "ask":
            await self._ask(f"0.{number:02}")
        elif step == "settle" and self._holds:
            hold = self._holds[number % len(self._holds)]
            self._settled.add(hold.call)
            await self._money.budget.settle(hold, entry(hold, f"0.{number % 3:02}"))
        elif step == "cancel" and self._waiting:
            task = self._waiting[number % len(self._waiting)].task
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _ask(self, usd: str) -> None:
        before = self._waiting
        asker = Asker(self._money, ask(usd))
        self._askers.append(asker)

        def served(task: asyncio.Task[Hold]) -> None:
            if not task.cancelled() and task.exception() is None:
                self.passed += [usd for one in before if one.still]

        asker.task.add_done_callback(served)
        await asker.answered()

    async def finish(self) -> None:
        """Settle everything: in the end nobody waits, and nobody was passed."""
        while self._holds or self._waiting:
            await self.do("settle", 0)
            waiting = [asker.task for asker in self._waiting]
            if waiting and not self._holds:
                await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        assert self.passed == []
