"""The first screen: jobs and their output on the left, money and tiers on the right.

It places panes, hands them what the board says, and turns keys into verbs.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING

from textual import on
from textual.app import ComposeResult
from textual.containers import Container, Vertical

from workers_tui.engine.board import Key, Topic
from workers_tui.engine.jobs.job import CallRequest, Origin
from workers_tui.tui import words
from workers_tui.tui.deeds import asks
from workers_tui.tui.job_table import JobTable
from workers_tui.tui.keymap import bindings
from workers_tui.tui.lines import LineView
from workers_tui.tui.panes.budget import BudgetView
from workers_tui.tui.panes.events import EventList
from workers_tui.tui.panes.frame import Frame
from workers_tui.tui.panes.header import Header
from workers_tui.tui.panes.jobs import JobList, JobsHead
from workers_tui.tui.panes.output import Output
from workers_tui.tui.panes.savings import SavingsView
from workers_tui.tui.panes.tiers import TierList
from workers_tui.tui.rates import Rates
from workers_tui.tui.screens.face import CLIENT
from workers_tui.tui.screens.left_column import LeftColumn
from workers_tui.tui.screens.moves import Moves
from workers_tui.tui.screens.right_column import RightColumn
from workers_tui.tui.screens.settings_verbs import SettingsVerbs

if TYPE_CHECKING:
    from workers_tui.engine.calls.tiers import TierView


class DashboardScreen(LeftColumn, RightColumn, SettingsVerbs, Moves):
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
        super().__init__(table)
        self._rates = rates

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

    def opened(self) -> None:
        """The jobs have the focus."""
        self.on_resize()
        self.job_list.focus()
        self.explain_jobs()

    def tier(self) -> TierView | None:
        """The tier of the tiers pane's cursor while it has the focus, else the selected job's."""
        listed = self.query_one(TierList)
        job = self.job()
        if not listed.has_focus and job is not None and job.tier is not None and self.board:
            found: TierView | None = self.board.get(Key(Topic.TIER, job.tier))
            return found or listed.selected
        return listed.selected

    def hidden_hints(self) -> AbstractSet[str]:
        """Nothing to go back from while all jobs are listed and have the focus."""
        back = bool(self._typed) or not self.job_list.has_focus
        return super().hidden_hints() if back else {*super().hidden_hints(), "back"}

    def on_resize(self) -> None:
        """Corners follow the layout."""
        for frame in self.query(Frame):
            frame.narrow(self.narrow)

    def show(self, keys: AbstractSet[Key]) -> None:
        """Hand on what changed."""
        topics = {key.topic for key in keys}
        if Topic.JOB in topics or not keys:
            self.show_jobs({key.name for key in keys if key.topic is Topic.JOB})
        for key in keys:
            if key.topic is Topic.OUTPUT:
                self.job_list.redraw_job(key.name)
        self.show_output(keys)
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
            self.explain_jobs()

    def action_back(self) -> None:
        """Drop the filter, then go to the jobs."""
        self.filter("")
        self.filter_events("")
        self.job_list.focus()

    @asks
    async def action_filter(self) -> None:
        """Filter the events while they have the focus, else the jobs."""
        if self.query_one(EventList).has_focus:
            await self.type_event_filter()
        else:
            await self.type_filter()

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

    def action_first_steps(self) -> None:
        """Show the first steps again."""
        from workers_tui.tui.screens.first_steps import FirstSteps  # loaded when first wanted

        if self.engine is not None:
            self.app.push_screen(FirstSteps())

    @asks
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

    @asks
    async def action_ask(self) -> None:
        """A call from here; its files are read from the directory the dashboard runs in."""
        with self.typing():
            task = await self.prompt("task for a worker:", self.unsent.pop("", ""))
            if not task or not task.strip() or self.engine is None:
                return
            origin = Origin(roots=(self.dashboard.folder,), client=CLIENT)
            request = CallRequest(task=task.strip())
            job = await self.attempt(self.engine.delegate(request, origin))
            if job is None:
                self.unsent[""] = task
            else:
                self.say(f"{job.id} is queued.")
                self.see_off(job)

    def action_rerun(self) -> None:
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
