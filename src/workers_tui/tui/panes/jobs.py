"""The list of jobs: fixed columns, stable rows, a selection that sticks to its job.

It is given a table of jobs and the ids that changed; rows are drawn one by one
and kept until their job, their clock or the width changes.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import ClassVar

from rich.style import Style
from textual.strip import Strip

from workers_tui.engine.jobs.job import Job
from workers_tui.tui import job_words, marks, safe, words
from workers_tui.tui.job_table import JobTable
from workers_tui.tui.lines import LineView, Part, Row, row
from workers_tui.tui.panes.one_line import OneLine
from workers_tui.tui.rates import Rates

HELD_FOR = 900.0
"""Seconds for which a choice of the user holds the view; left alone, it goes back to the top."""


@dataclass(frozen=True, slots=True)
class Columns:
    """Widths in cells at one width of the list; 0 leaves a column out."""

    job: int
    worker: int
    task: int
    speed: int
    out: int
    cost: int
    time: int

    @classmethod
    def of(cls, width: int, id_width: int = 5) -> Columns:
        """The columns that fit: narrow lists give up speed, then output."""
        job = id_width
        worker = 15 if width >= 90 else 11 if width >= 70 else 8
        speed = 6 if width >= 74 else 0
        out = 7 if width >= 66 else 0
        cost, time = 8, 7
        gaps = 3 + 2 + 2
        task = width - job - worker - speed - out - cost - time - gaps
        return cls(job, worker, max(8, task), speed, out, cost, time)


class JobsHead(OneLine):
    """The names of the columns."""

    def line(self) -> Strip:
        """One line of names over their columns."""
        at = Columns.of(max(0, self.size.width - 1))  # the list keeps a cell for its scrollbar
        names = (
            "   ",
            safe.fit("job", at.job),
            "  ",
            safe.fit("worker", at.worker),
            " ",
            safe.fit("task", at.task),
            safe.fit_right("tok/s", at.speed) if at.speed else "",
            safe.fit_right("out", at.out) if at.out else "",
            safe.fit_right("$", at.cost),
            safe.fit_right("time", at.time),
        )
        return self.plain_strip("".join(names))


class JobList(LineView):
    """The rows."""

    SELECTS: ClassVar[bool] = True
    ALWAYS_SHOWS_CURSOR: ClassVar[bool] = True

    def __init__(self, table: JobTable, rates: Rates, *, id: str | None = None) -> None:  # noqa: A002 - Textual's own name
        super().__init__(id=id)
        self.table = table
        self._rates = rates
        self._monotonic = 0.0
        self._now = datetime.now(UTC)
        self._selected: str | None = None
        self._columns = Columns.of(80)
        self._empty: tuple[Row, ...] = ()
        self._ids: list[str] = []
        self._touched = -HELD_FOR
        """When the user last moved the cursor or the view, on the monotonic clock."""
        self._scrolls_by_itself = False

    @property
    def selected(self) -> Job | None:
        """The job under the cursor."""
        return self.table.get(self._selected) if self._selected else None

    @property
    def row_count(self) -> int:
        """Rows of jobs, or of the words that stand for none."""
        return len(self._ids) or len(self._empty)

    def explain(self, rows: Iterable[Row]) -> None:
        """What to show, and to do, while there is no job."""
        said = tuple(rows)
        if said != self._empty:
            self._empty = said
            if not self._ids:
                self.redraw_all()
                self.rows_resized()

    def tick_clock(self, now: datetime, monotonic: float) -> None:
        """The time that rows drawn from now on show."""
        self._now, self._monotonic = now, monotonic

    def tick(self, now: datetime, monotonic: float) -> None:
        """A second passed: clocks of running jobs move."""
        self.tick_clock(now, monotonic)
        for job in self.table.active:
            self.redraw_job(job.id)

    def redraw_job(self, job_id: str) -> None:
        """A job's row has new content."""
        index = self.table.index(job_id)
        if index is not None:
            self.redraw_row(index)

    def rows_moved(self) -> None:
        """The table's order changed: what is in sight keeps its place, the selection its job."""
        before, self._ids = self._ids, self.table.rows
        if not before or not self._ids:
            self._select_by_itself(0)
            self.redraw_all()
            self.rows_resized()
            return
        top, new_top = self.scroll_offset.y, self._top_after(before)
        self._keep_drawn(before)
        self._follow_selection(new_top)
        moved = [
            line
            for line in range(self.size.height)
            if _name_at(before, top + line) != _name_at(self._ids, new_top + line)
        ]
        if moved:  # as one region: Textual works for each by itself
            self.refresh_lines(new_top + moved[0], moved[-1] - moved[0] + 1)
        if len(before) != len(self._ids):
            self.rows_resized()
        if new_top != top:
            self._scroll_by_itself(new_top)

    def select(self, job_id: str) -> None:
        """Put the cursor on a job."""
        index = self.table.index(job_id)
        if index is not None:
            self.move_cursor(index)

    def move_cursor(self, index: int) -> None:
        """Move; the selection is the job there."""
        if self._ids:
            self._touched = time.monotonic()
            self._selected = self._ids[max(0, min(index, len(self._ids) - 1))]
            super().move_cursor(index)

    def row_at(self, index: int) -> Row:
        """The row of one job."""
        if not self._ids:
            return self._empty[index]
        job = self.table.get(self._ids[index])
        return self._row(job) if job is not None else ()

    def row_style(self, index: int) -> Style:
        """No cursor on words."""
        return super().row_style(index) if self._ids else Style.null()

    def on_resize(self) -> None:
        """Columns follow the width."""
        self._columns = Columns.of(self.row_width)
        self.redraw_all()  # a row drawn just before has the columns of the old width
        super().on_resize()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """A view that the user has scrolled stays where it is."""
        if not self._scrolls_by_itself:
            self._touched = time.monotonic()
        super().watch_scroll_y(old_value, new_value)

    @property
    def _held(self) -> bool:
        """Whether the user has chosen, a moment ago, what is selected and in sight."""
        return time.monotonic() - self._touched < HELD_FOR

    def _top_after(self, before: list[str]) -> int:
        """The first row in sight, for the order that has just changed."""
        top, height = self.scroll_offset.y, self.size.height
        last = max(0, len(self._ids) - height)
        if not self._held:
            return 0
        if self._selected in before[top : top + height]:
            index = self.table.index(self._selected)
            if index is not None:
                kept = index - (before.index(self._selected) - top) if top else 0
                return max(0, min(last, max(kept, index - height + 1)))
        if not top:
            return 0
        index = self.table.index(before[min(top, len(before) - 1)])
        return min(last, top if index is None else index)

    def _follow_selection(self, top: int) -> None:
        """Go with the selected job; where nobody chose it, not out of sight."""
        index = self.table.index(self._selected) if self._selected is not None else None
        if index is None:
            self._select_by_itself(min(self.cursor, len(self._ids) - 1))
        elif not self._held and not top <= index < top + self.size.height:
            self._select_by_itself(0)
        else:
            self.cursor = index

    def _select_by_itself(self, index: int) -> None:
        """Select the job of a row for want of one that the user has chosen."""
        if self._selected is not None:
            self.redraw_job(self._selected)
        self.cursor = index
        self._selected = self._ids[index] if self._ids else None
        self.redraw_row(index)
        self.post_message(self.Moved(self, index))

    def _scroll_by_itself(self, top: int) -> None:
        self._scrolls_by_itself = True
        try:
            self.scroll_to(y=top, animate=False, force=True)
        finally:
            self._scrolls_by_itself = False

    def _keep_drawn(self, before: list[str]) -> None:
        """Rows that stand elsewhere now are not drawn anew."""
        drawn = {before[at]: strip for at, strip in self._strips.items() if at < len(before)}
        rows = ((self.table.index(name), strip) for name, strip in drawn.items())
        self._strips = {index: strip for index, strip in rows if index is not None}

    def _row(self, job: Job) -> Row:
        at = self._columns
        mark = marks.mark(job)
        tone = "dim" if job.state.ended else ""
        parts: list[Part] = [
            (f" {mark.symbol} ", mark.style),
            (safe.fit(job.id, at.job), tone or "strong"),
            ("  ", ""),
            (safe.fit(job_words.worker(job, at.worker), at.worker), tone),
            (" ", ""),
            (safe.fit(job_words.headline(job, self._now), at.task - 1) + " ", _task_style(job)),
        ]
        if at.speed:
            parts.append((safe.fit_right(self._speed(job), at.speed), tone or "run"))
        if at.out:
            parts.append((safe.fit_right(self._out(job), at.out), tone))
        parts.append((safe.fit_right(job_words.cost(job), at.cost), tone))
        parts.append((safe.fit_right(job_words.time(job, self._now), at.time), tone))
        return row(*parts)

    def _out(self, job: Job) -> str:
        """Tokens that came; an estimate while the provider has not counted them."""
        so_far = self._rates.tokens(job.id)
        if job.usage.output or job.state.ended or not so_far:
            return job_words.tokens_out(job)
        return words.ESTIMATED + words.count(so_far)

    def _speed(self, job: Job) -> str:
        if not marks.runs(job):
            return words.NOTHING
        rate = self._rates.rate(job.id, self._monotonic)
        return words.count(rate) if rate else words.NOTHING


def _name_at(names: list[str], index: int) -> str | None:
    return names[index] if index < len(names) else None


def _task_style(job: Job) -> str:
    if marks.asks(job):
        return "bad"
    return "dim" if job.state.ended else ""
