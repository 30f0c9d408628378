"""What every request of an agent costs: a hold before it leaves, an entry when it ended.

One account per running job, opened with a token that dies with the job. The
numbers live here; the HTTP side is the gateway's.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Callable
from typing import Any

from workers_tui.engine.agents.agent_account import LARGE_CONTEXT, Account, Billed, Head
from workers_tui.engine.agents.agent_request import check_model
from workers_tui.engine.agents.identity import Identity
from workers_tui.engine.agents.meter import Meter
from workers_tui.engine.calls.bounds import Weight, bound
from workers_tui.engine.calls.outcome import BYTES_PER_TOKEN
from workers_tui.engine.calls.parts import Parts
from workers_tui.engine.errors import JobCancelled, PaymentRequired
from workers_tui.engine.jobs.job import Job, JobKind, JobState, WaitingFor
from workers_tui.engine.pricing.price import FREE, Price
from workers_tui.engine.spending.budget import Ask
from workers_tui.engine.spending.holds import Hold


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
        """The token dies; what is under way is broken off, and booked on return."""
        account.closed.set()
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

        Raises BudgetRefused at the cap, PolicyRefused and WrongUse for a model that is not
        allowed, PaymentRequired while the worker is paused, JobCancelled once its job has ended.
        """
        model = head.model.removesuffix(LARGE_CONTEXT)
        check_model(self._parts.config.settings.agents, model)
        why = self._parts.providers.paused(account.identity.name)
        if why is not None:
            raise PaymentRequired(f"worker {account.identity.name} is paused: {why}")
        price = await self._price(account, model)
        weight = Weight(head.bytes, head.messages, head.max_tokens, {})
        most = bound(self._parts.config.settings, account.provider, [(model, price)], weight)
        ask = Ask(
            call=secrets.token_hex(8),
            job=account.job.id,
            kind=JobKind.AGENT,
            provider=account.booked_under,
            model=model,
            hold_pico=most.hold_pico,
            estimate_pico=most.estimate_pico,
        )
        if not account.open:  # its body came, or a price was found, after the end
            raise JobCancelled("this job has ended")
        account.in_flight += 1
        account.idle.clear()
        try:
            hold = await self._reserve(account, ask)
        except BaseException:  # a cancel included: the account must not wait for it
            self.leave(account)
            raise
        return Meter(self._parts, self.leave, account, head, hold, price)

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


def count_estimate(body: bytes) -> dict[str, Any]:
    """What count_tokens answers where the provider has none."""
    return {"input_tokens": max(1, len(body) // BYTES_PER_TOKEN)}
