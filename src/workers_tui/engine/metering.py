"""What every request of an agent costs: a hold before it leaves, an entry when it ended.

One account per running job, opened with a token that dies with the job. The
numbers live here; the HTTP side is the gateway's.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from workers_tui.engine.bounds import Weight, bound
from workers_tui.engine.budget import Ask
from workers_tui.engine.errors import PolicyRefused
from workers_tui.engine.holds import Hold
from workers_tui.engine.identities import Identity
from workers_tui.engine.job import Job, JobKind, JobState, WaitingFor
from workers_tui.engine.ledger import Entry, add_costs
from workers_tui.engine.message_reading import MessageReading, Passed, guess
from workers_tui.engine.money import Cost, CostSource, from_usd
from workers_tui.engine.parts import Parts
from workers_tui.engine.price import FREE, Price
from workers_tui.engine.providers import Provider
from workers_tui.engine.usage import Usage

LARGE_CONTEXT = "[1m]"
"""Claude Code's mark for a large context; no provider knows it."""


@dataclass(frozen=True, slots=True)
class Billed:
    """One request that is booked."""

    model: str
    usage: Usage
    cost: Cost
    status: str
    ms: int
    bytes_out: int
    agent: str | None
    """Claude Code's id of the subagent."""
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Head:
    """What the account must know of a request before it leaves."""

    model: str
    max_tokens: int
    messages: int
    bytes: int
    stream: bool = True
    session: str | None = None
    agent: str | None = None


def read_head(body: bytes, headers: Mapping[str, str]) -> Head:
    """The facts of a request. Raises ValueError when it is no Messages request."""
    raw = json.loads(body)
    if not isinstance(raw, dict) or not isinstance(raw.get("model"), str):
        raise ValueError("the body is no Messages request")  # noqa: TRY004 - it is data
    most = raw.get("max_tokens")
    return Head(
        raw["model"],
        most if isinstance(most, int) and most > 0 else UNBOUNDED,
        len(raw.get("messages") or ()),
        len(body),
        raw.get("stream") is True,
        headers.get("x-claude-code-session-id"),
        headers.get("x-claude-code-agent-id"),
    )


UNBOUNDED = 64_000
"""Output tokens to expect of a request that names no limit."""


@dataclass(eq=False)
class Account:
    """One running job's account."""

    job: Job
    identity: Identity
    token: str = field(repr=False)
    on_billed: Callable[[Billed], None]
    """Told after each booking."""
    usage: Usage = Usage()
    cost: Cost | None = None
    requests: int = 0
    in_flight: int = 0
    open: bool = True
    failure: str | None = None
    """Why the job must end: the provider stalled."""
    trouble: str | None = None
    """The last thing a provider complained of."""
    refused: str | None = None
    """The cap's own words, once it said no."""
    failed: asyncio.Event = field(default_factory=asyncio.Event)
    idle: asyncio.Event = field(default_factory=asyncio.Event)
    """Set while nothing is under way."""
    waiting: int = 0
    """Requests that wait for room under the cap."""

    def __post_init__(self) -> None:
        self.idle.set()

    def fail(self, why: str) -> None:
        """End the job."""
        self.failure = self.failure or why
        self.failed.set()

    @property
    def provider(self) -> Provider:
        """The identity as the bounds and prices know endpoints."""
        one = self.identity
        return Provider(one.provider, one.base_url, "openai", None, one.plan, one.loopback)

    @property
    def booked_under(self) -> str:
        """Provider in the ledger: the router where bills can be asked for, else the worker."""
        return "openrouter" if self.identity.provider == "openrouter" else self.identity.name


class Metering:
    """All open accounts of this engine."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._accounts: dict[str, Account] = {}

    def open(self, job: Job, identity: Identity, on_billed: Callable[[Billed], None]) -> Account:
        """An account with a fresh token."""
        account = Account(job, identity, "job-" + secrets.token_urlsafe(32), on_billed)
        self._accounts[account.token] = account
        return account

    async def close(self, account: Account) -> None:
        """The token dies; on return everything under way is booked."""
        account.open = False
        await account.idle.wait()
        self._accounts.pop(account.token, None)

    def find(self, token: str) -> Account | None:
        """The open account of a token."""
        for known, account in self._accounts.items():
            if account.open and hmac.compare_digest(known.encode(), token.encode()):
                return account
        return None

    async def admit(self, account: Account, head: Head) -> Meter:
        """Reserve for one request; on return it may leave.

        Raises BudgetRefused at the cap and PolicyRefused for a model that is not allowed.
        """
        settings = self._parts.config.settings
        model = head.model.removesuffix(LARGE_CONTEXT)
        allowed = settings.agents.allowed_models
        if allowed and model not in allowed:
            raise PolicyRefused(
                f"model {model} is not among `agents.allowed_models`: {', '.join(allowed)}"
            )
        price = await self._price(account, model)
        weight = Weight(head.bytes, head.messages, head.max_tokens, {})
        most = bound(settings, account.provider, [(model, price)], weight)
        ask = Ask(
            call=secrets.token_hex(8),
            job=account.job.id,
            kind=JobKind.AGENT,
            provider=account.booked_under,
            model=model,
            hold_pico=most.hold_pico,
            estimate_pico=most.estimate_pico,
        )
        account.in_flight += 1
        account.idle.clear()
        try:
            hold = await self._reserve(account, ask)
        except BaseException:  # a cancel included: the account must not wait for it
            self.leave(account)
            raise
        return Meter(self._parts, self, account, head, hold, price)

    async def _reserve(self, account: Account, ask: Ask) -> Hold:
        waited = False

        async def on_wait(why: str) -> None:
            nonlocal waited
            account.waiting += not waited
            waited = True
            await self._parts.jobs.change(
                account.job.id,
                state=JobState.WAITING,
                waiting_for=WaitingFor.CAP,
                last_action=why,
            )

        try:
            hold = await self._parts.budget.reserve(ask, on_wait)
        finally:
            account.waiting -= waited
        if waited and not account.waiting and account.open:
            try:
                await self._parts.jobs.change(account.job.id, state=JobState.RUNNING)
            except BaseException:  # the hold must not outlive a request that never leaves
                await self._parts.budget.release(hold)
                raise
        return hold

    def leave(self, account: Account) -> None:
        """One request less under way."""
        account.in_flight -= 1
        if account.in_flight == 0:
            account.idle.set()

    async def _price(self, account: Account, model: str) -> Price | None:
        price = await self._parts.prices.ready(account.identity.provider, model)
        return FREE if price is None and account.identity.loopback else price


class Meter:
    """One request under way."""

    def __init__(
        self,
        parts: Parts,
        metering: Metering,
        account: Account,
        head: Head,
        hold: Hold,
        price: Price | None,
    ) -> None:
        self._parts = parts
        self._metering = metering
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
            self._metering.leave(self.account)

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
        usage = (passed.usage or Usage()) if whole else guess(passed, self.head.bytes)
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
            self._metering.leave(self.account)
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
        if found is None and (served.startswith(asked) or self._price is FREE):
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


def count_estimate(body: bytes) -> dict[str, Any]:
    """What count_tokens answers where the provider has none."""
    return {"input_tokens": max(1, int(Decimal(len(body)) / 4))}
