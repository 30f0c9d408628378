"""Asks the providers what calls really cost, and how our day compares with theirs.

Calls whose cost is pending or estimated are asked for by generation id. A
bill appears late, above all after a cancelled stream, so what is not there
yet is asked for again a few times, and at the next start.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from workers_tui.engine.clock import Clock
from workers_tui.engine.errors import StoreError, WorkFailed
from workers_tui.engine.jobs.jobs import Jobs
from workers_tui.engine.money import Cost, Pico
from workers_tui.engine.spending import ledger_rows
from workers_tui.engine.spending.ledger import Entry, Ledger, job_sum
from workers_tui.engine.store.store import Store

log = logging.getLogger(__name__)

DELAYS = (1.0, 2.0, 4.0, 8.0, 30.0, 120.0)
"""Seconds before each try after a call was booked open."""
LABEL = "all users of this key, UTC day"

AskCost = Callable[[str, str], Awaitable[Cost | None]]
"""(provider, generation id) -> its cost, None while the provider does not know."""


@dataclass(frozen=True, slots=True)
class KeyUsage:
    """What a provider says about a key."""

    day_pico: Pico
    """Spent today, by UTC, by all users of the key."""
    limit_pico: Pico | None = None
    remaining_pico: Pico | None = None
    label: str = ""


AskKey = Callable[[str], Awaitable[KeyUsage | None]]
"""provider -> figures of its key, None when it has none to tell."""


@dataclass(frozen=True, slots=True)
class ProviderDrift:
    """Our books of the UTC day beside the provider's."""

    provider: str
    ours_pico: Pico
    theirs_pico: Pico | None
    """None when the provider tells nothing."""
    label: str = LABEL
    error: str = ""

    @property
    def drift_pico(self) -> Pico | None:
        """Theirs - ours: above 0 when the key was also used elsewhere."""
        return None if self.theirs_pico is None else self.theirs_pico - self.ours_pico


@dataclass(frozen=True, slots=True)
class Drift:
    """What a reconciliation found."""

    asked: int
    settled: int
    """Calls that have the provider's own figure now."""
    changed_pico: Pico
    """Sum of the differences that were booked."""
    still_open: int
    providers: tuple[ProviderDrift, ...] = ()


class _Schedule:
    """When each open call is asked for next; one that stays open is left to the next start."""

    def __init__(self) -> None:
        self._tries: dict[str, int] = {}
        self._due: dict[str, float] = {}

    def add(self, calls: Iterable[str], now: float) -> None:
        """Plan the calls that are new here, forget those that are settled."""
        open_ = set(calls)
        for call in self._tries.keys() - open_:
            del self._tries[call]
            self._due.pop(call, None)
        for call in open_ - self._tries.keys():
            self._tries[call] = 0
            self._due[call] = now + DELAYS[0]

    def next(self) -> float | None:
        """When the next call is due; None when none is."""
        return min(self._due.values(), default=None)

    def take_due(self, now: float) -> frozenset[str]:
        """The calls to ask for now; each is planned once more, later."""
        due = frozenset(call for call, at in self._due.items() if at <= now)
        for call in due:
            self._tries[call] += 1
            if self._tries[call] < len(DELAYS):
                self._due[call] = now + DELAYS[self._tries[call]]
            else:
                del self._due[call]
        return due


class Reconciler:
    """Settles open costs, by hand or in the background."""

    def __init__(
        self, store: Store, ledger: Ledger, jobs: Jobs, clock: Clock, ask: AskCost, key: AskKey
    ) -> None:
        self._store = store
        self._ledger = ledger
        self._jobs = jobs
        self._clock = clock
        self._ask = ask
        self._key = key
        self._bell = asyncio.Event()
        self._settled: Callable[[Drift], Awaitable[object]] | None = None
        ledger.on_open(self._bell.set)

    def on_settled(self, callback: Callable[[Drift], Awaitable[object]]) -> None:
        """Be told when the background settled something: the day's spend has changed."""
        self._settled = callback

    async def run(self) -> None:
        """Ask for what is open at the start and for each call booked open; until cancelled."""
        schedule = _Schedule()
        while True:
            self._bell.clear()
            try:
                entries = await self._ledger.pending()
                schedule.add((entry.call for entry in entries), self._clock.monotonic())
                due = schedule.take_due(self._clock.monotonic())
                drift = await self._settle([entry for entry in entries if entry.call in due])
                if drift.settled and self._settled is not None:
                    await self._settled(drift)
            except StoreError as error:
                log.warning("cannot settle open costs: %s", error)
                await self._clock.sleep(DELAYS[-1])
                continue
            await self._until(schedule.next())

    async def settle_open(self) -> Drift:
        """Ask for every open cost once."""
        return await self._settle(await self._ledger.pending())

    async def reconcile(self, providers: Iterable[str]) -> Drift:
        """Settle what can be settled, then compare the UTC day with every provider's key."""
        drift = await self.settle_open()
        compared = [await self._compare(provider) for provider in sorted(set(providers))]
        return Drift(
            drift.asked, drift.settled, drift.changed_pico, drift.still_open, tuple(compared)
        )

    async def _settle(self, entries: list[Entry]) -> Drift:
        settled, changed = 0, 0
        for entry in entries:
            cost = await self._ask_one(entry)
            if cost is not None and cost.pico is not None:
                changed += await self._correct(entry, cost)
                settled += 1
        return Drift(len(entries), settled, changed, len(entries) - settled)

    async def _until(self, due: float | None) -> None:
        """Wait until a call is due, or another one is booked open."""
        waits: list[asyncio.Future[object]] = [asyncio.ensure_future(self._bell.wait())]
        if due is not None:
            left = max(0.0, due - self._clock.monotonic())
            waits.append(asyncio.ensure_future(self._clock.sleep(left)))
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()

    async def _ask_one(self, entry: Entry) -> Cost | None:
        try:
            return await self._ask(entry.provider, entry.generation_id or "")
        except WorkFailed as error:
            log.info("no bill for %s yet: %s", entry.call, error)
            return None

    async def _correct(self, entry: Entry, cost: Cost) -> Pico:
        """Book it, and let the job say it too: a live one sums up at its end."""
        before = (await self._ledger.of_job(entry.job))[1]
        with self._jobs.costing(entry.job, lambda conn: job_sum(conn, entry.job)[1]) as change:
            await self._ledger.correct(entry.call, cost, change)
        after = (await self._ledger.of_job(entry.job))[1]
        return ((after and after.pico) or 0) - ((before and before.pico) or 0)

    async def _compare(self, provider: str) -> ProviderDrift:
        now = self._clock.now().astimezone(UTC)
        midnight = datetime(now.year, now.month, now.day, tzinfo=UTC)
        ours = await self._store.read(
            lambda conn: ledger_rows.provider_spend(conn, provider, midnight)
        )
        try:
            theirs = await self._key(provider)
        except WorkFailed as error:
            return ProviderDrift(provider, ours, None, error=str(error))
        return ProviderDrift(provider, ours, None if theirs is None else theirs.day_pico)
