"""One job in full: the facts on the left, its output or an agent's steps on the right."""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from textual import work
from textual.app import ComposeResult
from textual.containers import Container

from workers_tui.engine.board import Key, Topic
from workers_tui.engine.jobs.job import Job, JobKind
from workers_tui.tui import marks, safe
from workers_tui.tui.keymap import bindings
from workers_tui.tui.lines import LineView, row
from workers_tui.tui.live_text import LiveText
from workers_tui.tui.panes.facts import FactsView
from workers_tui.tui.panes.frame import Frame
from workers_tui.tui.panes.output import Output
from workers_tui.tui.panes.trace import Trace
from workers_tui.tui.screens.job_verbs import JOB_DEEDS, JobVerbs
from workers_tui.tui.screens.moves import Moves


class DetailScreen(JobVerbs, Moves):
    """Everything about one job."""

    BINDINGS = [  # noqa: RUF012 - Textual's own way
        *bindings("back", *JOB_DEEDS, "steps", "follow"),
    ]

    def __init__(self, job_id: str) -> None:
        super().__init__()
        self._job_id = job_id
        self._job: Job | None = None
        self._live = LiveText()

    def body(self) -> ComposeResult:
        """Facts and text, side by side where there is room."""
        with Container(id="columns"):
            yield Frame("Job", FactsView(), id="facts", corners=("top", "top"))
            yield Frame("Output", Output(), Trace(), id="text", corners=("top", "seam"))

    def opened(self) -> None:
        """The text has the focus: it is what one scrolls."""
        self.on_resize()
        self.query_one(Trace).display = False
        self.query_one(Output).focus()
        self._load()

    def on_resize(self) -> None:
        """Corners follow the layout."""
        for frame in self.query("#text").results(Frame):  # none if it was left while it opened
            frame.narrow(self.narrow)

    def job(self) -> Job | None:
        """The job shown."""
        return self._job

    def hidden_hints(self) -> AbstractSet[str]:
        """Only agents have steps."""
        agent = self._job is not None and self._job.kind is JobKind.AGENT
        return {*super().hidden_hints(), *(() if agent else ("steps",))}

    def show(self, keys: AbstractSet[Key]) -> None:
        """Hand on what changed."""
        self.show_spend(keys)
        if Key(Topic.JOB, self._job_id) in keys and self.board is not None:
            self._show_job(self.board.get(Key(Topic.JOB, self._job_id)) or self._job)
        if Key(Topic.OUTPUT, self._job_id) in keys:
            self._load_text()
        if Key(Topic.TRACE, self._job_id) in keys:
            self._load_steps()

    def tick(self) -> None:
        """The clock of a running job; text of another engine's job is read again."""
        if self._job is not None and not self._job.state.ended:
            self._show_job(self._job)
            if self.engine is not None and self._job.engine != self.engine.id:
                self._load()

    @work(group="load", exclusive=True)
    async def _load(self) -> None:
        if self.engine is None:
            return
        job = await self.look_up(self.engine.job(self._job_id))
        if job is None:
            return
        self._show_job(job)
        if job.kind is JobKind.AGENT:
            self.action_steps()
        self._load_text()

    def _show_job(self, job: Job | None) -> None:
        if job is None:
            return
        ended = job.state.ended and not (self._job and self._job.state.ended)
        self._job = job
        self.query_one(FactsView).show(job, self.now)
        mark = marks.mark(job)
        self.query_one("#facts", Frame).tell((mark.word, ""), name=job.id)
        if ended:
            self._load_text()
        self.update_hints()

    @work(group="text", exclusive=True)
    async def _load_text(self) -> None:
        engine, job = self.engine, self._job
        if engine is None or job is None:
            return
        own = job.engine == engine.id and not job.state.ended
        text = engine.peek(job.id) if own else await self.look_up(engine.text(job.id)) or ""
        output = self.query_one(Output)
        added = self._live.enter(job.id, text)
        if not text:
            output.explain([row((f" {self._nothing(job)}", "dim"))])
        elif added is None:
            output.show_text(text, growing=not job.state.ended)
        else:
            output.add_text(added)
        if job.state.ended:
            output.finish()
        self._tell_text()

    @staticmethod
    def _nothing(job: Job) -> str:
        if job.error:
            return safe.one_line(job.error)
        return "No output." if job.state.ended else "No output yet."

    def _tell_text(self) -> None:
        job, output = self._job, self.query_one(Output)
        if job is None:
            return
        steps = self.query_one(Trace).display
        note = "" if job.state.ended else "following" if output.following else "held · F follows"
        other = "s shows the output" if steps else "s shows the steps"
        said = other if job.kind is JobKind.AGENT else ""
        self.query_one("#text", Frame).tell(
            *([said] if said else []),
            note=[note] if note else [],
            name="Steps" if steps else "Output",
        )

    def action_steps(self) -> None:
        """Change between an agent's output and its steps."""
        if self._job is None or self._job.kind is not JobKind.AGENT:
            self.say("Only agents have steps.")
            return
        trace, output = self.query_one(Trace), self.query_one(Output)
        trace.display, output.display = output.display, trace.display
        (trace if trace.display else output).focus()
        if trace.display:
            self._load_steps()
        self._tell_text()

    def _load_steps(self) -> None:
        if self.engine is not None and self.query_one(Trace).display:
            self.query_one(Trace).show(self.engine.agents.trace(self._job_id))

    def action_follow(self) -> None:
        """Follow the newest line, or stay."""
        output = self.query_one(Output)
        output.follow(not output.following)
        self._tell_text()

    def action_open(self) -> None:
        """Already here."""

    def main_pane(self) -> LineView:
        """The text."""
        return self.query_one(Output)
