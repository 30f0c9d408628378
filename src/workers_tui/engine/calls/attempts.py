"""A call's attempts: once more where that may help, and a provider's pause where it will not.

Only what failed before the provider took the request is sent again. Every
attempt that may be billed is an entry of its own.
"""

from __future__ import annotations

import random
from datetime import timedelta

from workers_tui.engine.calls.answer import Answer
from workers_tui.engine.calls.attempt import Attempt
from workers_tui.engine.calls.call_plan import Plan
from workers_tui.engine.calls.live_text import LiveText
from workers_tui.engine.calls.parts import Parts
from workers_tui.engine.calls.queue import Place
from workers_tui.engine.calls.running import Running
from workers_tui.engine.calls.tally import Tally
from workers_tui.engine.calls.upstream_errors import MAYBE_BILLED
from workers_tui.engine.errors import KeyRejected, PaymentRequired, UpstreamFailed
from workers_tui.engine.jobs.job import JobState, WaitingFor

ATTEMPTS = 4
LONGEST_WAIT = 300.0
"""A provider that asks for more patience than this is told so to the caller instead."""
FIRST_BACKOFF = 1.0
NOT_TO_BE_HAD = frozenset({400, 404})
"""How providers refuse a model that they do not have."""


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
        self._tally = Tally()

    async def make(self) -> Answer:
        """The complete answer, paid for. Raises WorkersError when there is none."""
        for number in range(1, ATTEMPTS + 1):
            self._refuse_paused()
            try:
                return await self._one(number)
            except UpstreamFailed as failure:
                self._pause_where_needed(failure)
                delay = _delay(failure, number)
                if delay is None:
                    if failure.status in NOT_TO_BE_HAD:
                        failure.args = (self._plan.explain(failure),)
                    raise
                await self._wait(failure, number, delay)
        raise AssertionError("the last attempt returns or raises")

    async def _one(self, number: int) -> Answer:
        attempt = Attempt(self._parts, self._run, self._plan, self._text, self._tally, number)
        try:
            return await attempt.make()
        finally:
            self._tally = attempt.tally

    def _refuse_paused(self) -> None:
        name = self._plan.provider.name
        why = self._parts.providers.paused(name)
        if why is not None:
            raise PaymentRequired(f"{name} is paused ({why}); resume it with p in the dashboard")

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


def _delay(failure: UpstreamFailed, number: int) -> float | None:
    """Seconds until the next attempt, None when there is to be none."""
    if not failure.retryable or number == ATTEMPTS:
        return None
    if failure.status in MAYBE_BILLED and number > 1:
        return None
    if failure.retry_after is not None:
        return failure.retry_after if failure.retry_after <= LONGEST_WAIT else None
    return FIRST_BACKOFF * float(1 << number - 1) * random.uniform(0.8, 1.2)
