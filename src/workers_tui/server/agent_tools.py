"""The tools for agent workers: start one, go on with one, see which there are."""

from __future__ import annotations

from collections.abc import Coroutine, Sequence
from typing import TYPE_CHECKING, Any

from workers_tui.engine.agents.agent_request import AgentRequest, FollowUp
from workers_tui.engine.agents.identities import WorkerView
from workers_tui.engine.board import Key, Topic
from workers_tui.engine.errors import WrongUse
from workers_tui.engine.jobs.job import Job
from workers_tui.server import replies
from workers_tui.server.call import Arguments, Call, begun
from workers_tui.server.following import follow_for
from workers_tui.server.replies import Reply
from workers_tui.server.roots import required

if TYPE_CHECKING:
    from workers_tui.engine.engine import Engine

NOT_FIELDS = ("job_id", "session_id", "wait_seconds")
LISTS = ("add_dirs", "allowed_tools", "disallowed_tools")


class AgentTools:
    """`delegate_start`, `delegate_followup`, `worker_models`."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def start(self, arguments: Arguments, call: Call) -> Reply:
        roots = required(await call.roots())
        request = AgentRequest(**_fields(arguments))
        origin = await call.origin(roots)
        start = self._engine.agents.start(request, origin)
        return await self._answer(self._begin(start), arguments, call)

    async def followup(self, arguments: Arguments, call: Call) -> Reply:
        named = [arguments[key] for key in ("job_id", "session_id") if key in arguments]
        if len(named) != 1:
            raise WrongUse("name the agent by job_id or by session_id")
        request = FollowUp(target=named[0], **_fields(arguments))
        roots = required(await call.roots())
        origin = await call.origin(roots)
        start = self._engine.agents.followup(request, origin)
        return await self._answer(self._begin(start), arguments, call)

    async def models(self, _: Arguments, __: Call) -> Reply:
        board = self._engine.board
        workers = [board.get(Key(Topic.WORKER, name)) for name in board.names(Topic.WORKER)]
        lines = [_line(worker) for worker in workers if worker is not None]
        return Reply("\n".join(lines) or "no agent worker yet: workers-tui worker presets")

    async def _begin(self, start: Coroutine[Any, Any, Job]) -> Sequence[Job]:
        return [await start]

    async def _answer(
        self, start: Coroutine[Any, Any, Sequence[Job]], arguments: Arguments, call: Call
    ) -> Reply:
        (job,) = await begun(call, start)
        now = await follow_for(self._engine, job.id, arguments.get("wait_seconds", 0), call.report)
        if now.state.ended:
            limit = min(self._engine.config.settings.max_return_chars, replies.PAGE)
            return replies.call_reply(now, await self._engine.text(now.id), limit)
        line = replies.status_line(now)
        return Reply(
            f'{line}\nfollow it with delegate_status(job_id="{now.id}", wait_seconds=60)',
            meta=replies.meta(now),
        )


def _line(worker: WorkerView) -> str:
    line = f"{worker.name}: {worker.model}, small {worker.small_model}, {worker.state}"
    return f"{line} ({worker.problem})" if worker.problem else line


def _fields(arguments: Arguments) -> dict[str, Any]:
    """A tool's arguments as the engine's request takes them."""
    if ("prompt" in arguments) == ("prompt_file" in arguments):
        raise WrongUse("give the work as prompt or as prompt_file")
    return {
        key: tuple(value) if key in LISTS else value
        for key, value in arguments.items()
        if key not in NOT_FIELDS
    }
