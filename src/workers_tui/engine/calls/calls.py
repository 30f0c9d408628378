"""Takes calls in, runs each as a task of its own, and knows those that run here.

Who waits for a call waits for its outcome and never for the task itself: a
cancelled tool must not cancel the work, and a failed call must not end a tool.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
from collections import OrderedDict
from collections.abc import Coroutine, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from workers_tui.engine.calls.call_flow import run_call
from workers_tui.engine.calls.choices import choices
from workers_tui.engine.calls.material import Material, gather
from workers_tui.engine.calls.parts import Parts
from workers_tui.engine.calls.running import Running
from workers_tui.engine.errors import (
    JobCancelled,
    PolicyRefused,
    Refused,
    WorkersError,
    WorkFailed,
    WrongUse,
)
from workers_tui.engine.events import Level
from workers_tui.engine.jobs.job import CallRequest, Job, JobKind, JobState, Origin
from workers_tui.engine.settings.config import unknown_tier

log = logging.getLogger(__name__)

BATCH = 100
REMEMBERED = 200
"""Ended jobs whose text and failure stay in memory."""


class Calls:
    """The calls of this engine."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._runs: dict[str, Running] = {}
        self._ended: OrderedDict[str, Running] = OrderedDict()
        self.closed: str | None = None
        """Why no new calls are taken."""

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
        if self.closed is not None:
            raise PolicyRefused(f"no new calls are taken: {self.closed}")
        self._parts.board.rush.note()
        await self._parts.config.refresh()
        checked = [self._checked(request) for request in requests]
        return [await self._start(request, origin, parent) for request in checked]

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

    async def _start(self, request: CallRequest, origin: Origin, parent: str | None) -> Job:
        parts = self._parts
        ahead = self._read_ahead(request, origin)
        job = await parts.jobs.create(
            Job(
                id="",
                kind=JobKind.CALL,
                state=JobState.QUEUED,
                task=request.task,
                created_at=parts.clock.now(),
                engine=parts.id,
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
        )
        run = Running(job.id, request, origin, ahead)
        self._runs[job.id] = run
        run.task = _own_task(self._run(run))
        return job

    def _read_ahead(self, request: CallRequest, origin: Origin) -> asyncio.Task[Material] | None:
        """Begin to read for a call that starts at once; what goes wrong is the call's to say."""
        parts = self._parts
        if not parts.queue.free:
            return None
        work = gather(parts, choices(parts, request.tier), request, origin)
        ahead = asyncio.get_running_loop().create_task(work, context=contextvars.Context())
        ahead.add_done_callback(lambda task: task.cancelled() or task.exception())
        return ahead

    async def _run(self, run: Running) -> None:
        """The whole life of a job; it always leaves an ended job behind."""
        try:
            await run_call(self._parts, run)
        except asyncio.CancelledError:
            by = run.cancelled_by or "the end of the program"
            await self._end(run, JobState.CANCELLED, JobCancelled(f"cancelled by {by}"))
        except Refused as error:
            await self._end(run, JobState.REFUSED, error)
        except WorkersError as error:
            await self._end(run, JobState.FAILED, error)
        except Exception as error:  # a defect of ours must not leave a job that never ends
            log.exception("job %s", run.job_id)
            line = f"a defect in workers-tui ended it: {type(error).__name__}: {error}"
            await self._end(run, JobState.FAILED, WorkFailed(f"{line}; see the log"))
        finally:
            del self._runs[run.job_id]
            self._remember(run)
            run.finished.set()

    async def _end(self, run: Running, state: JobState, failure: WorkersError) -> None:
        run.sealed = True
        run.failure = failure
        try:
            await self._parts.jobs.change(run.job_id, state=state, error=str(failure))
        except WorkersError as error:  # the store itself: say it, do not hang
            run.failure = error
            self._parts.events.tell("store", str(error), level=Level.ERROR, job=run.job_id)
            self._parts.jobs.show(run.job_id, state=JobState.FAILED, error=str(error))

    def _remember(self, run: Running) -> None:
        self._ended[run.job_id] = run
        while len(self._ended) > REMEMBERED:
            self._ended.popitem(last=False)

    def get(self, job_id: str) -> Running | None:
        """A job of this engine that runs or ended lately."""
        return self._runs.get(job_id) or self._ended.get(job_id)

    @property
    def live(self) -> list[Running]:
        """The jobs that run or wait now."""
        return list(self._runs.values())

    def cancel(self, job_id: str, by: str) -> None:
        """Cancel a job, if it runs here."""
        run = self._runs.get(job_id)
        if run is not None:
            run.cancel(by)

    def answer(self, job_id: str, *, accept: bool) -> None:
        """Answer the question of a waiting job. Raises WrongUse when it asks nothing here."""
        run = self._runs.get(job_id)
        if run is None or run.verdict is None or run.verdict.done():
            raise WrongUse(f"job {job_id} asks nothing here")
        run.verdict.set_result(accept)

    async def drain(self, reason: str) -> None:
        """Take nothing new and wait until what runs has ended."""
        self.closed = reason
        await asyncio.gather(*(run.finished.wait() for run in self.live))

    async def close(self, by: str) -> None:
        """Take nothing new and cancel what runs."""
        self.closed = self.closed or by
        for run in self.live:
            run.cancel(by)
        await asyncio.gather(*(run.finished.wait() for run in self.live))


def _request_of(job: Job) -> CallRequest:
    return CallRequest(job.task, job.tier or "auto", job.files, job.write_to, job.max_tokens)


def _own_task(work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
    """A task that inherits nothing from the tool that asked for it."""
    loop = asyncio.get_running_loop()
    return loop.create_task(work, context=contextvars.Context())
