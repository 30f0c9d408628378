"""One agent run in a straight line: start, prompt, follow its events, end, judge.

Whatever happens, nothing of the process is left alive, everything under way is
booked, and the token is dead when the run returns.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

from workers_tui.engine.agents.agent_account import Account, Billed
from workers_tui.engine.agents.agent_events import Did, Ended, Happening, Progress, Said
from workers_tui.engine.agents.agent_launch import Launch, prepare
from workers_tui.engine.agents.agent_limits import Limits
from workers_tui.engine.agents.agent_process import AgentProcess
from workers_tui.engine.agents.agent_sessions import Sessions
from workers_tui.engine.agents.agent_trace import StepKind, TraceStep
from workers_tui.engine.agents.metering import Metering
from workers_tui.engine.agents.verdict import Circumstances, Verdict, judge
from workers_tui.engine.board import Key, Topic
from workers_tui.engine.calls.live_text import LiveText
from workers_tui.engine.calls.parts import Parts
from workers_tui.engine.calls.running import Running
from workers_tui.engine.jobs.job import Job, JobState, WaitingFor

STEPS_SHOWN = 500
"""Steps of a run that stay in memory; all of them are in the file."""
WRITE_EVERY = 0.5
"""Seconds that steps may wait for their file."""


@dataclass(eq=False)
class Trace:
    """The steps of one run: counted on the board, kept in memory and in a file."""

    job: str
    session: str
    parts: Parts
    sessions: Sessions
    steps: list[TraceStep] = field(default_factory=list)
    _count: int = 0
    _unwritten: list[TraceStep] = field(default_factory=list)
    _writing: asyncio.Task[None] | None = None

    def add(self, kind: StepKind, text: str = "", name: str = "", **more: Any) -> None:
        """Take a step."""
        self._count += 1
        step = TraceStep(self._count, self.parts.clock.now(), kind, text, name, **more)
        self.steps.append(step)
        del self.steps[:-STEPS_SHOWN]
        self._unwritten.append(step)
        self.parts.board.put(Key(Topic.TRACE, self.job), self._count)
        if self._writing is None or self._writing.done():
            self._writing = asyncio.ensure_future(self._write_soon())

    async def _write_soon(self) -> None:
        await asyncio.sleep(WRITE_EVERY)
        await self.flush()

    async def flush(self) -> None:
        """Everything so far is in the file; a full disk only costs the steps."""
        steps, self._unwritten = self._unwritten, []
        if not steps:
            return
        with contextlib.suppress(OSError):
            await asyncio.to_thread(self.sessions.add_steps, self.session, self.job, steps)

    async def close(self) -> None:
        """The run has ended."""
        if self._writing is not None:
            self._writing.cancel()
            await asyncio.gather(self._writing, return_exceptions=True)
        await self.flush()


class AgentRun:
    """One run of one job."""

    def __init__(
        self,
        parts: Parts,
        metering: Metering,
        limits: Limits,
        run: Running,
        job: Job,
        trace: Trace,
    ) -> None:
        self._parts = parts
        self._metering = metering
        self._limits = limits
        self._run = run
        self._job = job
        self._trace = trace
        self._progress = Progress()
        self._result: Mapping[str, Any] | None = None
        self._retrying = False
        self._bytes_out = 0
        """Size of the first request."""
        self._served = job.model

    def billed(self, one: Billed) -> None:
        """A request was booked: a step, and new sums on the board."""
        self._bytes_out = self._bytes_out or one.bytes_out
        self._served = one.model if one.agent is None else self._served
        text = f"{one.bytes_out / 1000:.1f} KB sent, in {one.usage.input} out {one.usage.output}"
        self._trace.add(
            StepKind.REQUEST,
            text if one.error is None else f"{text}: {one.error}",
            one.model,
            ok=one.status == "ok",
            agent=one.agent,
            usage=one.usage,
            cost=one.cost,
            ms=one.ms,
            bytes_out=one.bytes_out,
        )

    async def make(self, account: Account, launch: Launch, prompt: str) -> Verdict:
        """The verdict on the run. Raises WorkFailed when it cannot be started."""
        self._trace.add(StepKind.NOTE, rights(launch), "start")
        process = None
        try:
            await asyncio.to_thread(prepare, launch)
            process = await AgentProcess.start(launch, self._parts.environ)
            process.prompt(prompt)
            await self._follow(process, account)
            if self._result is not None:
                await process.leave(self._limits.linger)
        finally:
            code = await asyncio.shield(self._end(process, account, launch))
        known = Circumstances(
            code, process.complaint, account.refused, account.failure, account.trouble
        )
        return judge(self._result, known)

    async def _end(self, process: AgentProcess | None, account: Account, launch: Launch) -> int:
        """Nothing is alive, everything is booked, the token is dead."""
        try:
            return 0 if process is None else await self._end_process(process)
        finally:
            await self._metering.close(account)
            with contextlib.suppress(OSError):  # it opens nothing any more
                launch.token_file.unlink()

    async def _end_process(self, process: AgentProcess) -> int:
        try:
            if self._result is None:
                return await process.stop(self._limits.interrupt)
            return await process.stop_now()
        finally:
            process.close()

    async def _follow(self, process: AgentProcess, account: Account) -> None:
        """Until its result, the end of its output, a stall or a limit."""
        if self._job.result_path is None:
            return
        text = self._text(self._job.result_path)
        reading = asyncio.ensure_future(self._read(process, account, text))
        others = [
            asyncio.ensure_future(account.failed.wait()),
            asyncio.ensure_future(process.gone()),
        ]
        try:
            async with asyncio.timeout(self._limits.total):
                await asyncio.wait({reading, *others}, return_when=asyncio.FIRST_COMPLETED)
        except TimeoutError:
            account.fail(f"the run took longer than {self._limits.total / 60:.0f} minutes")
        finally:
            for task in (reading, *others):
                task.cancel()
            await asyncio.gather(reading, *others, return_exceptions=True)
            await text.close()
        if reading.done() and not reading.cancelled():
            reading.result()

    def _text(self, path: Path) -> LiveText:
        return LiveText.open(path, self._run, self._parts.board, self._parts.clock)

    async def _read(self, process: AgentProcess, account: Account, text: LiveText) -> None:
        events = aiter(process.events())
        while self._result is None:
            try:
                async with asyncio.timeout(self._limits.silence):
                    event = await anext(events)
            except StopAsyncIteration:
                return
            except TimeoutError:
                account.fail(f"the agent did nothing for {self._limits.silence / 60:.0f} minutes")
                return
            for happening in self._progress.feed(event):
                self._take(happening, text)
            await self._show_waiting()
            self._show(account)

    def _take(self, happening: Happening, text: LiveText) -> None:
        if isinstance(happening, Said):
            text.add(happening.text)
        elif isinstance(happening, Did):
            self._trace.add(
                happening.kind,
                happening.text,
                happening.name,
                ok=happening.ok,
                agent=happening.agent,
            )
        elif isinstance(happening, Ended):
            self._result = happening.raw

    async def _show_waiting(self) -> None:
        """The job waits while the client waits to ask again."""
        delay = self._progress.retry_in
        if (delay is not None) == self._retrying:
            return
        self._retrying = delay is not None
        if delay is None:
            await self._parts.jobs.change(self._job.id, state=JobState.RUNNING)
            return
        await self._parts.jobs.change(
            self._job.id,
            state=JobState.WAITING,
            waiting_for=WaitingFor.RETRY,
            retry_at=self._parts.clock.now() + timedelta(seconds=delay),
        )

    def _show(self, account: Account) -> None:
        progress = self._progress
        self._parts.jobs.show(
            self._job.id,
            turns=progress.turns,
            tool_calls=progress.tool_calls,
            last_action=progress.last_action,
            usage=account.usage,
            cost=account.cost,
        )

    async def finish(self, verdict: Verdict) -> None:
        """Put the last words in the result's place and commit the counts."""
        if verdict.failure is None and self._job.result_path is not None:
            self._run.restart("")
            text = self._text(self._job.result_path)
            text.add(verdict.text)
            await text.close()
        if verdict.own_cost_usd is not None:
            figure = f"Claude Code's own figure: ${verdict.own_cost_usd:.4f}"
            self._trace.add(StepKind.NOTE, figure, "end")

    async def commit(self, verdict: Verdict | None) -> None:
        """Counts and sums as they are at the end; the state follows."""
        usage, cost = await self._parts.ledger.of_job(self._job.id)
        progress = self._progress
        changes: dict[str, Any] = {
            "turns": progress.turns,
            "tool_calls": progress.tool_calls,
            "last_action": progress.summary(),
            "usage": usage,
            "cost": cost,
            "bytes_out": self._bytes_out,
            "model": self._served,
        }
        if verdict is not None:
            changes |= {"finish_reason": verdict.stop_reason, "truncated": verdict.truncated}
        if verdict is not None and verdict.failure is None:
            changes["state"] = JobState.DONE
            if (await self._parts.jobs.get(self._job.id)).state is JobState.WAITING:
                # A request that waited for the cap was given up by its subagent.
                await self._parts.jobs.change(self._job.id, state=JobState.RUNNING)
        await self._parts.jobs.change(self._job.id, **changes)


def rights(launch: Launch) -> str:
    """What the agent may do, in words: it is no sandbox."""
    session = launch.session
    places = ", ".join([session.cwd, *session.add_dirs])
    tools = ", ".join(session.tools) or "no tools"
    return (
        f"works in {places}; has your own rights on files; may use {tools};"
        f" permission mode {session.permission_mode}"
    )
