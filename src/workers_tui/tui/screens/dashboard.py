"""The first screen: jobs and their output on the left, money and tiers on the right.

It places panes, hands them what the board says, and turns keys into verbs.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from contextlib import ExitStack
from time import monotonic
from typing import TYPE_CHECKING

from textual import on, work
from textual.app import ComposeResult
from textual.containers import Container, Vertical

from workers_tui.engine.board import Key, Topic
from workers_tui.engine.jobs.job import CallRequest, Job, Origin
from workers_tui.tui import filters, marks, safe, words
from workers_tui.tui.job_table import JobTable
from workers_tui.tui.keymap import bindings
from workers_tui.tui.lines import LineView
from workers_tui.tui.live_text import LiveText
from workers_tui.tui.panes import explain
from workers_tui.tui.panes.budget import BudgetView
from workers_tui.tui.panes.events import EventList
from workers_tui.tui.panes.frame import Frame
from workers_tui.tui.panes.header import Header
from workers_tui.tui.panes.jobs import JobList, JobsHead, agent_line
from workers_tui.tui.panes.output import Output
from workers_tui.tui.panes.savings import SavingsView
from workers_tui.tui.panes.tiers import TierList
from workers_tui.tui.rates import Rates
from workers_tui.tui.screens.job_verbs import JobVerbs
from workers_tui.tui.screens.moves import Moves
from workers_tui.tui.screens.right_column import RightColumn, joined
from workers_tui.tui.screens.settings_verbs import SettingsVerbs

if TYPE_CHECKING:
    from workers_tui.engine.calls.tiers import TierView

CONNECT = "workers-tui connect"
PANES = ("jobs", "output", "tiers", "budget", "savings", "events")


class DashboardScreen(JobVerbs, SettingsVerbs, RightColumn, Moves):
    """Everything at one look."""

    BINDINGS = [  # noqa: RUF012 - Textual's own way
        *bindings(
            "cancel", "accept", "reject", "open", "edit", "try_tier", "cap", "pause", "filter",
            "history", "rerun", "follow_up", "pager", "copy", "save", "follow", "cancel_all",
            "ask", "undo", "first_steps", "jobs", "tiers", "budget", "savings", "events", "workers",
            "back",
        ),
    ]  # fmt: skip

    def __init__(self, table: JobTable, rates: Rates) -> None:
        super().__init__()
        self._table = table
        self._rates = rates
        self._typed = ""
        self._live = LiveText()

    def body(self) -> ComposeResult:
        """Two columns; a narrow screen stacks them and closes the right panes."""
        with Container(id="columns"):
            with Vertical(id="left"):
                yield Frame(
                    "Jobs", JobsHead(), JobList(self._table, self._rates, id="job-list"), id="jobs"
                )
                yield Frame(
                    "Output", Output(id="output-text"), id="output", corners=("seam", "seam")
                )
            with Vertical(id="right"):
                yield Frame("Tiers", TierList(id="tier-list"), id="tiers", corners=("top", "seam"))
                yield Frame(
                    "Budget", BudgetView(id="budget-view"), id="budget", corners=("seam", "seam")
                )
                yield Frame(
                    "Savings",
                    SavingsView(id="savings-view"),
                    id="savings",
                    corners=("seam", "bottom"),
                )
                yield Frame(
                    "Events", EventList(id="event-list"), id="events", corners=("seam", "seam")
                )

    def on_mount(self) -> None:
        """The jobs have the focus."""
        self.job_list.focus()
        self._explain_jobs()

    @property
    def job_list(self) -> JobList:
        """The jobs pane."""
        return self.query_one(JobList)

    def job(self) -> Job | None:
        """The selected job."""
        return self.job_list.selected

    def tier(self) -> TierView | None:
        """The tier of the tiers pane's cursor while it has the focus, else the selected job's."""
        listed = self.query_one(TierList)
        job = self.job()
        if not listed.has_focus and job is not None and job.tier is not None and self.board:
            found: TierView | None = self.board.get(Key(Topic.TIER, job.tier))
            return found or listed.selected
        return listed.selected

    def on_resize(self) -> None:
        """Corners follow the layout."""
        for frame in self.query(Frame):
            frame.narrow(self.narrow)

    def show(self, keys: AbstractSet[Key]) -> None:
        """Hand on what changed."""
        topics = {key.topic for key in keys}
        if Topic.JOB in topics or not keys:
            self._show_jobs({key.name for key in keys if key.topic is Topic.JOB})
        for key in keys:
            if key.topic is Topic.OUTPUT:
                self.job_list.redraw_job(key.name)
        self._show_output(keys)
        if Topic.SPEND in topics:
            self.show_spend(keys)
            self.show_budget()
        if topics & {Topic.TIER, Topic.CONFIG}:
            self.show_tiers()
        if topics & {Topic.SAVINGS, Topic.SPEND}:
            self.show_savings()
        if Topic.EVENT in topics:
            self.show_events()
        if not keys or topics & {Topic.SERVER, Topic.CONFIG, Topic.PROVIDER}:
            self._explain_jobs()

    def rows_moved(self) -> None:
        """Jobs settled."""
        self.job_list.rows_moved()

    def tick(self) -> None:
        """Clocks move; text of other engines' jobs is read from their files."""
        self.job_list.tick(self.now, monotonic())
        job = self.job()
        if job is not None and not job.state.ended and not self._own(job):
            self._load(job)

    def _show_jobs(self, ids: set[str]) -> None:
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
        said += (
            [(f"{asking} {'waits' if asking == 1 else 'wait'} for you", "bad")] if asking else []
        )
        said += [(f"{queued} queued", "")] if queued else []
        ended = len(self._table) - len(active)
        said += [(f"{ended} ended", "")] if ended or not said else []
        note = [f"/{self._typed}  {len(self._table.rows)} shown"] if self._typed else []
        self.query_one("#jobs", Frame).tell(*joined(said), note=note)

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
        text = await self.attempt(engine.text(job.id)) or ""
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

    def _show_output(self, keys: AbstractSet[Key]) -> None:
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

    def _explain_jobs(self) -> None:
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

    @work(group="filter", exclusive=True)
    async def action_filter(self) -> None:
        """Filter the events while they have the focus, else the jobs, while it is typed."""
        events = self.query_one(EventList)
        if events.has_focus:
            if await self.prompt("filter events:", "", changed=events.filter) is None:
                events.filter("")
            return
        before = self._typed
        label = "filter (state: tier: project: session: words):"
        if await self.prompt(label, before, changed=self._filter) is None:
            self._filter(before)

    def _filter(self, typed: str) -> None:
        self._typed = typed.strip()
        wanted = filters.parse(self._typed)
        self._table.filter(wanted.passes if wanted else None)
        self._explain_jobs()
        self.job_list.rows_moved()
        self._tell_jobs()

    def action_back(self) -> None:
        """Drop the filter, then go to the jobs."""
        if self._typed:
            self._filter("")
        self.query_one(EventList).filter("")
        self.job_list.focus()

    def action_pane(self, name: str) -> None:
        """Go to a pane; the same key again, or a closed pane, opens it in full."""
        frame = self.query_one(f"#{name}", Frame)
        if name != "jobs" and (self.narrow or frame.has_pseudo_class("focus-within")):
            self._open_in_full(name)
        else:
            frame.enter()

    @on(Frame.Pressed)
    def _title_clicked(self, event: Frame.Pressed) -> None:
        self._open_in_full(str(event.frame.id))

    def _open_in_full(self, name: str) -> None:
        from workers_tui.tui.screens import full  # loaded when first wanted

        made = full.screen(name)
        if made is not None:
            self.app.push_screen(made)

    def action_open(self) -> None:
        """Open what the cursor is on."""
        focused = self.focused
        if isinstance(focused, TierList):
            self._open_in_full("tiers")
        elif isinstance(focused, EventList):
            event = focused.selected
            if event is not None and event.job:
                self._open_job(event.job)
        else:
            job = self.job()
            if job is not None:
                self._open_job(job.id)

    def _open_job(self, job_id: str) -> None:
        from workers_tui.tui.screens.detail import DetailScreen  # loaded when first wanted

        self.app.push_screen(DetailScreen(job_id))

    @on(LineView.Chosen)
    def _row_chosen(self) -> None:
        self.action_open()

    def action_workers(self) -> None:
        """The agent workers."""
        from workers_tui.tui.screens.workers import WorkersScreen  # loaded when first wanted

        if self.engine is not None:
            self.app.push_screen(WorkersScreen())

    def action_history(self) -> None:
        """All jobs of all days."""
        from workers_tui.tui.screens.history import HistoryScreen  # loaded when first wanted

        if self.engine is not None:
            self.app.push_screen(HistoryScreen())

    def action_follow(self) -> None:
        """Follow the newest line, or stay."""
        output = self.query_one(Output)
        output.follow(not output.following)
        job = self.job()
        if job is not None:
            self._tell_output(job)

    @work(group="verb")
    async def action_cancel_all(self) -> None:
        """Cancel everything, asked once."""
        if self.engine is None:
            return
        active = self._table.active
        if not active:
            self.say("No job runs.")
            return
        if await self.ask(f"cancel {words.plural(len(active), 'job')}?"):
            for job in active:
                await self.attempt(self.engine.cancel(job.id))

    def action_ask(self) -> None:
        """A call from here; what is typed from now on is no key."""
        if self.engine is not None:
            typing = ExitStack()
            typing.enter_context(self.typing())
            self._take_task(typing)

    @work(group="verb")
    async def _take_task(self, typing: ExitStack) -> None:
        """Its files are read from the directory the dashboard runs in."""
        with typing:
            task = await self.prompt("task for a worker:")
            if not task or not task.strip() or self.engine is None:
                return
            origin = Origin(roots=(self.dashboard.folder,), client="dashboard")
            request = CallRequest(task=task.strip())
            job = await self.attempt(self.engine.delegate(request, origin))
            if job is not None:
                self.say(f"{job.id} is queued.")

    def action_rerun(self) -> None:  # type: ignore[override]
        """Run the job again; when nothing runs at all, try to start again."""
        if self.dashboard.trouble:
            self.dashboard.begin()
        else:
            super().action_rerun()

    def main_pane(self) -> LineView:
        """The jobs."""
        return self.job_list

    @on(Header.CapClicked)
    def _cap_clicked(self) -> None:
        self.action_cap()
