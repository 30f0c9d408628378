"""One attempt of a call: the hold is on disk, bytes leave, the bill is on disk."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Mapping
from typing import Any

from workers_tui import __version__
from workers_tui.engine.calls.answer import Answer, Reading
from workers_tui.engine.calls.bounds import Bound
from workers_tui.engine.calls.call_plan import Plan
from workers_tui.engine.calls.live_text import LiveText
from workers_tui.engine.calls.outcome import (
    broken_cost,
    cost_of,
    done,
    judge,
    truncated,
    usage_of,
)
from workers_tui.engine.calls.parts import Parts
from workers_tui.engine.calls.running import Running
from workers_tui.engine.calls.tally import Tally
from workers_tui.engine.calls.upstream import NeverSent, UpstreamRequest
from workers_tui.engine.calls.upstream_errors import MAYBE_BILLED
from workers_tui.engine.errors import StoreError, UpstreamFailed, WorkersError
from workers_tui.engine.jobs.job import JobKind, JobState, WaitingFor
from workers_tui.engine.money import Cost
from workers_tui.engine.spending.budget import Ask
from workers_tui.engine.spending.holds import Hold
from workers_tui.engine.spending.ledger import Entry

ENDING = 0.02
"""Seconds from the last text to the reply."""


class Attempt:
    """Reserve, send, stream, settle."""

    def __init__(
        self, parts: Parts, run: Running, plan: Plan, text: LiveText, tally: Tally, number: int
    ) -> None:
        self._parts = parts
        self._run = run
        self._plan = plan
        self._text = text
        self._number = number
        self._reading = Reading()
        self._started = 0.0
        self.tally = tally
        """With this attempt, once it is booked."""

    async def make(self) -> Answer:
        """The complete answer, paid for. Raises WorkersError when there is none."""
        key = self._parts.providers.key(self._plan.provider.name)
        most = self._plan.bound()
        request = self._request(most, key)
        hold = await self._reserve(most)
        self._started = self._parts.clock.monotonic()
        try:
            await self._send(hold, request)
        except BaseException as error:
            # A cancel included: what was held must be booked or let go before it goes on.
            self._run.sealed = True
            await self._settle_broken(hold, error)
            self._run.unseal()
            raise
        self._run.sealed = True
        return await self._settle_whole(hold)

    async def _reserve(self, most: Bound) -> Hold:
        """The hold and the running job are one commit."""
        ask = Ask(
            call=secrets.token_hex(8),
            job=self._run.job_id,
            kind=JobKind.CALL,
            provider=self._plan.provider.name,
            model=self._plan.tier.model,
            hold_pico=most.hold_pico,
            estimate_pico=most.estimate_pico,
        )
        with self._parts.jobs.joining(
            self._run.job_id,
            state=JobState.RUNNING,
            attempts=self._number,
            estimate_pico=most.hold_pico,
            sent=self._plan.prompt.sent,
            bytes_out=self._plan.prompt.bytes,
            last_action=None,
        ) as running:
            return await self._parts.budget.reserve(ask, self._waits_for_room, running)

    async def _waits_for_room(self, why: str) -> None:
        await self._parts.jobs.change(
            self._run.job_id, state=JobState.WAITING, waiting_for=WaitingFor.CAP, last_action=why
        )

    async def _send(self, hold: Hold, request: UpstreamRequest) -> None:
        """Send and read to the end; with what the bill is asked for is noted meanwhile."""
        notes: list[asyncio.Future[None]] = []

        async def started() -> None:
            self._parts.board.calm(self._run.job_id)
            if self._reading.generation_id is not None:
                note = self._parts.budget.note_generation(hold, self._reading.generation_id)
                notes.append(asyncio.ensure_future(note))

        try:
            await self._parts.upstream.stream(request, self._reading, self._take, started)
        except BaseException:
            await asyncio.gather(*notes, return_exceptions=True)
            raise
        await asyncio.gather(*notes)

    def _take(self, text: str) -> None:
        self._text.add(text)
        if self._reading.finish_reason is not None:
            self._parts.board.hurry(self._run.job_id, ENDING)
            self._text.flush()

    def _request(self, most: Bound, key: str | None) -> UpstreamRequest:
        provider = self._plan.provider
        headers = {"Accept": "text/event-stream", "User-Agent": f"workers-tui/{__version__}"}
        if key is not None:
            headers["Authorization"] = f"Bearer {key}"
        url = f"{provider.base_url}/chat/completions"
        return UpstreamRequest(provider.name, url, headers, self._plan.body(most))

    async def _settle_whole(self, hold: Hold) -> Answer:
        """Book the bill and end the job in one commit, once the text is on the disk."""
        answer = self._reading.answer()
        price = self._plan.served_price(answer, self._parts.prices)
        cost = cost_of(answer, self._plan.provider, price)
        closing = asyncio.ensure_future(self._text.close())
        await asyncio.wait({closing})
        kept = closing.exception() is None
        ends = kept and self._run.request.write_to is None and judge(answer) is None
        ending = done(answer) if ends else {}
        await self._settle(hold, answer, cost, _status(answer), ending)
        closing.result()
        return answer

    async def _settle_broken(self, hold: Hold, error: BaseException) -> None:
        """An estimate where the request may have been worked on; nothing where it cannot."""
        if not self._reading.started and not _may_be_billed(error):
            await self._parts.budget.release(hold)
            return
        answer, prompt = self._reading.answer(), self._plan.prompt
        price = self._plan.served_price(answer, self._parts.prices)
        cost = broken_cost(answer, self._plan.provider, price, prompt.bytes)
        status = "failed" if isinstance(error, WorkersError) else "cancelled"
        await self._settle(hold, answer, cost, status)

    async def _settle(
        self,
        hold: Hold,
        answer: Answer,
        cost: Cost,
        status: str,
        ending: Mapping[str, Any] | None = None,
    ) -> None:
        origin = self._run.origin
        entry = Entry(
            call=hold.call,
            job=self._run.job_id,
            kind=JobKind.CALL,
            tier=self._plan.tier_name,
            model=answer.model or self._plan.tier.model,
            provider=self._plan.provider.name,
            usage=usage_of(answer, self._plan.prompt.bytes),
            cost=cost,
            ms=round((self._parts.clock.monotonic() - self._started) * 1000),
            task=self._run.request.task,
            status=status,
            finish_reason=answer.finish_reason,
            project=origin.project,
            session=origin.session,
            generation_id=answer.generation_id,
            at=self._parts.clock.now(),
        )
        self.tally = self.tally.plus(entry)
        changes = self.tally.changes
        try:
            with self._parts.jobs.joining(self._run.job_id, **changes, **(ending or {})) as change:
                await self._parts.budget.settle(hold, entry, change)
        except StoreError:  # the bill is booked later: the job says it when it ends
            self._parts.jobs.show(self._run.job_id, **changes)
            raise


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
