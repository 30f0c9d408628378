"""All jobs of all days and engines, searched in the store."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import Any

from textual import on, work
from textual.app import ComposeResult

from workers_tui.engine.board import Key, Topic
from workers_tui.engine.jobs.job import Job, JobKind, JobState
from workers_tui.tui import filters
from workers_tui.tui.deeds import asks
from workers_tui.tui.keymap import bindings
from workers_tui.tui.lines import LineView
from workers_tui.tui.panes.frame import Frame
from workers_tui.tui.panes.history import HistoryHead, HistoryList
from workers_tui.tui.screens.job_verbs import JOB_DEEDS, JobVerbs
from workers_tui.tui.screens.moves import Moves

PAGE = 200


class HistoryScreen(JobVerbs, Moves):
    """One list that grows downwards."""

    BINDINGS = bindings("back", "open", "filter", *JOB_DEEDS)

    def __init__(self, typed: str = "") -> None:
        """`typed`: what it is searched for at first."""
        super().__init__()
        self._typed = typed
        self._complete = False

    def body(self) -> ComposeResult:
        """The list."""
        yield Frame("History", HistoryHead(), HistoryList(), id="full", corners=("top", "top"))

    def opened(self) -> None:
        """It has the focus."""
        self.query_one(HistoryList).focus()
        self._search()

    def job(self) -> Job | None:
        """The job under the cursor."""
        return self.query_one(HistoryList).selected

    def show(self, keys: AbstractSet[Key]) -> None:
        """Newer values of the jobs in the list."""
        self.show_spend(keys)
        for key in keys:
            if key.topic is Topic.JOB and self.board is not None:
                job = self.board.get(key)
                if job is not None:
                    self.query_one(HistoryList).replace(job)

    @work(group="search", exclusive=True)
    async def _search(self) -> None:
        if self.engine is None:
            return
        self._complete = False
        found = await self.look_up(self.engine.list_jobs(**wanted(self._typed), limit=PAGE))
        if found is not None:
            self._complete = len(found) < PAGE
            self.query_one(HistoryList).show(found, self.now)
            self._tell()

    @on(HistoryList.NearEnd)
    def _near_end(self) -> None:
        if not self._complete:
            self._more()

    @work(group="more", exclusive=False)
    async def _more(self) -> None:
        listed = self.query_one(HistoryList)
        before = len(listed.jobs)
        if self.engine is None or self._complete or not before:
            return
        self._complete = True  # until the answer says that there is more
        more = await self.look_up(
            self.engine.list_jobs(**wanted(self._typed), limit=PAGE, offset=before)
        )
        if more is not None and len(listed.jobs) == before:
            listed.add(more)
            self._complete = len(more) < PAGE
        self._tell()

    def _tell(self) -> None:
        count = len(self.query_one(HistoryList).jobs)
        said = f"{count:,} jobs" if self._complete else f"newest {count:,} jobs, more below"
        self.query_one(Frame).tell(said, note=[f"/{self._typed}"] if self._typed else [])

    @on(LineView.Moved)
    def _moved(self) -> None:
        self.update_hints()

    @on(LineView.Chosen)
    def action_open(self) -> None:
        """Open the job."""
        job = self.job()
        if job is not None:
            from workers_tui.tui.screens.detail import DetailScreen  # loaded when first wanted

            self.app.push_screen(DetailScreen(job.id))

    @asks
    async def action_filter(self) -> None:
        """Search while it is typed."""
        before = self._typed
        typed = await self.prompt("search:", before, check=filters.about, changed=self._try)
        self._try(before if typed is None else typed)

    def _try(self, typed: str) -> None:
        if typed.strip() != self._typed:
            self._typed = typed.strip()
            self._search()

    def action_back(self) -> None:
        """Drop the search, then leave."""
        if self._typed:
            self._try("")
        else:
            super().action_back()


def wanted(typed: str) -> dict[str, Any]:
    """A typed filter as the store's own terms."""
    asked = filters.parse(typed)
    terms: dict[str, Any] = {}
    for name in ("tier", "worker", "project", "session"):
        if asked.value(name):
            terms[name] = asked.value(name)
    said = asked.value("state")
    if said:
        terms["state"] = [state for state in JobState if state.value.startswith(said)]
    kind = asked.value("kind")
    if kind:
        terms["kind"] = next((known for known in JobKind if known.value.startswith(kind)), None)
    text = " ".join(part for part in (asked.value("id"), asked.value("model"), asked.text) if part)
    if text:
        terms["text"] = text
    return terms
