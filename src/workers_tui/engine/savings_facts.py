"""Gathers what the savings figures are made of, from the index and the store. Reads only."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from sqlite3 import Connection

from workers_tui.engine import day_sums, index_query, job_rows
from workers_tui.engine.cells import day_of
from workers_tui.engine.day_sums import Totals
from workers_tui.engine.index_query import NO_FILES, CellRow, FileCounts
from workers_tui.engine.job import Job
from workers_tui.engine.savings import Links
from workers_tui.engine.transcript_files import MANAGER

SAME_PLACE_SLACK = 300
"""Seconds that a worker may go on after the manager's last message."""


@dataclass(slots=True)
class Facts:
    """Everything that one report is folded from."""

    rows: list[CellRow] = field(default_factory=list)
    """Cells by session."""
    files: FileCounts = NO_FILES
    unreadable: list[str] = field(default_factory=list)
    jobs: list[Job] = field(default_factory=list)
    delegated: Totals = field(default_factory=Totals)
    links: Links = field(default_factory=Links)
    unmatched: dict[str, int] = field(default_factory=dict)
    """Fresh tokens of workers that no job of ours accounts for, by the session that asked."""


def links_of(conn: Connection) -> Links:
    """How jobs and transcripts belong together, as the transcripts show it."""
    asked = index_query.delegations(conn)
    answers = index_query.answers(conn)
    together: dict[str, int] = defaultdict(int)
    for back in answers:
        together[back.tool_use] += 1
    reads: dict[str, list[tuple[int, str]]] = defaultdict(list)
    for session, at, path in index_query.own_reads(conn):
        reads[session].append((at, path))
    return Links(
        {one.tool_use: one.session for one in asked},
        {back.job: back.tool_use for back in answers},
        {back.job: back.chars // together[back.tool_use] for back in answers},
        reads,
    )


def jobs_of(conn: Connection, since: date | None = None) -> list[Job]:
    """Every job that was tried, oldest first."""
    begin = None if since is None else datetime(since.year, since.month, since.day).astimezone(UTC)
    found = job_rows.find(conn, job_rows.Filter(since=begin), -1, 0)
    return [job for job in reversed(found) if job.attempts or job.cost is not None]


def delegated_since(conn: Connection, since: date | None, today: date) -> Totals:
    """The ledger's sums."""
    if since is None:
        return day_sums.totals(conn, day_sums.ALL, None).get("", Totals())
    days = range(since.toordinal(), today.toordinal() + 2)
    return sum((day_sums.day_totals(conn, date.fromordinal(day)) for day in days), Totals())


def unmatched_workers(
    conn: Connection, sources: Sequence[int], rows: Iterable[CellRow], jobs: Iterable[Job]
) -> dict[str, int]:
    """Worker sessions without a job of ours, joined to the manager's session that was open.

    A worker identity that is used by hand, or by an older tool, leaves only its
    own transcript. It is taken as asked for by the session of the same project
    (else of any) that had begun last when the worker began, and not ended.
    """
    ours = {job.agent_session for job in jobs if job.agent_session}
    fresh: dict[str, int] = defaultdict(int)
    for row in rows:
        if row.owner != MANAGER and row.session not in ours:
            fresh[row.session] += row.sums.fresh
    if not fresh:
        return {}
    spans = index_query.session_spans(conn, sources)
    managers = sorted((span for span in spans if span.owner == MANAGER), key=lambda s: s.first)
    starts = [span.first for span in managers]
    found: dict[str, int] = defaultdict(int)
    for span in spans:
        if span.owner == MANAGER or span.session not in fresh:
            continue
        begun = managers[: bisect_right(starts, span.first)]
        open_ = [one for one in begun if one.last + SAME_PLACE_SLACK >= span.first]
        near = [one for one in open_ if one.project == span.project] or open_
        if near:
            found[near[-1].session] += fresh[span.session]
    return dict(found)


def rows_by_day(rows: Iterable[CellRow]) -> Mapping[int, list[CellRow]]:
    """Cells by their day."""
    found: dict[int, list[CellRow]] = defaultdict(list)
    for row in rows:
        found[row.day].append(row)
    return found


def job_day(job: Job) -> int:
    """The local day (an ordinal) on which a job was asked for."""
    return day_of(int(job.created_at.timestamp()))
