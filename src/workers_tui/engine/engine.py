"""One engine: builds the nouns, starts what runs beside them, closes it all.

The verbs that front ends call are a line or two to the noun they belong to.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack
from typing import Any

from workers_tui.engine.agents.agent_runs import Agents
from workers_tui.engine.background import Background
from workers_tui.engine.build import build_parts
from workers_tui.engine.calls.bills import Bills
from workers_tui.engine.calls.calls import Calls
from workers_tui.engine.calls.parts import Parts
from workers_tui.engine.calls.running import Running
from workers_tui.engine.calls.tier_board import TierBoard
from workers_tui.engine.errors import WorkersError, WrongUse
from workers_tui.engine.events import Level
from workers_tui.engine.gate_file import GateFile
from workers_tui.engine.jobs.job import CallRequest, Job, JobKind, Origin
from workers_tui.engine.jobs.results import read_result
from workers_tui.engine.options import EngineOptions
from workers_tui.engine.recovery import Recovered, keep_recovering, recover
from workers_tui.engine.shapes import job_json
from workers_tui.engine.spending.reconcile import Drift, Reconciler
from workers_tui.engine.stats import Stats
from workers_tui.engine.transcripts.follow_transcripts import FollowOptions, TranscriptFollower

__all__ = ["Engine", "EngineOptions"]

PRICES_EVERY = 3600.0
"""Seconds between looks whether a provider's list has grown old."""


class Engine:
    """Everything behind the front ends. Made by `start`, ended by `close`."""

    def __init__(self, options: EngineOptions, parts: Parts, opened: AsyncExitStack) -> None:
        self.parts = parts
        self.id = parts.id
        self.home = parts.home
        self.environ = parts.environ
        self.clock = parts.clock
        self.board = parts.board
        self.events = parts.events
        self.store = parts.store
        self.config = parts.config
        self.jobs = parts.jobs
        self.budget = parts.budget
        self.ledger = parts.ledger
        self.prices = parts.prices
        self.providers = parts.providers
        self.upstream = parts.upstream
        self.queue = parts.queue
        self.calls = Calls(parts)
        self.agents = Agents(parts, transport=options.transport)
        self.savings = TranscriptFollower(
            FollowOptions(self.home, self.environ, options.claude_dirs or (), options.config),
            parts.store,
            parts.board,
            parts.events,
            parts.clock,
        )
        self.background = Background(parts.events)
        self._opened = opened
        bills = Bills(parts.providers, parts.upstream)
        self.reconciler = Reconciler(
            parts.store, parts.ledger, parts.jobs, parts.clock, bills.cost, bills.key
        )
        self._gate = GateFile(parts.home, parts.board, lambda: parts.config.settings, parts.events)
        self._tiers = TierBoard(
            parts.board, lambda: parts.config.settings, parts.providers, parts.prices
        )

    @classmethod
    async def start(cls, options: EngineOptions) -> Engine:
        """A working engine. Raises WorkersError when the home or the store cannot be used."""
        async with AsyncExitStack() as opened:
            parts = await build_parts(options, opened)
            engine = cls(options, parts, opened)
            opened.push_async_callback(engine.background.close)
            await engine._load()
            engine._start_background(options)
            engine._opened = opened.pop_all()
        return engine

    async def _load(self) -> None:
        """Take over what is on disk, and clean up after engines that died."""
        if self.store.set_aside is not None:
            text = f"the store was damaged; it is kept as {self.store.set_aside}, its sums are back"
            self.events.tell("store", text, level=Level.ERROR)
        await self.ledger.load()
        recovered = await recover(self.home, self.store, self.jobs, self.budget, self.clock)
        self._tell_recovered(recovered)
        await self.jobs.load()
        self.jobs.on_cancel(self._cancel)
        await self.prices.load_lists()
        await self.budget.refresh()
        self.config.on_change(self._settings_changed)
        self.reconciler.on_settled(self._settled)
        self.providers.show()
        await self.agents.workers.show()
        await self._tiers.load(self.jobs)

    def _start_background(self, options: EngineOptions) -> None:
        start = self.background.start
        start(self._tiers.follow(), "job")
        start(self.budget.keep_fresh(), "budget")
        start(self.jobs.save_late(), "job")
        start(
            keep_recovering(
                self.home, self.store, self.jobs, self.budget, self.clock, self._tell_recovered
            ),
            "store",
        )
        if options.follow_transcripts:
            start(self.savings.run(), "savings")
        if options.watch:
            start(self.reconciler.run(), "budget")
            start(self.config.watch(), "config")
            start(self.agents.workers.follow(), "worker")
            start(self.agents.tidy(), "worker")
            start(self._refresh_prices(), "provider")
            start(self._gate.follow(), "config")

    def _tell_recovered(self, found: Recovered) -> None:
        if found:
            text = (
                f"another program ended without good-bye. Jobs lost: {found.jobs}; "
                f"holds booked as estimates: {found.holds}"
            )
            self.events.tell("store", text, level=Level.WARNING)

    def _settings_changed(self) -> None:
        """The cap, the tiers, the number of places: all count from now on."""
        self.queue.move()
        self.agents.queue.move()
        self.providers.show()
        self._tiers.show()
        if self._tiers.unpriced:
            self.background.start(self._price_tiers(), "provider")
        self.background.start(self.budget.refresh(), "budget")

    async def _refresh_prices(self) -> None:
        while True:
            for provider in self.providers.all():
                await self.prices.freshen(provider.name)
            await self._price_tiers()
            await self.clock.sleep(PRICES_EVERY)

    async def _price_tiers(self) -> None:
        """Show the tiers; the large table is loaded only for what no better source knows."""
        self._tiers.show()
        if self._tiers.unpriced:
            await self.prices.load_table()
            self._tiers.show()

    async def _settled(self, found: Drift) -> None:
        what = "1 open cost" if found.settled == 1 else f"{found.settled} open costs"
        self.events.tell("budget", f"the provider settled {what}")
        await self.budget.refresh()

    async def reconcile(self) -> Drift:
        """Settle open costs now and compare the day with every provider's key."""
        drift = await self.reconciler.reconcile(one.name for one in self.providers.all())
        await self.budget.refresh()
        return drift

    async def drain(self, reason: str) -> None:
        """Take nothing new and wait until every job here has ended."""
        await asyncio.gather(self.calls.drain(reason), self.agents.drain(reason))

    async def close(self) -> None:
        """Cancel what runs, settle it, and close everything."""
        by = "the end of the program"
        await asyncio.gather(self.calls.close(by), self.agents.close(by))
        await self._opened.aclose()

    async def delegate(self, request: CallRequest, origin: Origin) -> Job:
        """Queue one call. Raises WrongUse, ConfigError or PolicyRefused before a job exists."""
        return await self.calls.start(request, origin)

    async def delegate_batch(self, requests: Sequence[CallRequest], origin: Origin) -> list[Job]:
        """Queue several calls; all or none."""
        return await self.calls.start_batch(requests, origin)

    async def job(self, job_id: str) -> Job:
        """The job as it is. Raises UnknownJob."""
        return await self.jobs.get(job_id)

    async def list_jobs(self, **wanted: Any) -> list[Job]:
        """Jobs of all days and engines, newest first; see `Jobs.find`."""
        return await self.jobs.find(**wanted)

    async def ended(self, job_id: str) -> Job:
        """The job once it has ended, whichever engine runs it."""
        run = self._running(job_id)
        if run is None:
            return await self.jobs.ended(job_id)
        await run.finished.wait()
        return await self.jobs.get(run.job_id)

    def failure(self, job_id: str) -> WorkersError | None:
        """Why a job of this engine did not end well, as the error that ended it."""
        run = self._running(job_id)
        return run.failure if run else None

    async def text(self, job_id: str, offset: int = 0, limit: int | None = None) -> str:
        """The job's text, or a part of it, also while it comes."""
        run = self._running(job_id)
        whole = run.whole() if run else None
        if whole is not None:
            return whole[offset : None if limit is None else offset + limit]
        job = await self.jobs.get(job_id)
        if job.result_path is None:
            return ""
        return await asyncio.to_thread(read_result, job.result_path, offset, limit)

    def peek(self, job_id: str) -> str:
        """The newest text of a job of this engine, without waiting for anything."""
        run = self._running(job_id)
        return run.tail() if run else ""

    async def cancel(self, job_id: str, by: str = "you") -> None:
        """Cancel a job, whichever engine runs it. Raises UnknownJob, WrongUse when it has ended."""
        job = await self.jobs.get(job_id)
        if job.state.ended:
            raise WrongUse(f"job {job.id} has ended already: {job.state.value}")
        await self.jobs.ask_cancel(job.id, by)

    def _cancel(self, job_id: str, by: str) -> None:
        self.calls.cancel(job_id, by)
        self.agents.cancel(job_id, by)

    def _running(self, job_id: str) -> Running | None:
        return self.calls.get(job_id) or self.agents.get(job_id)

    def approve(self, job_id: str) -> None:
        """Let a job go on that waits for the user."""
        self._answer(job_id, accept=True)

    def reject(self, job_id: str) -> None:
        """Refuse a job that waits for the user."""
        self._answer(job_id, accept=False)

    def _answer(self, job_id: str, *, accept: bool) -> None:
        owner = self.calls if self.agents.get(job_id) is None else self.agents
        owner.answer(job_id, accept=accept)

    async def rerun(self, job_id: str, tier: str | None = None) -> Job:
        """Do a call once more, on another tier if one is named."""
        job = await self.jobs.get(job_id)
        if job.kind is not JobKind.CALL:
            raise WrongUse(f"job {job.id} is an agent's: follow it up instead")
        return await self.calls.again(job, tier)

    def pause(self) -> None:
        """Start nothing new; what runs goes on."""
        self.queue.pause()
        self.agents.queue.pause()

    def resume(self) -> None:
        """Start again, and use paused providers again."""
        self.providers.resume()
        self.queue.resume()
        self.agents.queue.resume()

    async def stats(self) -> dict[str, Any]:
        """The numbers of contract 4.7, `stats`."""
        return await Stats(self.budget, self.ledger, self.config).all()

    @staticmethod
    def job_json(job: Job) -> dict[str, Any]:
        """A row of contract 4.7, `jobs`."""
        return job_json(job)
