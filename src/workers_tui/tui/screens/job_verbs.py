"""What can be done with the job in view, the same by the same key on every screen."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Set as AbstractSet
from pathlib import Path

from workers_tui.engine.errors import WorkersError
from workers_tui.engine.jobs.job import Job, JobKind, JobState, Origin
from workers_tui.home.files import write_atomic
from workers_tui.tui import marks, pager, words
from workers_tui.tui.deeds import asks, does
from workers_tui.tui.keymap import bindings
from workers_tui.tui.screens.face import CLIENT, Face

JOB_DEEDS = (
    "accept", "reject", "cancel", "rerun", "rerun_on", "follow_up", "pager", "copy", "save",
)  # fmt: skip

PUBLIC_FILE = 0o644


class JobVerbs(Face):
    """A face with a job in view."""

    BINDINGS = bindings(*JOB_DEEDS)

    def __init__(self) -> None:
        super().__init__()
        self.unsent: dict[str, str] = {}
        """Tasks that were refused, by the job they go on with ("" for a new one).

        Nobody types one twice.
        """

    def job(self) -> Job | None:
        """The job in view."""
        raise NotImplementedError

    def hidden_hints(self) -> AbstractSet[str]:
        """Leave out what the job in view cannot do."""
        job = self.job()
        if job is None:
            return frozenset(JOB_DEEDS)
        hidden = set() if marks.asks(job) else {"accept", "reject"}
        hidden |= {"cancel"} if job.state.ended else {"rerun"}
        if job.kind is not JobKind.AGENT or not job.state.ended:
            hidden.add("follow_up")
        return hidden

    def _job_or_word(self) -> Job | None:
        job = self.job()
        if self.engine is None:
            self.say("The engine is still starting.")
            return None
        if job is None:
            self.say("No job is selected.")
        return job

    @does
    async def action_cancel(self) -> None:
        """Cancel the job; one that ended stays as it is."""
        job = self._job_or_word()
        if job is None or self.engine is None:
            return
        if job.state.ended:
            self.say(f"{job.id} has ended already.")
            return
        await self.attempt(self.engine.cancel(job.id))

    def action_accept(self) -> None:
        """Let a waiting job go on."""
        job = self._job_or_word()
        if job is None or self.engine is None:
            return
        if not marks.asks(job):
            self.say(f"{job.id} asks nothing.")
            return
        self._answer(job, accept=True)

    def action_reject(self) -> None:
        """Refuse what a waiting job asks."""
        job = self._job_or_word()
        if job is None or self.engine is None:
            return
        if not marks.asks(job):
            self.say(f"{job.id} asks nothing.")
            return
        self._answer(job, accept=False)

    def _answer(self, job: Job, *, accept: bool) -> None:
        if self.engine is None:
            return
        try:
            (self.engine.approve if accept else self.engine.reject)(job.id)
        except WorkersError as error:
            self.say(str(error))
        else:
            self.say(f"{job.id} goes on." if accept else f"{job.id} is refused; nothing was sent.")

    @does
    async def action_rerun(self) -> None:
        """The same task once more, on the same tier."""
        job = self._job_or_word()
        if job is not None:
            await self._rerun(job, job.tier)

    @asks
    async def action_rerun_on(self) -> None:
        """The same task on a tier that is chosen from a list."""
        job = self._job_or_word()
        if job is None or self.engine is None:
            return
        from workers_tui.tui.screens.pick import choose_tier  # loaded when first wanted

        tier = await choose_tier(self, f"Run {job.id} again on")
        if tier is not None:
            await self._rerun(job, tier)

    async def _rerun(self, job: Job, tier: str | None) -> None:
        if self.engine is None:
            return
        again = await self.attempt(self.engine.rerun(job.id, tier))
        if again is not None:
            self.say(f"{again.id} repeats {job.id}.")
            self.see_off(again)

    @asks
    async def action_follow_up(self) -> None:
        """Give an agent its next task."""
        job = self._job_or_word()
        if job is None or self.engine is None:
            return
        if job.kind is not JobKind.AGENT or not job.state.ended:
            self.say("Only an agent that has ended can be followed up.")
            return
        before = self.unsent.pop(job.id, "")
        task = await self.prompt(f"next task for {job.worker or job.id}:", before)
        if task and task.strip() and self.engine is not None:
            await self._follow_up(job, task.strip())

    async def _follow_up(self, job: Job, task: str) -> None:
        # Needs the agents' part of the engine, which is loaded by then.
        from workers_tui.engine.agents.agent_request import FollowUp

        if self.engine is None:
            return
        roots = (Path(job.project),) if job.project else (self.dashboard.folder,)
        origin = Origin(roots=roots, project=job.project, session=job.session, client=CLIENT)
        request = FollowUp(target=job.id, prompt=task)
        again = await self.attempt(self.engine.agents.followup(request, origin))
        if again is None:
            self.unsent[job.id] = task
        else:
            self.say(f"{again.id} follows up {job.id}.")
            self.see_off(again)

    def see_off(self, job: Job) -> None:
        """Say why a job that was begun here comes to nothing, if it does."""
        self.app.run_worker(self._say_why(job), group="deeds")

    async def _say_why(self, job: Job) -> None:
        engine = self.engine
        ended = await self.attempt(engine.ended(job.id)) if engine is not None else None
        if ended is not None and ended.error and ended.state is not JobState.CANCELLED:
            self.say(f"{ended.id}: {ended.error}")

    async def output(self, job: Job) -> str | None:
        """The whole output of a job."""
        if self.engine is None:
            return None
        text = await self.attempt(self.engine.text(job.id))
        if text == "":
            self.say(f"{job.id} has no output.")
        return text or None

    @does
    async def action_pager(self) -> None:
        """Show the output in the user's pager; the screen comes back afterwards."""
        job = self._job_or_word()
        text = await self.output(job) if job is not None else None
        if text is None:
            return
        trouble = await pager.show(self.dashboard, text)
        if trouble:
            self.say(trouble)

    @does
    async def action_copy(self) -> None:
        """Put the output on the clipboard."""
        job = self._job_or_word()
        text = await self.output(job) if job is not None else None
        if job is not None and text is not None:
            self.app.copy_to_clipboard(text)
            self.say(f"Copied the output of {job.id}, {words.size(len(text.encode()))}.")

    @asks
    async def action_save(self) -> None:
        """Write the output to a file of the user's choice."""
        job = self._job_or_word()
        text = await self.output(job) if job is not None else None
        if job is None or text is None:
            return
        typed = await self.prompt("save to:", f"{job.id}.txt", check=remark_on)
        if typed is None:
            return
        path = _target(typed)
        there = await asyncio.to_thread(os.path.lexists, path)
        if there and not await self.ask(f"replace {path.name}?"):
            return
        try:
            await asyncio.to_thread(write_atomic, path, text, mode=PUBLIC_FILE)
        except OSError as error:
            self.say(f"Not saved: {error.strerror or error} ({path})")
        else:
            self.say(f"Saved to {path}.")


def remark_on(typed: str) -> str:
    """What would become of a file name; with a `!` before it what keeps it from being saved."""
    if not typed.strip() or "\0" in typed:
        return "!type a file name"
    path = _target(typed)
    try:
        if path.is_dir():
            return "!this is a directory"
        if not path.parent.is_dir():
            return f"!there is no directory {path.parent}"
    except OSError as error:  # too long, or in a directory that may not be looked into
        return f"!cannot be used: {error.strerror or error}"
    return "exists; asks before it is replaced" if os.path.lexists(path) else f"in {path.parent}"


def _target(typed: str) -> Path:
    # Where `~name` is nobody's home pathlib raises; as a shell does, this leaves it as it is.
    return Path(os.path.expanduser(typed)).absolute()  # noqa: PTH111
