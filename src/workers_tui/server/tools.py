"""The tools as verbs over the engine: arguments in, a reply in words out.

No protocol here: mcp_server.py brings the calls. This is the one place where a
WorkersError becomes a tool error.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from workers_tui.engine.errors import KeyRejected, PolicyRefused, WorkersError, WrongUse
from workers_tui.engine.jobs.job import CallRequest, Job, JobKind, JobState, Origin
from workers_tui.server import replies, schemas
from workers_tui.server.agent_tools import AgentTools
from workers_tui.server.arguments import check
from workers_tui.server.call import Arguments, Call, begun
from workers_tui.server.following import follow, follow_for
from workers_tui.server.replies import Reply
from workers_tui.server.roots import required
from workers_tui.server.sessions import Client
from workers_tui.server.stats_text import stats_text

if TYPE_CHECKING:
    from workers_tui.engine.engine import Engine

STATUS_LINES = 10
LISTED = 20
LINE_WAIT = 0.05
"""Seconds that a reply waits for lines of usage.jsonl under way: a slow disk must not hold it."""


class Tools:
    """Every tool of contract 4.5."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        agents = AgentTools(engine)
        self._verbs: Mapping[str, Callable[[Arguments, Call], Awaitable[Reply]]] = {
            "delegate": self.delegate,
            "delegate_batch": self.delegate_batch,
            "delegate_start": agents.start,
            "delegate_followup": agents.followup,
            "delegate_status": self.status,
            "delegate_result": self.result,
            "delegate_cancel": self.cancel,
            "delegate_list": self.jobs,
            "worker_stats": self.stats,
            "worker_models": agents.models,
        }
        self.shapes: dict[str, dict[str, Any]] = {
            made["name"]: made["inputSchema"] for made in schemas.tool_list("auto")
        }

    async def run(self, name: str, arguments: Mapping[str, Any], call: Call) -> Reply:
        """Run a tool; a WorkersError comes back as a reply that says so."""
        try:
            reply = await self._verb(name, call)(self._checked(name, arguments), call)
        except WorkersError as error:
            reply = Reply(explain(error, call.client), error=True)
        # Who reads usage.jsonl after a reply finds what was billed; it was written meanwhile.
        await self._engine.ledger.written(LINE_WAIT)
        return reply

    def _verb(self, name: str, call: Call) -> Callable[[Arguments, Call], Awaitable[Reply]]:
        if name not in self._verbs:
            raise WrongUse(f"there is no tool {name}; there are: {', '.join(self._verbs)}")
        if call.mode == "off" and name in schemas.DELEGATING:
            raise PolicyRefused("delegation is off: do this work yourself")
        return self._verbs[name]

    def _checked(self, name: str, arguments: Mapping[str, Any]) -> Arguments:
        """The arguments without nulls, which some models send for what they leave out."""
        given: Arguments = _without_nulls(dict(arguments))
        check(self.shapes[name], given)
        return given

    async def delegate(self, arguments: Arguments, call: Call) -> Reply:
        request = call_request(arguments)
        origin = await self._origin([request], call)
        (job,) = await begun(call, self._begin_one(request, origin))
        (ended,) = await follow(self._engine, [job], call.report)
        ended = self._explained(ended, call.client)
        return replies.call_reply(ended, await self._text(ended), self._limit())

    async def delegate_batch(self, arguments: Arguments, call: Call) -> Reply:
        """One bad entry is an error in its block; the others run."""
        requests = [_request_or_error(entry) for entry in arguments["jobs"]]
        origin = await self._origin([one for one in requests if isinstance(one, CallRequest)], call)
        entries = await begun(call, self._begin_each(requests, origin))
        jobs = [entry for entry in entries if isinstance(entry, Job)]
        ended = iter(await follow(self._engine, jobs, call.report) if jobs else [])
        parts: list[tuple[Job, str] | str] = []
        for entry in entries:
            if isinstance(entry, Job):
                job = self._explained(next(ended), call.client)
                parts.append((job, await self._text(job)))
            else:
                parts.append(explain(entry, call.client))
        return replies.batch_reply(parts, self._limit())

    async def status(self, arguments: Arguments, call: Call) -> Reply:
        job = await follow_for(
            self._engine, arguments["job_id"], arguments.get("wait_seconds", 0), call.report
        )
        lines = [replies.status_line(job)]
        limit = arguments.get("progress_limit", STATUS_LINES)
        if job.kind is JobKind.AGENT and limit:
            steps = self._engine.agents.trace(job.id)
            lines += [step.line() for step in steps[-limit:]]
        return Reply("\n".join(lines), meta=replies.meta(job))

    async def result(self, arguments: Arguments, call: Call) -> Reply:
        job = await follow_for(
            self._engine, arguments["job_id"], arguments.get("wait_seconds", 0), call.report
        )
        offset = arguments.get("offset", 0)
        return replies.page_reply(job, await self._engine.text(job.id), offset)

    async def cancel(self, arguments: Arguments, call: Call) -> Reply:
        job = await self._engine.job(arguments["job_id"])
        if job.state.ended:
            return Reply(f"job {job.id} had already ended: {job.state.value}")
        await self._engine.cancel(job.id, by=call.client.name or "client")
        return Reply(f"job {job.id} is being cancelled")

    async def jobs(self, arguments: Arguments, _: Call) -> Reply:
        state = arguments.get("state")
        if state is not None and state not in set(JobState):
            raise WrongUse(f"state is one of {', '.join(JobState)}")
        jobs = await self._engine.list_jobs(
            state=JobState(state) if state else None, limit=arguments.get("limit", LISTED)
        )
        lines = [f"{replies.status_line(job)} | {_title(job)}" for job in jobs]
        return Reply("\n".join(lines) or "no jobs")

    async def stats(self, _: Arguments, __: Call) -> Reply:
        return Reply(stats_text(await self._engine.stats()))

    def _explained(self, job: Job, client: Client) -> Job:
        """The job; when it failed for want of a key, with where the caller has one."""
        why = self._engine.failure(job.id)
        return job if why is None else replace(job, error=explain(why, client))

    async def _begin_each(
        self, requests: Sequence[CallRequest | WorkersError], origin: Origin
    ) -> list[Job | WorkersError]:
        begun_: list[Job | WorkersError] = []
        for request in requests:
            if isinstance(request, WorkersError):
                begun_.append(request)
                continue
            try:
                begun_.append(await self._engine.delegate(request, origin))
            except WorkersError as error:
                begun_.append(error)
        return begun_

    async def _begin_one(self, request: CallRequest, origin: Origin) -> Sequence[Job]:
        return [await self._engine.delegate(request, origin)]

    async def _origin(self, requests: list[CallRequest], call: Call) -> Origin:
        wants_files = any(request.files or request.write_to for request in requests)
        roots = required(await call.roots()) if wants_files else ()
        return await call.origin(roots)

    async def _text(self, job: Job) -> str:
        text: str = await self._engine.text(job.id)
        return text

    def _limit(self) -> int:
        return min(self._engine.config.settings.max_return_chars, replies.PAGE)


def call_request(arguments: Arguments) -> CallRequest:
    """One `delegate` as the engine takes it."""
    task = arguments["task"].strip()
    if not task:
        raise WrongUse("task is empty: say what to do")
    return CallRequest(
        task=task,
        tier=arguments.get("tier") or "auto",
        files=tuple(arguments.get("files", ())),
        write_to=arguments.get("write_to"),
        max_tokens=arguments.get("max_tokens"),
    )


def _request_or_error(arguments: Arguments) -> CallRequest | WorkersError:
    try:
        return call_request(arguments)
    except WorkersError as error:
        return error


def explain(error: WorkersError, client: Client) -> str:
    """The error's line; for a missing key also where the caller has one."""
    line = " ".join(str(error).split("\n"))
    if isinstance(error, KeyRejected) and client.told.keys:
        line += (
            f" ({', '.join(client.told.keys)} is set where the client runs, but keys are not "
            "passed between programs)"
        )
    return line


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(part) for key, part in value.items() if part is not None}
    if isinstance(value, list):
        return [_without_nulls(part) for part in value]
    return value


def _title(job: Job) -> str:
    return job.task.strip().split("\n")[0][:80]
