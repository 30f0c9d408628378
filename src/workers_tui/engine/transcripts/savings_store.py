"""What the store tells about delegation: jobs, and what the ledger sums up. Reads only."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from sqlite3 import Connection
from typing import NamedTuple

from workers_tui.engine.jobs import job_rows
from workers_tui.engine.jobs.job import Job, JobKind
from workers_tui.engine.spending import day_sums
from workers_tui.engine.spending.day_sums import Totals
from workers_tui.engine.spending.schema import STORE_MIGRATIONS
from workers_tui.engine.store.store_file import check_version
from workers_tui.engine.transcripts.savings import Delegated

FIRST_DAY = date(1970, 1, 2)
"""Long before any job; the beginning of some earlier days is no time that UTC has."""

AGENTS = job_rows.Filter(kind=JobKind.AGENT)


class Stored(NamedTuple):
    """All that one report asks of the store."""

    jobs: list[Job]
    """Those of the days that count."""
    agent_sessions: set[str]
    """Those of agents that were jobs, of all days: what they did is no work by hand."""
    delegated: Delegated


def stored(conn: Connection, path: Path, since: date | None) -> Stored:
    """Everything as of one moment. Raises StoreNewer."""
    version = check_version(conn, len(STORE_MIGRATIONS), path)
    if version < len(STORE_MIGRATIONS):  # nothing was booked, or an engine brings it up to date
        return Stored([], set(), Delegated())
    today = date.today()  # noqa: DTZ011 - the user's own day
    conn.execute("BEGIN")
    try:
        jobs = jobs_of(conn, since)
        agents = jobs if since is None else job_rows.find(conn, AGENTS, -1, 0)
        sessions = {job.agent_session for job in agents if job.agent_session}
        return Stored(jobs, sessions, delegated_since(conn, since, today))
    finally:
        conn.execute("ROLLBACK")


def jobs_of(conn: Connection, since: date | None = None) -> list[Job]:
    """Every job that was tried, oldest first."""
    found = job_rows.find(conn, job_rows.Filter(since=_begin(since)), -1, 0)
    return [job for job in reversed(found) if was_tried(job)]


def _begin(since: date | None) -> datetime | None:
    """When a local day begins; None where that leaves no job out."""
    if since is None or since < FIRST_DAY:
        return None
    return datetime(since.year, since.month, since.day).astimezone(UTC)


def was_tried(job: Job) -> bool:
    """Something was sent, or may have been."""
    return bool(job.attempts) or job.cost is not None


def delegated_since(conn: Connection, since: date | None, today: date) -> Delegated:
    """The ledger's sums, from a day on."""
    if since is None:
        found = day_sums.totals(conn, day_sums.ALL, None).get("", Totals())
    else:
        found = day_sums.days_totals(conn, since, today + timedelta(days=1))
    return Delegated(
        found.calls,
        found.usage.input,
        found.usage.output,
        found.cost_pico,
        found.estimated_pico,
        found.unknown_calls,
        found.pending_calls,
    )
