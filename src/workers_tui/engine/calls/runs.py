"""The runs of one kind of job: each a task of its own, known while it runs and a while after.

Who waits for a run waits for its outcome and never for the task itself: a
cancelled tool must not cancel the work, and a failed run must not end a tool.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
from collections import OrderedDict
from collections.abc import Coroutine
from typing import Any, TypeVar

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
from workers_tui.engine.jobs.job import JobState

log = logging.getLogger(__name__)

Started = TypeVar("Started")


class Runs:
    """What runs here, and what ended lately."""

    kind = "jobs"
    """What they are called when no new ones are taken."""
    remembered = 200
    """Ended ones whose text and failure stay in memory."""
    remembered_chars = 2_000_000
    """Of their texts together; the newest stays, however long. All are in the result files."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._runs: dict[str, Running] = {}
        self._ended: OrderedDict[str, Running] = OrderedDict()
        self._starting: set[asyncio.Task[Any]] = set()
        self.closed: str | None = None
        """Why no new ones are taken."""

    def refuse_closed(self) -> None:
        """Raise PolicyRefused when no new ones are taken."""
        if self.closed is not None:
            raise PolicyRefused(f"no new {self.kind} are taken: {self.closed}")

    async def whole(self, start: Coroutine[Any, Any, Started]) -> Started:
        """Go through with a start though its caller leaves: a part of one is a job nobody runs."""
        task = asyncio.get_running_loop().create_task(start, context=contextvars.Context())
        self._starting.add(task)
        task.add_done_callback(self._starting.discard)
        return await asyncio.shield(task)

    def begin(self, run: Running, work: Coroutine[Any, Any, None]) -> None:
        """Let a run live as a task that inherits nothing from the tool that asked for it."""
        self._runs[run.job_id] = run
        loop = asyncio.get_running_loop()
        run.task = loop.create_task(self._live(run, work), context=contextvars.Context())

    async def _live(self, run: Running, work: Coroutine[Any, Any, None]) -> None:
        """The whole life of a run; it always leaves an ended job behind."""
        try:
            await work
        except asyncio.CancelledError:
            by = run.cancelled_by or "the end of the program"
            await self._end(run, JobState.CANCELLED, JobCancelled(f"cancelled by {by}"))
        except Refused as error:
            await self._end(run, JobState.REFUSED, error)
        except WorkersError as error:
            await self._end(run, JobState.FAILED, error)
        except OSError as error:  # a disk that fails anywhere on the way is no defect of ours
            log.exception("job %s", run.job_id)
            place = f"cannot use {error.filename}: " if error.filename else ""
            await self._end(run, JobState.FAILED, WorkFailed(f"{place}{error.strerror or error}"))
        except Exception as error:  # a defect of ours must not leave a job that never ends
            log.exception("job %s", run.job_id)
            line = f"a defect in workers-tui ended it: {type(error).__name__}: {error}"
            await self._end(run, JobState.FAILED, WorkFailed(f"{line}; see the log"))
        finally:
            del self._runs[run.job_id]
            self._remember(run)
            await self.left(run)
            run.finished.set()

    async def _end(self, run: Running, state: JobState, failure: WorkersError) -> None:
        run.sealed = True
        run.failure = bare(failure)
        try:
            await self._parts.jobs.change(run.job_id, state=state, error=str(failure))
        except WorkersError as error:  # the store itself: say it, do not hang
            run.failure = bare(error)
            self._parts.events.tell("store", str(error), level=Level.ERROR, job=run.job_id)
            self._parts.jobs.show(run.job_id, state=JobState.FAILED, error=str(error))

    def _remember(self, run: Running) -> None:
        run.ahead = None  # what was read for it can be large
        self._ended[run.job_id] = run
        while len(self._ended) > 1 and self._too_much():
            self.forget(self._ended.popitem(last=False)[0])

    def _too_much(self) -> bool:
        chars = sum(run.kept for run in self._ended.values())
        return len(self._ended) > self.remembered or chars > self.remembered_chars

    async def left(self, run: Running) -> None:
        """A run's job has ended, and nobody who waits for it has heard of it yet."""

    def forget(self, job_id: str) -> None:
        """An ended run is remembered no longer."""

    def get(self, job_id: str) -> Running | None:
        """A run of this engine that goes on or ended lately."""
        return self._runs.get(job_id) or self._ended.get(job_id)

    @property
    def live(self) -> list[Running]:
        """What runs or waits now."""
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
        await self._started()
        await asyncio.gather(*(run.finished.wait() for run in self.live))

    async def close(self, by: str) -> None:
        """Take nothing new and cancel what runs."""
        self.closed = self.closed or by
        await self._started()
        for run in self.live:
            run.cancel(by)
        await asyncio.gather(*(run.finished.wait() for run in self.live))

    async def _started(self) -> None:
        """Until what was being started is a run like any other, or came to nothing."""
        if self._starting:
            await asyncio.wait(set(self._starting))


def bare(failure: WorkersError) -> WorkersError:
    """A failure to keep: without the way it took, whose frames hold files, prompts and answers."""
    failure.__cause__ = failure.__context__ = None
    return failure.with_traceback(None)
