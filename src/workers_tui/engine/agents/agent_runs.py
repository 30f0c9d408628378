"""Takes agent requests in: checks what is asked, prepares the session, lets it run.

The counterpart of `calls` for whole tasks.
"""

from __future__ import annotations

import asyncio
import contextlib

import httpx

from workers_tui.engine.agents.agent_clients import AgentClients
from workers_tui.engine.agents.agent_intake import Intake, Plan
from workers_tui.engine.agents.agent_launch import (
    Launch,
    ask_version,
    check_version,
    claude_program,
)
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
from workers_tui.engine.calls.runs import Runs
from workers_tui.engine.errors import (
    WorkersError,
    WorkFailed,
    WrongUse,
)
from workers_tui.engine.jobs.job import CallRequest, Job, JobKind, JobState, Origin

DAY = 86_400.0
SERVER_WAIT = 15.0
"""Seconds that a run waits for the server to come up."""


class Agents(Runs):
    """The agents of this engine."""

    kind = "agents"
    remembered = 100

    def __init__(
        self,
        parts: Parts,
        *,
        transport: httpx.AsyncBaseTransport | None = None,
        limits: Limits | None = None,
    ) -> None:
        super().__init__(parts)
        self.clients = AgentClients(transport)
        self.limits = limits or Limits()
        self.metering = Metering(parts)
        self.identities = Identities(find_root(parts.environ))
        self.sessions = Sessions(parts.home.agents)
        self.workers = WorkerBoard(parts, self.identities)
        self._intake = Intake(parts, self.identities, self.sessions)
        self.queue = FairQueue(lambda: parts.config.settings.agents.concurrency)
        self._traces: dict[str, Trace] = {}
        self._busy: set[str] = set()
        """Sessions at work."""
        self._recent: set[str] = set()
        """Programs that are not too old; one that is may be replaced while we run."""

    async def start(self, request: AgentRequest, origin: Origin) -> Job:
        """Queue one agent. Raises WorkersError before a job exists."""
        self.refuse_closed()
        plan = await self._intake.start(request, origin)
        return await self.whole(self._queue(plan, origin))

    async def followup(self, request: FollowUp, origin: Origin) -> Job:
        """Queue a further prompt for a session. Raises WorkersError before a job exists."""
        self.refuse_closed()
        plan = await self._intake.followup(request, origin)
        return await self.whole(self._queue(plan, origin))

    async def _queue(self, plan: Plan, origin: Origin) -> Job:
        self.refuse_closed()
        if plan.session.id in self._busy:
            raise WrongUse("its session is still at work: wait for it or cancel it first")
        self._busy.add(plan.session.id)
        try:
            job = await self._parts.jobs.create(self._job(plan, origin))
        except BaseException:  # a cancel included: the session is free again
            self._busy.discard(plan.session.id)
            raise
        run = Running(job.id, CallRequest(plan.prompt), origin)
        self._traces[job.id] = Trace(job.id, plan.session.id, self._parts, self.sessions)
        self.begin(run, self._run(run, job, plan))
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
        async with self.queue.place(run.line) as place:
            await self._ask_user(run, place, plan)
            await self._work(run, job, plan)

    async def _ask_user(self, run: Running, place: Place, plan: Plan) -> None:
        """Return when the prompt may be sent. Raises SecretsRefused when it may not."""
        allow = self._parts.config.settings.allow_secrets
        found = await asyncio.to_thread(find_all, plan.prompt, (), allow)
        if found:
            await decide(self._parts, run, place, found, None, len(plan.prompt.encode()))

    async def _work(self, run: Running, job: Job, plan: Plan) -> None:
        parts = self._parts
        program = claude_program(parts.environ)
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
        if program not in self._recent:
            environ = {"PATH": self._parts.environ.get("PATH", ""), "HOME": "/nonexistent"}
            check_version(await ask_version(program, environ))
            self._recent.add(program)

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

    async def left(self, run: Running) -> None:
        self._busy.discard(self._traces[run.job_id].session)
        with contextlib.suppress(WorkersError):
            await self.workers.show()

    def forget(self, job_id: str) -> None:
        self._traces.pop(job_id, None)

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

    async def close(self, by: str) -> None:
        """Take nothing new, cancel what runs, close every connection."""
        await super().close(by)
        await self.clients.close()
