"""A small engine for tests of the server: jobs end when the test says so, nothing is sent."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

from workers_tui.engine.board import Board, Key, Topic
from workers_tui.engine.clock import SystemClock
from workers_tui.engine.errors import UnknownJob, WorkersError
from workers_tui.engine.events import Events
from workers_tui.engine.jobs.job import CallRequest, Job, JobKind, JobState, Origin
from workers_tui.engine.money import Cost, CostSource
from workers_tui.engine.settings.settings import Settings, Tier
from workers_tui.engine.usage import Usage
from workers_tui.home.places import Home


async def _nothing() -> None:
    """What there is to refresh in settings that have no file."""


class FakeLedger:
    """Lines of usage.jsonl that are never under way."""

    async def written(self, patience: float) -> None:
        """Nothing is waited for."""


SETTINGS = Settings(
    tiers={"fast": Tier(model="m/fast", use="summaries"), "code": Tier(model="m/code", use="code")}
)


class FakeEngine:
    """The verbs of the engine's facade over a dictionary."""

    def __init__(self, home: Home, environ: Mapping[str, str] | None = None) -> None:
        self.id = "e1"
        self.home = home
        self.environ = dict(environ or {})
        self.clock = SystemClock()
        self.board = Board()
        self.events = Events(self.board, self.clock)
        self.config = SimpleNamespace(settings=SETTINGS, refresh=_nothing)
        self.agents = SimpleNamespace(trace=lambda _: [])
        self.ledger = FakeLedger()
        self.hold = False
        """Jobs wait for `release` instead of ending at once."""
        self.refusal: WorkersError | None = None
        self.answer = "the answer"
        self.asked: list[tuple[CallRequest, Origin]] = []
        self.cancelled: list[tuple[str, str]] = []
        self.drained: list[str] = []
        self.texts: dict[str, str] = {}
        self.failures: dict[str, WorkersError] = {}
        self.started = asyncio.Event()
        self._numbers = itertools.count(1)
        self._ends: dict[str, asyncio.Event] = {}

    async def delegate(self, request: CallRequest, origin: Origin) -> Job:
        if self.refusal is not None:
            raise self.refusal
        self.asked.append((request, origin))
        job = Job(
            id=f"job{next(self._numbers)}",
            kind=JobKind.CALL,
            state=JobState.RUNNING,
            task=request.task,
            created_at=datetime.now(UTC),
            engine=self.id,
            tier="fast",
            tier_reason="auto: short text",
            model="m/fast",
            project=origin.project,
            session=origin.session,
            tool_use_id=origin.tool_use_id,
            write_to=request.write_to,
        )
        self._ends[job.id] = asyncio.Event()
        self.board.put(Key(Topic.JOB, job.id), job)
        if not self.hold:
            self.finish(job.id)
        self.started.set()
        return job

    async def delegate_batch(self, requests: Sequence[CallRequest], origin: Origin) -> list[Job]:
        return [await self.delegate(request, origin) for request in requests]

    def finish(
        self, job_id: str, state: JobState = JobState.DONE, text: str | None = None, **more: Any
    ) -> None:
        """End a job."""
        self.texts[job_id] = self.answer if text is None else text
        ended = replace(
            self.now(job_id),
            state=state,
            ms=812,
            usage=Usage(100, 20),
            cost=Cost(123_000_000, CostSource.REPORTED),
            **more,
        )
        self.board.put(Key(Topic.JOB, job_id), ended)
        self._ends[job_id].set()

    def now(self, job_id: str) -> Job:
        job = self.board.get(Key(Topic.JOB, job_id))
        if not isinstance(job, Job):
            raise UnknownJob(f"there is no job {job_id}")
        return job

    async def ended(self, job_id: str) -> Job:
        await self._ends[job_id].wait()
        return self.now(job_id)

    async def job(self, job_id: str) -> Job:
        return self.now(job_id)

    def failure(self, job_id: str) -> WorkersError | None:
        return self.failures.get(job_id)

    async def list_jobs(
        self, *, state: JobState | None = None, limit: int = 100, **_: Any
    ) -> list[Job]:
        jobs = [self.now(name) for name in reversed(self.board.names(Topic.JOB))]
        return [job for job in jobs if state in {None, job.state}][:limit]

    async def text(self, job_id: str, offset: int = 0, limit: int | None = None) -> str:
        return self.texts.get(job_id, "")[offset:]

    def peek(self, job_id: str) -> str:
        return self.texts.get(job_id, "")

    async def cancel(self, job_id: str, by: str = "you") -> None:
        self.cancelled.append((job_id, by))
        if not self.now(job_id).state.ended:
            self.finish(job_id, JobState.CANCELLED, "", error=f"cancelled by {by}")

    async def stats(self) -> dict[str, Any]:
        part = {"calls": 2, "in": 10, "out": 4, "cost_usd": 0.5, "pending_calls": 1}
        part |= {"unknown_calls": 0, "held_usd": 0.1, "free_usd": 2.4}
        return {
            "day": "2026-11-29",
            "timezone": "UTC",
            "resets_at": "2026-11-30T00:00:00Z",
            "budget_usd": 3.0,
            "today": part,
            "all_time": part,
            "tiers": {"fast": {"today": part, "all_time": part}},
            "ledger": {"path": "usage.jsonl", "rows": 2, "bad_rows": 0},
        }

    async def drain(self, reason: str) -> None:
        self.drained.append(reason)
        for name in self.board.names(Topic.JOB):
            if not self.now(name).state.ended:
                self.finish(name, JobState.CANCELLED, "", error=f"cancelled: {reason}")
