"""Takes calls in: checks what is asked, puts it down as a job, lets it run."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Sequence
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path

from workers_tui.engine.calls.call_flow import run_call
from workers_tui.engine.calls.choices import choices
from workers_tui.engine.calls.material import Material, gather
from workers_tui.engine.calls.running import Running
from workers_tui.engine.calls.runs import Runs
from workers_tui.engine.errors import WrongUse
from workers_tui.engine.jobs.job import CallRequest, Job, JobKind, JobState, Origin
from workers_tui.engine.settings.config import unknown_tier

BATCH = 100
BEGINNING = 0.05
"""Seconds within which a call that waits for nothing has sent its request."""


class Calls(Runs):
    """The calls of this engine."""

    kind = "calls"

    async def start(
        self, request: CallRequest, origin: Origin, *, parent: str | None = None
    ) -> Job:
        """Queue one call. Raises WrongUse, ConfigError or PolicyRefused before a job exists."""
        (job,) = await self.start_batch([request], origin, parent=parent)
        return job

    async def start_batch(
        self, requests: Sequence[CallRequest], origin: Origin, *, parent: str | None = None
    ) -> list[Job]:
        """Queue several calls; all or none."""
        if not 1 <= len(requests) <= BATCH:
            raise WrongUse(f"a batch takes 1 to {BATCH} jobs, not {len(requests)}")
        self.refuse_closed()
        return await self.whole(self._start(requests, origin, parent))

    async def again(self, job: Job, tier: str | None) -> Job:
        """Start a call once more as it was asked for."""
        run = self.get(job.id)
        roots = run.origin.roots if run else ()
        if not roots and job.project:
            roots = (Path(job.project),)
        request = run.request if run else _request_of(job)
        origin = Origin(roots, job.project, job.session, client=job.client)
        return await self.start(replace(request, tier=tier or request.tier), origin, parent=job.id)

    def _checked(self, request: CallRequest) -> CallRequest:
        settings = self._parts.config.usable()
        if not request.task.strip():
            raise WrongUse("the task is empty: say what the worker is to do")
        if request.tier != "auto" and request.tier not in settings.tiers:
            raise unknown_tier(request.tier, settings.tiers)
        if request.max_tokens is not None and request.max_tokens < 1:
            raise WrongUse(f"max_tokens must be at least 1, not {request.max_tokens}")
        clean = request.task.encode("utf-8", "replace").decode()
        return replace(request, task=clean)

    async def _start(
        self, requests: Sequence[CallRequest], origin: Origin, parent: str | None
    ) -> list[Job]:
        parts = self._parts
        await parts.config.refresh()
        checked = [self._checked(request) for request in requests]
        ahead = self._read_ahead(checked, origin)
        try:
            jobs = await parts.jobs.create_all([self._job(one, origin, parent) for one in checked])
        except BaseException:
            for task in ahead:
                task.cancel()
            raise
        for job, request, material in zip_longest(jobs, checked, ahead):
            parts.board.hurry(job.id, BEGINNING)
            run = Running(job.id, request, origin, material)
            self.begin(run, run_call(parts, run))
        return jobs

    def _job(self, request: CallRequest, origin: Origin, parent: str | None) -> Job:
        return Job(
            id="",
            kind=JobKind.CALL,
            state=JobState.QUEUED,
            task=request.task,
            created_at=self._parts.clock.now(),
            engine=self._parts.id,
            tier=None if request.tier == "auto" else request.tier,
            project=origin.project,
            session=origin.session,
            tool_use_id=origin.tool_use_id,
            client=origin.client,
            files=request.files,
            write_to=request.write_to,
            max_tokens=request.max_tokens,
            parent=parent,
        )

    def _read_ahead(
        self, requests: Sequence[CallRequest], origin: Origin
    ) -> list[asyncio.Task[Material]]:
        """Begin to read for calls that start at once; what goes wrong is the call's to say."""
        return [self._reading(one, origin) for one in requests[: self._parts.queue.room]]

    def _reading(self, request: CallRequest, origin: Origin) -> asyncio.Task[Material]:
        parts = self._parts
        work = gather(parts, choices(parts, request.tier), request, origin)
        ahead = asyncio.get_running_loop().create_task(work, context=contextvars.Context())
        ahead.add_done_callback(lambda task: task.cancelled() or task.exception())
        return ahead


def _request_of(job: Job) -> CallRequest:
    return CallRequest(job.task, job.tier or "auto", job.files, job.write_to, job.max_tokens)
