"""What the store tells about delegation: jobs, and what the ledger sums up. Reads only."""

from __future__ import annotations

from datetime import UTC, date, datetime
from sqlite3 import Connection

from workers_tui.engine.jobs import job_rows
from workers_tui.engine.jobs.job import Job
from workers_tui.engine.spending import day_sums
from workers_tui.engine.spending.day_sums import Totals
from workers_tui.engine.transcripts.savings import Delegated


def jobs_of(conn: Connection, since: date | None = None) -> list[Job]:
    """Every job that was tried, oldest first."""
    begin = None if since is None else datetime(since.year, since.month, since.day).astimezone(UTC)
    found = job_rows.find(conn, job_rows.Filter(since=begin), -1, 0)
    return [job for job in reversed(found) if was_tried(job)]


def was_tried(job: Job) -> bool:
    """Something was sent, or may have been."""
    return bool(job.attempts) or job.cost is not None


def delegated_since(conn: Connection, since: date | None, today: date) -> Delegated:
    """The ledger's sums, from a day on."""
    if since is None:
        found = day_sums.totals(conn, day_sums.ALL, None).get("", Totals())
    else:
        days = range(since.toordinal(), today.toordinal() + 2)
        found = sum((day_sums.day_totals(conn, date.fromordinal(day)) for day in days), Totals())
    return Delegated(
        found.calls,
        found.usage.input,
        found.usage.output,
        found.cost_pico,
        found.estimated_pico,
        found.unknown_calls,
        found.pending_calls,
    )
