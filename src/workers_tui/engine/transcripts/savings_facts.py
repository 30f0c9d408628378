"""Gathers what the savings figures are made of, from the index and the store. Reads only."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from sqlite3 import Connection
from typing import TYPE_CHECKING

from workers_tui.engine.transcripts import index_query
from workers_tui.engine.transcripts.cells import day_of
from workers_tui.engine.transcripts.index_query import NO_FILES, CellRow, FileCounts, SessionName
from workers_tui.engine.transcripts.job_savings import Links
from workers_tui.engine.transcripts.savings import Delegated
from workers_tui.engine.transcripts.transcript_files import MANAGER

if TYPE_CHECKING:
    from workers_tui.engine.jobs.job import Job

HandWork = Mapping[str, Mapping[int, int]]
"""Fresh tokens of workers that no job of ours accounts for, by the session that asked and day."""
SAME_PLACE_SLACK = 300
"""Seconds that a worker may go on after the manager's last message."""


@dataclass(slots=True)
class Facts:
    """Everything that one report is folded from."""

    rows: list[CellRow] = field(default_factory=list)
    """Cells, by project or session where the report is."""
    asking: list[CellRow] = field(default_factory=list)
    """The cells of the sessions that delegated, by session."""
    files: FileCounts = NO_FILES
    unreadable: list[str] = field(default_factory=list)
    jobs: list[Job] = field(default_factory=list)
    delegated: Delegated = field(default_factory=Delegated)
    agent_sessions: set[str] = field(default_factory=set)
    """Sessions of agents that ran as jobs of ours, whenever that was."""
    links: Links = field(default_factory=Links)
    unmatched: HandWork = field(default_factory=dict)


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


def unmatched_workers(
    conn: Connection, sources: Sequence[int], rows: Iterable[CellRow], ours: Collection[str]
) -> HandWork:
    """Worker sessions that are not `ours`, joined to the manager's session that was open.

    A worker identity that is used by hand, or by an older tool, leaves only its
    own transcript. It is taken as asked for by the session of the same project
    (else of any) that had begun last when the worker began, and not ended.
    """
    fresh: dict[str, Counter[int]] = defaultdict(Counter)
    for row in rows:
        if row.owner != MANAGER and row.session not in ours:
            fresh[row.session][row.day] += row.sums.fresh
    if not fresh:
        return {}
    spans = index_query.session_spans(conn, sources)
    managers = sorted((span for span in spans if span.owner == MANAGER), key=lambda s: s.first)
    starts = [span.first for span in managers]
    found: dict[str, Counter[int]] = defaultdict(Counter)
    for span in spans:
        if span.owner == MANAGER or span.session not in fresh:
            continue
        begun = managers[: bisect_right(starts, span.first)]
        open_ = [one for one in begun if one.last + SAME_PLACE_SLACK >= span.first]
        near = [one for one in open_ if one.project == span.project] or open_
        if near:
            found[near[-1].session].update(fresh[span.session])
    return dict(found)


def by_session(work: HandWork) -> dict[str, int]:
    """The same over all days."""
    return {session: sum(days.values()) for session, days in work.items()}


def names_of(conn: Connection, numbers: Collection[int]) -> dict[int, SessionName]:
    """What these sessions' numbers stand for."""
    marks = ",".join("?" * len(numbers))
    rows = conn.execute(
        "SELECT s.id, o.owner, p.slug, s.name FROM session s JOIN project p ON p.id = s.project "  # noqa: S608
        f"JOIN source o ON o.id = p.source WHERE s.id IN ({marks})",
        list(numbers),
    )
    return {row[0]: SessionName(*row) for row in rows}


def asking_sessions(facts: Facts) -> set[str]:
    """The sessions that delegated."""
    sessions = {facts.links.session(job) for job in facts.jobs} | set(facts.unmatched)
    return {session for session in sessions if session}


def job_day(job: Job) -> int:
    """The local day (an ordinal) on which a job was asked for."""
    return day_of(int(job.created_at.timestamp()))
