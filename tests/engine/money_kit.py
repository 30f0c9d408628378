"""What tests of money share: a store with its nouns, a clock that stands still, short makers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import count

from workers_tui.engine.board import Board, Key, Topic
from workers_tui.engine.jobs.job import Job, JobKind, JobState
from workers_tui.engine.jobs.jobs import Jobs
from workers_tui.engine.money import Cost, CostSource, Pico, from_usd
from workers_tui.engine.spending.budget import Ask, Budget, BudgetRules, Hold, Spend
from workers_tui.engine.spending.ledger import Entry, Ledger
from workers_tui.engine.spending.schema import STORE_MIGRATIONS
from workers_tui.engine.store.store import Store
from workers_tui.engine.usage import Usage
from workers_tui.home.places import Home

NOON = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)
_numbers = count(1)


class HeldClock:
    """Stands still until moved; sleepers wake when their time has come."""

    def __init__(self, at: datetime = NOON) -> None:
        self.at = at
        self._mono = 0.0
        self._moved = asyncio.Event()

    def now(self) -> datetime:
        return self.at

    def monotonic(self) -> float:
        return self._mono

    async def sleep(self, seconds: float) -> None:
        until = self._mono + seconds
        while self._mono < until:
            await self._moved.wait()

    def move(self, by: timedelta) -> None:
        """Let time pass, or the wall clock jump back."""
        self.at += by
        self._mono += max(0.0, by.total_seconds())
        self._moved.set()
        self._moved = asyncio.Event()


@dataclass
class Rules:
    """Budget rules that a test may change."""

    cap: str | None = "1"
    timezone: str | None = "UTC"
    unknown: str = "0.05"

    def __call__(self) -> BudgetRules:
        cap = None if self.cap is None else from_usd(self.cap)
        return BudgetRules(cap, "strict", self.timezone, from_usd(self.unknown))


@dataclass
class Money:
    """The nouns of one engine."""

    home: Home
    store: Store
    board: Board
    clock: HeldClock
    rules: Rules
    ledger: Ledger
    budget: Budget
    jobs: Jobs
    engine: str

    @property
    def spend(self) -> Spend:
        spend = self.board.get(Key(Topic.SPEND))
        assert isinstance(spend, Spend)
        return spend

    async def lines(self) -> list[bytes]:
        """Lines of usage.jsonl, once all of them are written."""
        await self.ledger.written()
        return self.home.usage_jsonl.read_bytes().splitlines()


@asynccontextmanager
async def open_money(
    home: Home, *, engine: str = "one", clock: HeldClock | None = None, rules: Rules | None = None
) -> AsyncIterator[Money]:
    """One engine's money on the store of `home`."""
    clock, rules, board = clock or HeldClock(), rules or Rules(), Board()
    store = await Store.open(home.store_db, STORE_MIGRATIONS)
    ledger = Ledger(store, clock, home.usage_jsonl)
    budget = Budget(store, board, clock, rules, ledger, engine_id=engine)
    jobs = Jobs(store, board, clock, engine, home.results)
    await ledger.load()
    await jobs.load()
    await budget.refresh()
    try:
        yield Money(home, store, board, clock, rules, ledger, budget, jobs, engine)
    finally:
        await budget.close()
        await jobs.close()
        await ledger.written()
        await store.close()


def ask(hold: str = "0.1", *, call: str | None = None, job: str = "job01") -> Ask:
    """A request that may cost `hold` dollars."""
    pico = from_usd(hold)
    return Ask(
        call or f"call-{next(_numbers)}", job, JobKind.CALL, "openrouter", "m/one", pico, pico
    )


def entry(hold: Hold | Ask, cost: str | Cost | None = "0.1", **changes: object) -> Entry:
    """What the request of `hold` cost."""
    paid = cost if isinstance(cost, Cost) else Cost(_pico(cost), _source(cost))
    made = Entry(
        call=hold.call,
        job=hold.job,
        kind=hold.kind,
        tier="fast",
        model=hold.model,
        provider=hold.provider,
        usage=Usage(100, 10),
        cost=paid,
        ms=5,
        task="say hello",
        status="ok",
        at=NOON,
    )
    return replace(made, **changes)  # type: ignore[arg-type]


def job(task: str = "say hello", **changes: object) -> Job:
    """A job that was just asked for."""
    made = Job(id="", kind=JobKind.CALL, state=JobState.QUEUED, task=task, created_at=NOON)
    return replace(made, **changes)  # type: ignore[arg-type]


def _pico(cost: str | None) -> Pico | None:
    return None if cost is None else from_usd(cost)


def _source(cost: str | None) -> CostSource:
    return CostSource.PENDING if cost is None else CostSource.REPORTED
