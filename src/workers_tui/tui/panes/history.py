"""Jobs of all days as rows, newest first; older ones come when the cursor nears the end."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import ClassVar

from textual.message import Message

from workers_tui.engine.jobs.job import Job
from workers_tui.tui import marks, safe, words
from workers_tui.tui.lines import LineView, Row, row
from workers_tui.tui.panes.jobs import headline, tokens_out, worker

AHEAD = 60
"""Rows before the end at which more are asked for."""


class HistoryList(LineView):
    """One row a job."""

    SELECTS: ClassVar[bool] = True
    ALWAYS_SHOWS_CURSOR: ClassVar[bool] = True

    class NearEnd(Message):
        """The rows below the cursor are few: more are wanted."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's own name
        super().__init__(id=id)
        self.jobs: list[Job] = []
        self._now = datetime.now(UTC)
        self._note: Row = row((" Looking…", "dim"))

    @property
    def row_count(self) -> int:
        """Rows of jobs, or the words for none."""
        return len(self.jobs) or 1

    def row_at(self, index: int) -> Row:
        """The row of one job."""
        return self._row(self.jobs[index]) if self.jobs else self._note

    @property
    def selected(self) -> Job | None:
        """The job under the cursor."""
        return self.jobs[self.cursor] if self.cursor < len(self.jobs) else None

    def show(self, jobs: Sequence[Job], now: datetime) -> None:
        """Show other jobs from the top."""
        self.jobs = list(jobs)
        self._now = now
        self._note = row((" No job matches. ", "dim"), ("esc", "key"), (" shows all.", "dim"))
        self.cursor = 0
        self.scroll_to(y=0, animate=False, force=True)
        self.redraw_all()
        self.rows_resized()
        self.post_message(self.Moved(self, 0))

    def add(self, jobs: Sequence[Job]) -> None:
        """Older jobs below."""
        self.jobs += jobs
        self.rows_resized()

    def replace(self, job: Job) -> None:
        """A job has a newer value."""
        for index, known in enumerate(self.jobs):
            if known.id == job.id:
                self.jobs[index] = job
                self.redraw_row(index)
                return

    def move_cursor(self, index: int) -> None:
        """Move, and ask for more near the end."""
        super().move_cursor(index)
        if self.jobs and self.cursor + AHEAD >= len(self.jobs):
            self.post_message(self.NearEnd())

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Scrolling near the end asks for more, too."""
        super().watch_scroll_y(old_value, new_value)
        if self.jobs and new_value + self.size.height + AHEAD >= len(self.jobs):
            self.post_message(self.NearEnd())

    def _row(self, job: Job) -> Row:
        width = self.row_width
        mark = marks.mark(job)
        project = safe.fit(safe.one_line(words.folder(job.project or words.NOTHING)), 13) + " "
        wide = width >= 100
        fixed = 3 + 13 + 7 + 12 + (14 if wide else 0) + 8 + 8 + 8
        return row(
            (f" {mark.symbol} ", mark.style),
            (safe.fit(words.moment(job.created_at, self._now), 13), "dim"),
            (safe.fit(job.id, 7), "strong"),
            (safe.fit(worker(job), 11) + " ", ""),
            (project if wide else "", "dim"),
            (safe.fit(headline(job, self._now), max(8, width - fixed)), ""),
            (safe.fit_right(tokens_out(job), 8), "dim"),
            (safe.fit_right(words.cost(job.cost, cell=True), 8), ""),
            (safe.fit_right(_time(job), 8), "dim"),
        )  # fmt: skip


def _time(job: Job) -> str:
    return words.NOTHING if job.ms is None else words.milliseconds(job.ms)
