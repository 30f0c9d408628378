"""Takes agent requests in, runs each as a task of its own, and knows those that run here.

The counterpart of `calls` for whole tasks: checks what is asked, prepares the
session, and leaves an ended job behind whatever happens.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import logging
from collections import OrderedDict
from collections.abc import Coroutine
from typing import Any

import httpx

from workers_tui.engine.agents.agent_clients import AgentClients
from workers_tui.engine.agents.agent_intake import Intake, Plan
from workers_tui.engine.agents.agent_launch import Launch, ask_version, check_version, find_claude
from workers_tui.engine.agents.agent_limits import Limits
from workers_tui.engine.agents.agent_request import AgentRequest, FollowUp
from workers_tui.engine.agents.agent_run import AgentRun, Trace
from workers_tui.engine.agents.agent_sessions import Sessions
from workers_tui.engine.agents.agent_trace import TraceStep
from workers_tui.engine.agents.identities import Identities, find_root
from workers_tui.engine.agents.metering import Metering
from workers_tui.engine.agents.verdict import Verdict
from workers_tui.engine.agents.worker_board import WorkerBoard
from workers_tui.engine.board import Key, ServerView, Topic
from workers_tui.engine.calls.approval import decide, find_all
from workers_tui.engine.calls.parts import Parts
from workers_tui.engine.calls.queue import FairQueue, Place
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

log = logging.getLogger(__name__)

REMEMBERED = 100
DAY = 86_400.0
SERVER_WAIT = 15.0
"""Seconds that a run waits for the server to come up."""


class Agents:
    """The agents of this engine."""

    def __init__(
        self,
        parts: Parts,
        *,
        transport: httpx.AsyncBaseTransport | None = None,
        limits: Limits | None = None,
    ) -> None:
        self._parts = parts
        self.clients = AgentClients(transport)
        self.limits = limits or Limits()
        self.metering = Metering(parts)
        self.identities = Identities(find_root(parts.environ))
        self.sessions = Sessions(parts.home.agents)
        self.workers = WorkerBoard(parts, self.identities)
        self._intake = Intake(parts, self.identities, self.sessions)
        self.queue = FairQueue(lambda: parts.config.settings.agents.concurrency)
        self._runs: dict[str, Running] = {}
        self._ended: OrderedDict[str, Running] = OrderedDict()
        self._traces: dict[str, Trace] = {}
        self._busy: set[str] = set()
        """Sessions at work."""
        self._versions: dict[str, str] = {}
        self.closed: str | None = None
        """Why no new agents are taken."""

    async def start(self, request: AgentRequest, origin: Origin) -> Job:
        """Queue one agent. Raises WorkersError before a job exists."""
        self._refuse_closed()
        return await self._queue(await self._intake.start(request, origin), origin)

    async def followup(self, request: FollowUp, origin: Origin) -> Job:
        """Queue a further prompt for a session. Raises WorkersError before a job exists."""
        self._refuse_closed()
        plan = await self._intake.followup(request, origin)
        return await self._queue(plan, origin)

    def _refuse_closed(self) -> None:
        if self.closed is not None:
            raise PolicyRefused(f"no new agents are taken: {self.closed}")

    async def _queue(self, plan: Plan, origin: Origin) -> Job:
        if plan.session.id in self._busy:
            raise WrongUse("its session is still at work: wait for it or cancel it first")
        self._busy.add(plan.session.id)
        try:
            job = await self._parts.jobs.create(self._job(plan, origin))
        except BaseException:  # a cancel included: the session is free again
            self._busy.discard(plan.session.id)
            raise
        run = Running(job.id, CallRequest(plan.prompt), origin)
        self._runs[job.id] = run
        self._traces[job.id] = Trace(job.id, plan.session.id, self._parts, self.sessions)
        run.task = _own_task(self._run(run, job, plan))
        await asyncio.sleep(0)  # a task that is cancelled before it began would never end the job
        return job

    def _job(self, plan: Plan, origin: Origin) -> Job:
        parts, session = self._parts, plan.session
        return Job(
            id="",
            kind=JobKind.AGENT,
            state=JobState.QUEUED,
            task=plan.prompt,
            created_at=parts.clock.now(),
            engine=parts.id,
            model=session.model,
            worker=session.worker,
            provider=plan.identity.provider,
            project=origin.project,
            session=origin.session,
            tool_use_id=origin.tool_use_id,
            client=origin.client,
            agent_session=session.id,
            parent=plan.parent,
        )

    async def _run(self, run: Running, job: Job, plan: Plan) -> None:
        """The whole life of a job; it always leaves an ended job behind."""
        try:
            async with self.queue.place(run.line) as place:
                await self._ask_user(run, place, plan)
                await self._work(run, job, plan)
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
            self._busy.discard(plan.session.id)
            self._remember(run)
            with contextlib.suppress(WorkersError):
                await self.workers.show()
            run.finished.set()

    async def _ask_user(self, run: Running, place: Place, plan: Plan) -> None:
        """Return when the prompt may be sent. Raises SecretsRefused when it may not."""
        allow = self._parts.config.settings.allow_secrets
        found = await asyncio.to_thread(find_all, plan.prompt, (), allow)
        if found:
            await decide(self._parts, run, place, found, None, len(plan.prompt.encode()))

    async def _work(self, run: Running, job: Job, plan: Plan) -> None:
        parts = self._parts
        program = find_claude(parts.environ)
        await self._check_version(program)
        gateway = await self._gateway()
        await parts.jobs.change(job.id, state=JobState.RUNNING, attempts=1)
        await self.workers.show()
        trace = self._traces[job.id]
        work = AgentRun(parts, self.metering, self.limits, run, job, trace)
        account = self.metering.open(job, plan.identity, work.billed)
        launch = self._launch(plan, program, gateway, account.token)
        verdict = None
        try:
            verdict = await work.make(account, launch, plan.prompt)
            run.sealed = True
            await work.finish(verdict)
        finally:
            await asyncio.shield(self._close(work, trace, verdict))
        if verdict.failure is not None:
            raise verdict.failure

    async def _close(self, work: AgentRun, trace: Trace, verdict: Verdict | None) -> None:
        await trace.close()
        await work.commit(verdict)

    def _launch(self, plan: Plan, program: str, gateway: str, token: str) -> Launch:
        home = self._parts.home
        return Launch(
            program=program,
            session=plan.session,
            resume=plan.resume,
            directory=self.sessions.directory(plan.session.id),
            gateway=gateway,
            token=token,
            private=tuple({home.config, home.state, self.identities.root}),
        )

    async def _check_version(self, program: str) -> None:
        if program not in self._versions:
            environ = {"PATH": self._parts.environ.get("PATH", ""), "HOME": "/nonexistent"}
            self._versions[program] = await asyncio.to_thread(ask_version, program, environ)
        check_version(self._versions[program])

    async def _gateway(self) -> str:
        """Where the gateway listens. Raises WorkFailed when no server comes up."""
        board = self._parts.board
        watcher = board.watch()
        try:
            async with asyncio.timeout(SERVER_WAIT):
                while True:
                    view = board.get(Key(Topic.SERVER))
                    if isinstance(view, ServerView) and view.url:
                        return view.url.removesuffix("/mcp") + "/gateway"
                    await watcher.changed()
        except TimeoutError:
            raise WorkFailed(
                "agents need the server of `workers-tui` or `workers-tui serve`; none runs here"
            ) from None
        finally:
            watcher.close()

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
            job, _ = self._ended.popitem(last=False)
            self._traces.pop(job, None)

    def get(self, job_id: str) -> Running | None:
        """An agent of this engine that runs or ended lately."""
        return self._runs.get(job_id) or self._ended.get(job_id)

    @property
    def live(self) -> list[Running]:
        """The agents that run or wait now."""
        return list(self._runs.values())

    def cancel(self, job_id: str, by: str) -> bool:
        """Cancel an agent that runs here; False when none does."""
        run = self._runs.get(job_id)
        if run is not None:
            run.cancel(by)
        return run is not None

    def answer(self, job_id: str, *, accept: bool) -> None:
        """Answer the question of a waiting agent. Raises WrongUse when it asks nothing here."""
        run = self._runs.get(job_id)
        if run is None or run.verdict is None or run.verdict.done():
            raise WrongUse(f"job {job_id} asks nothing here")
        run.verdict.set_result(accept)

    def trace(self, job_id: str) -> list[TraceStep]:
        """The steps of an agent, oldest first, also of one that ended before a restart."""
        if job_id in self._traces:
            return list(self._traces[job_id].steps)
        job = self._parts.board.get(Key(Topic.JOB, job_id))
        if not isinstance(job, Job) or job.agent_session is None:
            return []
        return self.sessions.trace(job.agent_session, job_id)

    async def tidy(self) -> None:
        """Remove sessions that are too old, now and every day, until cancelled."""
        while True:
            await asyncio.to_thread(self.sessions.sweep, self._parts.clock.now())
            await self._parts.clock.sleep(DAY)

    async def drain(self, reason: str) -> None:
        """Take nothing new and wait until what runs has ended."""
        self.closed = reason
        await asyncio.gather(*(run.finished.wait() for run in self.live))

    async def close(self, by: str) -> None:
        """Take nothing new, cancel what runs, close every connection."""
        self.closed = self.closed or by
        for run in self.live:
            run.cancel(by)
        await asyncio.gather(*(run.finished.wait() for run in self.live))
        await self.clients.close()


def _own_task(work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
    """A task that inherits nothing from the tool that asked for it."""
    loop = asyncio.get_running_loop()
    return loop.create_task(work, context=contextvars.Context())
