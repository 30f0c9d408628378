"""The left column of the first screen: the jobs, their filter, and the selected one's output."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from time import monotonic

from textual import on, work

from workers_tui.engine.board import Key, Topic
from workers_tui.engine.jobs.job import Job
from workers_tui.tui import filters, marks, safe, words
from workers_tui.tui.job_table import JobTable
from workers_tui.tui.job_words import agent_line
from workers_tui.tui.lines import LineView
from workers_tui.tui.live_text import LiveText
from workers_tui.tui.panes import explain
from workers_tui.tui.panes.frame import Frame
from workers_tui.tui.panes.jobs import JobList
from workers_tui.tui.panes.output import Output
from workers_tui.tui.screens.job_verbs import JobVerbs
from workers_tui.tui.screens.right_column import joined


class LeftColumn(JobVerbs):
    """A face with the jobs above the output of one of them."""

    def __init__(self, table: JobTable) -> None:
        super().__init__()
        self._table = table
        self._typed = ""
        """The filter in force."""
        self._live = LiveText()

    @property
    def job_list(self) -> JobList:
        """The jobs pane."""
        return self.query_one(JobList)

    def job(self) -> Job | None:
        """The selected job."""
        return self.job_list.selected

    def show_jobs(self, ids: set[str]) -> None:
        """The jobs of these ids have new values."""
        jobs = self.job_list
        jobs.tick_clock(self.now, monotonic())
        jobs.rows_moved()
        for job_id in ids:
            jobs.redraw_job(job_id)
        self._tell_jobs()
        selected = self.job()
        if selected is not None and selected.id in ids:
            self._tell_output(selected)
            self.update_hints()

    def _tell_jobs(self) -> None:
        active = self._table.active
        running = sum(map(marks.runs, active))
        asking = sum(map(marks.asks, active))
        queued = len(active) - running - asking
        said = [(f"{running} running", "run")] if running else []
        said += [(self._asking(asking), "bad")] if asking else []
        said += [(f"{queued} queued", "")] if queued else []
        ended = len(self._table) - len(active)
        said += [(f"{words.newest(len(self._table))}{ended} ended", "")] if ended else []
        note = [f"/{self._typed}  {len(self._table.rows)} shown"] if self._typed else []
        self.query_one("#jobs", Frame).tell(*joined(said), note=note)

    def _asking(self, jobs: int) -> str:
        if self.has_class("-tiny"):
            return f"{jobs} {'asks' if jobs == 1 else 'ask'}"
        return f"{jobs} {'waits' if jobs == 1 else 'wait'} for you"

    @on(LineView.Moved, "#job-list")
    def _selection_moved(self) -> None:
        job = self.job()
        self.update_hints()
        if job is None:
            self._live.leave()
            self.query_one(Output).explain(explain.nothing_selected())
            self.query_one("#output", Frame).tell()
            return
        self._tell_output(job)
        if self._live.job != job.id:
            self._live.leave()
            self._load(job)

    def _tell_output(self, job: Job) -> None:
        output = self.query_one(Output)
        said = safe.one_line(agent_line(job) or job.tier_reason or job.tier or "auto")
        if job.state.ended:
            output.finish()
            note = f"{marks.mark(job).word}{', cut at the limit' if job.truncated else ''}"
        else:
            note = "following" if output.following else "held · F follows"
        self.query_one("#output", Frame).tell(said, note=[note], name=job.id)

    @work(group="output", exclusive=True)
    async def _load(self, job: Job) -> None:
        engine = self.engine
        if engine is None:
            return
        text = await self.look_up(engine.text(job.id)) or ""
        selected = self.job()
        if selected is None or selected.id != job.id:
            return
        self._place_text(selected, text)

    def _place_text(self, job: Job, text: str) -> None:
        output = self.query_one(Output)
        added = self._live.enter(job.id, text)
        if not text:
            output.explain(explain.no_text(job))
        elif added is None:
            output.show_text(text, growing=not job.state.ended)
        else:
            output.add_text(added)
        if job.state.ended:
            output.finish()

    def show_output(self, keys: AbstractSet[Key]) -> None:
        """Text of the selected job may have come."""
        job, engine = self.job(), self.engine
        if job is None or engine is None:
            return
        if Key(Topic.JOB, job.id) in keys and self._live.job == job.id and not self._live.text:
            self._load(job)
        elif Key(Topic.OUTPUT, job.id) in keys and self._own(job):
            tail = engine.peek(job.id)
            if tail:
                self._place_text(job, tail)

    def _own(self, job: Job) -> bool:
        return self.engine is not None and job.engine == self.engine.id

    def explain_jobs(self) -> None:
        """What the list says while it is empty."""
        app = self.dashboard
        server = self.board.get(Key(Topic.SERVER)) if self.board else None
        if app.trouble:
            said = explain.trouble(app.trouble, app.home.log)
        elif self.engine is None:
            said = explain.starting(app.awaited)
        elif self._typed:
            said = explain.no_match()
        else:
            said = explain.no_jobs(server.clients if server is not None else 0)
        self.job_list.explain(said)
        self._selection_moved()

    async def type_filter(self) -> None:
        """Filter the jobs while it is typed."""
        before = self._typed
        typed = await self.prompt("filter:", before, check=filters.about, changed=self.filter)
        if typed is None:
            self.filter(before)

    def filter(self, typed: str) -> None:
        """Show only the jobs that pass; an empty filter shows all."""
        self._typed = typed.strip()
        wanted = filters.parse(self._typed)
        self._table.filter(wanted.passes if wanted else None)
        self.explain_jobs()
        self.job_list.rows_moved()
        self._tell_jobs()
        self.update_hints()

    def action_follow(self) -> None:
        """Follow the newest line, or stay."""
        output = self.query_one(Output)
        output.follow(not output.following)
        job = self.job()
        if job is not None:
            self._tell_output(job)

    def rows_moved(self) -> None:
        """Jobs settled."""
        self.job_list.rows_moved()

    def tick(self) -> None:
        """Clocks move; text of other engines' jobs is read from their files."""
        self.job_list.tick(self.now, monotonic())
        job = self.job()
        if job is not None and not job.state.ended and not self._own(job):
            self._load(job)
