"""One call's attempts: reserve, send, stream, settle; then once more where that may help.

Only what failed before the provider took the request is sent again. Every
attempt that may be billed is an entry of its own.
"""

from __future__ import annotations

import random
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from workers_tui import __version__
from workers_tui.engine.answer import Answer, Reading
from workers_tui.engine.bounds import Bound, Weight, bound
from workers_tui.engine.budget import Ask
from workers_tui.engine.errors import (
    KeyRejected,
    PaymentRequired,
    UpstreamFailed,
    WorkersError,
)
from workers_tui.engine.holds import Hold
from workers_tui.engine.job import JobKind, JobState, WaitingFor
from workers_tui.engine.ledger import Entry, add_costs
from workers_tui.engine.live_text import LiveText
from workers_tui.engine.money import Cost
from workers_tui.engine.outcome import broken_cost, cost_of, judge, truncated, usage_of
from workers_tui.engine.parts import Parts
from workers_tui.engine.price import Price
from workers_tui.engine.prompt import Prompt
from workers_tui.engine.providers import Provider
from workers_tui.engine.queue import Place
from workers_tui.engine.request import build_body
from workers_tui.engine.running import Running
from workers_tui.engine.settings import Settings, Tier
from workers_tui.engine.upstream import NeverSent, UpstreamRequest
from workers_tui.engine.upstream_errors import MAYBE_BILLED
from workers_tui.engine.usage import Usage

ATTEMPTS = 4
LONGEST_WAIT = 300.0
"""A provider that asks for more patience than this is told so to the caller instead."""
FIRST_BACKOFF = 1.0


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything about a call that its attempts have in common."""

    settings: Settings
    tier_name: str
    tier: Tier
    provider: Provider
    prompt: Prompt
    output_cap: int
    prices: Mapping[str, Price | None]
    """Of every model that may serve."""

    def bound(self) -> Bound:
        """What one attempt may cost. Raises BudgetRefused when that cannot be known."""
        weight = Weight(
            self.prompt.bytes, len(self.prompt.messages), self.output_cap, self.tier.params
        )
        return bound(self.settings, self.provider, list(self.prices.items()), weight)


class Attempts:
    """The attempts of one call."""

    def __init__(
        self, parts: Parts, run: Running, place: Place, plan: Plan, text: LiveText
    ) -> None:
        self._parts = parts
        self._run = run
        self._place = place
        self._plan = plan
        self._text = text
        self._usage = Usage()
        self._cost: Cost | None = None

    async def make(self) -> Answer:
        """The complete answer, paid for. Raises WorkersError when there is none."""
        for number in range(1, ATTEMPTS + 1):
            try:
                return await self._one(number)
            except UpstreamFailed as failure:
                self._pause_where_needed(failure)
                delay = _delay(failure, number)
                if delay is None:
                    raise
                await self._wait(failure, number, delay)
        raise AssertionError("the last attempt returns or raises")

    async def _one(self, number: int) -> Answer:
        plan, run = self._plan, self._run
        self._refuse_paused()
        key = self._parts.providers.key(plan.provider.name)
        most = plan.bound()
        hold = await self._reserve(most)
        reading = Reading()
        started = self._parts.clock.monotonic()
        try:
            await self._parts.jobs.change(
                run.job_id,
                state=JobState.RUNNING,
                attempts=number,
                estimate_pico=most.hold_pico,
                sent=plan.prompt.sent,
                bytes_out=plan.prompt.bytes,
            )
            await self._stream(hold, self._request(key, most), reading)
        except BaseException as error:
            # A cancel included: what was held must be booked or let go before it goes on.
            run.sealed = True
            await self._settle_broken(hold, reading, error, started)
            run.unseal()
            raise
        run.sealed = True
        await self._settle_whole(hold, reading.answer(), started)
        return reading.answer()

    async def _reserve(self, most: Bound) -> Hold:
        ask = Ask(
            call=secrets.token_hex(8),
            job=self._run.job_id,
            kind=JobKind.CALL,
            provider=self._plan.provider.name,
            model=self._plan.tier.model,
            hold_pico=most.hold_pico,
            estimate_pico=most.estimate_pico,
        )
        return await self._parts.budget.reserve(ask, self._waits_for_room)

    async def _waits_for_room(self, _why: str) -> None:
        await self._parts.jobs.change(
            self._run.job_id, state=JobState.WAITING, waiting_for=WaitingFor.CAP
        )

    def _request(self, key: str | None, most: Bound) -> UpstreamRequest:
        plan = self._plan
        headers = {"Accept": "text/event-stream", "User-Agent": f"workers-tui/{__version__}"}
        if key is not None:
            headers["Authorization"] = f"Bearer {key}"
        return UpstreamRequest(
            plan.provider.name,
            f"{plan.provider.base_url}/chat/completions",
            headers,
            build_body(plan.settings, plan.tier, plan.provider, plan.prompt, plan.output_cap, most),
        )

    async def _stream(self, hold: Hold, request: UpstreamRequest, reading: Reading) -> None:
        async def started() -> None:
            if reading.generation_id is not None:
                await self._parts.budget.note_generation(hold, reading.generation_id)

        await self._parts.upstream.stream(request, reading, self._text.add, started)

    async def _settle_whole(self, hold: Hold, answer: Answer, started: float) -> None:
        cost = cost_of(answer, self._plan.provider, self._served_price(answer))
        await self._settle(hold, answer, cost, _status(answer), started)

    async def _settle_broken(
        self, hold: Hold, reading: Reading, error: BaseException, started: float
    ) -> None:
        """An estimate where the request may have been worked on; nothing where it cannot."""
        if not _may_be_billed(error):
            await self._parts.budget.release(hold)
            return
        answer = reading.answer()
        price = self._served_price(answer)
        cost = broken_cost(answer, self._plan.provider, price, self._plan.prompt.bytes)
        status = "failed" if isinstance(error, WorkersError) else "cancelled"
        await self._settle(hold, answer, cost, status, started)

    async def _settle(
        self, hold: Hold, answer: Answer, cost: Cost, status: str, started: float
    ) -> None:
        usage = usage_of(answer, self._plan.prompt.bytes)
        origin = self._run.origin
        entry = Entry(
            call=hold.call,
            job=self._run.job_id,
            kind=JobKind.CALL,
            tier=self._plan.tier_name,
            model=answer.model or self._plan.tier.model,
            provider=self._plan.provider.name,
            usage=usage,
            cost=cost,
            ms=round((self._parts.clock.monotonic() - started) * 1000),
            task=self._run.request.task,
            status=status,
            finish_reason=answer.finish_reason,
            project=origin.project,
            session=origin.session,
            generation_id=answer.generation_id,
            at=self._parts.clock.now(),
        )
        await self._parts.budget.settle(hold, entry)
        self._usage += usage
        self._cost = add_costs([cost] if self._cost is None else [self._cost, cost])
        self._parts.jobs.show(
            self._run.job_id, usage=self._usage, cost=self._cost, model=entry.model
        )

    def _served_price(self, answer: Answer) -> Price | None:
        """The price of the model that served, which need not be the one asked for."""
        asked = self._plan.tier.model
        served = answer.model or asked
        if served in self._plan.prices:
            return self._plan.prices[served]
        found = self._parts.prices.find(self._plan.provider.name, served)
        if found is None and served.startswith(asked):
            return self._plan.prices[asked]  # the same model with its date
        return found

    def _refuse_paused(self) -> None:
        why = self._parts.providers.paused(self._plan.provider.name)
        if why is not None:
            raise PaymentRequired(
                f"{self._plan.provider.name} is paused ({why}); resume it with p in the dashboard"
            )

    def _pause_where_needed(self, failure: UpstreamFailed) -> None:
        if failure.status is not None and isinstance(failure, KeyRejected | PaymentRequired):
            self._parts.providers.pause(self._plan.provider.name, str(failure))

    async def _wait(self, failure: UpstreamFailed, number: int, delay: float) -> None:
        """Show the countdown, let others work meanwhile."""
        await self._parts.jobs.change(
            self._run.job_id,
            state=JobState.WAITING,
            waiting_for=WaitingFor.RETRY,
            retry_at=self._parts.clock.now() + timedelta(seconds=delay),
            last_action=f"attempt {number} failed: {failure}",
        )
        async with self._place.aside():
            await self._parts.clock.sleep(delay)


def verdict(answer: Answer) -> None:
    """Raise when a complete and paid answer is none."""
    failure = judge(answer)
    if failure is not None:
        raise failure


def _status(answer: Answer) -> str:
    if answer.cached:
        return "cached"
    if truncated(answer):
        return "truncated"
    return "ok" if judge(answer) is None else "failed"


def _may_be_billed(error: BaseException) -> bool:
    """A refusal with a status is free, except for timeouts on the way to the model."""
    if isinstance(error, NeverSent):
        return False
    if isinstance(error, UpstreamFailed) and error.status is not None:
        return error.status in MAYBE_BILLED or error.generation_id is not None
    return True


def _delay(failure: UpstreamFailed, number: int) -> float | None:
    """Seconds until the next attempt, None when there is to be none."""
    if not failure.retryable or number == ATTEMPTS:
        return None
    if failure.status in MAYBE_BILLED and number > 1:
        return None
    if failure.retry_after is not None:
        return failure.retry_after if failure.retry_after <= LONGEST_WAIT else None
    return FIRST_BACKOFF * float(1 << number - 1) * random.uniform(0.8, 1.2)
