"""Jobs of all days as rows, newest first; older ones come when the cursor nears the end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import ClassVar

from textual.message import Message
from textual.strip import Strip

from workers_tui.engine.jobs.job import Job
from workers_tui.tui import marks, safe, words
from workers_tui.tui.job_words import headline, tokens_out, worker
from workers_tui.tui.lines import LineView, Row, row
from workers_tui.tui.panes.one_line import OneLine

MARK, WHEN, JOB, COST, TIME, LAST = 3, 13, 7, 8, 8, 1
AHEAD = 60
"""Rows before the end at which more are asked for."""


@dataclass(frozen=True, slots=True)
class Columns:
    """Widths in cells at one width of the list; 0 leaves a column out."""

    worker: int
    project: int
    task: int
    out: int

    @classmethod
    def of(cls, width: int) -> Columns:
        """The columns that fit: narrow lists give up the project, then worker and tokens."""
        worker, out = (12, 8) if width >= 72 else (0, 0)
        project = 14 if width >= 100 else 0
        task = width - MARK - WHEN - JOB - worker - project - out - COST - TIME - LAST
        return cls(worker, project, max(8, task), out)


class HistoryHead(OneLine):
    """The names of the columns."""

    def line(self) -> Strip:
        """One line of names over their columns."""
        at = Columns.of(max(0, self.size.width - 1))  # the list keeps a cell for its scrollbar
        return self.plain_strip(
            " " * MARK
            + safe.fit("when", WHEN)
            + safe.fit("job", JOB)
            + safe.fit("worker", at.worker)
            + safe.fit("project", at.project)
            + safe.fit("task", at.task)
            + (safe.fit_right("out", at.out) if at.out else "")
            + safe.fit_right("$", COST)
            + safe.fit_right("time", TIME)
        )


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
        at = Columns.of(self.row_width)
        mark = marks.mark(job)
        project = safe.one_line(words.folder(job.project or words.NOTHING))
        return row(
            (f" {mark.symbol} ", mark.style),
            (safe.fit(words.moment(job.created_at, self._now), WHEN), "dim"),
            (safe.fit(job.id, JOB), "strong"),
            (_column(worker(job, at.worker - 1), at.worker), ""),
            (_column(project, at.project), "dim"),
            (_column(headline(job, self._now), at.task), ""),
            (safe.fit_right(tokens_out(job), at.out) if at.out else "", "dim"),
            (safe.fit_right(words.cost(job.cost, cell=True), COST), ""),
            (safe.fit_right(_time(job), TIME), "dim"),
        )


def _column(text: str, width: int) -> str:
    """A text that leaves a blank before the next column."""
    return safe.fit(text, width - 1) + " " if width else ""


def _time(job: Job) -> str:
    return words.NOTHING if job.ms is None else words.took(job.ms)
