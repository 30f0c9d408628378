"""One request of an agent under way: from its hold to its entry in the ledger."""

from __future__ import annotations

from collections.abc import Callable

from workers_tui.engine.agents.agent_account import LARGE_CONTEXT, Account, Billed, Head
from workers_tui.engine.agents.message_reading import MessageReading, Passed, guess
from workers_tui.engine.calls.parts import Parts
from workers_tui.engine.calls.upstream_errors import MAYBE_BILLED
from workers_tui.engine.jobs.job import JobKind
from workers_tui.engine.money import Cost, CostSource, from_usd
from workers_tui.engine.pricing.price import FREE, Price
from workers_tui.engine.spending.holds import Hold
from workers_tui.engine.spending.ledger import Entry, add_costs
from workers_tui.engine.usage import Usage

PAUSES = frozenset({401, 402})


class Meter:
    """One request under way."""

    def __init__(
        self,
        parts: Parts,
        leave: Callable[[Account], None],
        account: Account,
        head: Head,
        hold: Hold,
        price: Price | None,
    ) -> None:
        self._parts = parts
        self._leave = leave
        self.account = account
        self.head = head
        self.reading = MessageReading()
        self.generation_id: str | None = None
        self.ended = False
        """It is booked or released."""
        self._hold = hold
        self._price = price
        self._began = parts.clock.monotonic()

    async def release(self, trouble: str | None = None) -> None:
        """Nothing is billed: it never left, or the provider refused it."""
        self.ended = True
        self.account.trouble = trouble or self.account.trouble
        try:
            await self._parts.budget.release(self._hold)
        finally:
            self._leave(self.account)

    async def refused(self, status: int, words: str) -> None:
        """The provider said no: nothing is billed, but for timeouts on the way to the model.

        Without a key or money every further request would fail too: it pauses.
        """
        if status in MAYBE_BILLED:
            await self.settle("failed")
        else:
            await self.release(words)
        self.account.trouble = words
        if status in PAUSES:
            self._parts.providers.pause(self.account.identity.name, words)

    async def note_generation(self, generation_id: str | None) -> None:
        """Keep what the bill can be asked with."""
        if generation_id and self.account.booked_under == "openrouter":
            self.generation_id = generation_id
            await self._parts.budget.note_generation(self._hold, generation_id)

    async def settle(self, status: str = "ok") -> Billed:
        """Book it: what the provider told, or an estimate when the answer was cut."""
        self.ended = True
        passed = self.reading.passed()
        if passed.complete or (status == "ok" and passed.error):
            status = "failed" if passed.error else "ok"
        whole = status == "ok" and passed.complete
        known = whole and (passed.counted or passed.usage is None)
        usage = (passed.usage or Usage()) if known else guess(passed, self.head.bytes)
        billed = Billed(
            passed.model or self.head.model.removesuffix(LARGE_CONTEXT),
            usage,
            self._cost(passed, usage, whole=whole),
            status if whole or status != "ok" else "incomplete",
            round((self._parts.clock.monotonic() - self._began) * 1000),
            self.head.bytes,
            self.head.agent,
            passed.error,
        )
        try:
            await self._parts.budget.settle(self._hold, self._entry(passed, billed))
        finally:
            self._leave(self.account)
        self._show(billed)
        return billed

    def _cost(self, passed: Passed, usage: Usage, *, whole: bool) -> Cost:
        price = self._served_price(passed.model)
        if self.account.identity.plan:
            listed = price.cost_pico(usage) if price else None
            return Cost(0, CostSource.ESTIMATED, list_pico=listed)
        if passed.cost_usd is not None and whole:
            return Cost(from_usd(passed.cost_usd), CostSource.REPORTED)
        if price is FREE:
            return Cost(0, CostSource.ESTIMATED)
        if price is None or (whole and passed.usage is None):
            asked_later = self.generation_id is not None
            return Cost(None, CostSource.PENDING if asked_later else CostSource.UNKNOWN)
        return Cost(price.cost_pico(usage), CostSource.ESTIMATED)

    def _served_price(self, served: str | None) -> Price | None:
        asked = self.head.model.removesuffix(LARGE_CONTEXT)
        if served is None or served == asked:
            return self._price
        found = self._parts.prices.find(self.account.identity.provider, served)
        if found is FREE or (found is None and (served.startswith(asked) or self._price is FREE)):
            return self._price
        return found

    def _entry(self, passed: Passed, billed: Billed) -> Entry:
        job = self.account.job
        return Entry(
            call=self._hold.call,
            job=job.id,
            kind=JobKind.AGENT,
            tier=None,
            model=billed.model,
            provider=self.account.booked_under,
            usage=billed.usage,
            cost=billed.cost,
            ms=billed.ms,
            task=job.task,
            status=billed.status,
            finish_reason=passed.stop_reason,
            project=job.project,
            session=job.session,
            generation_id=self.generation_id,
            at=self._parts.clock.now(),
        )

    def _show(self, billed: Billed) -> None:
        account = self.account
        account.requests += 1
        account.usage += billed.usage
        known = [cost for cost in (account.cost, billed.cost) if cost is not None]
        account.cost = add_costs(known)
        account.trouble = billed.error or account.trouble
        account.on_billed(billed)
