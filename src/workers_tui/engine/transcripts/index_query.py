"""Questions to the index: sums, files, delegations. Reads only."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from sqlite3 import Connection
from typing import NamedTuple

from workers_tui.engine.transcripts.cells import CellKey, Sums
from workers_tui.engine.transcripts.doubles import double_cells
from workers_tui.engine.transcripts.transcripts import News

MANY = 500
"""More sessions than this are picked out of the sums of all."""
_SUMS = ", ".join(f"sum(c.{name})" for name in Sums._fields)


class CellRow(NamedTuple):
    """A cell with names instead of ids; what was not asked for is empty."""

    owner: str
    project: str
    path: str
    session: str
    model: str
    day: int
    step: int
    sums: Sums


class SessionName(NamedTuple):
    """What a session's number stands for."""

    number: int
    owner: str
    project: str
    name: str


class FileCounts(NamedTuple):
    """What is known of the files themselves."""

    files: int = 0
    bytes: int = 0
    bad_lines: int = 0
    torn: int = 0
    """Files that end in the middle of a line."""
    api_errors: int = 0

    def plus(self, news: News) -> FileCounts:
        """With one more file."""
        return FileCounts(
            self.files + 1,
            self.bytes + news.place.size,
            self.bad_lines + news.bad,
            self.torn + news.place.torn,
            self.api_errors + news.errors,
        )


NO_FILES = FileCounts()


class Span(NamedTuple):
    """When a session was at work."""

    owner: str
    project: str
    session: str
    first: int
    last: int


class Asked(NamedTuple):
    """A delegation as the manager's transcript shows it."""

    tool_use: str
    session: str
    at: int
    tool: str
    files: tuple[str, ...]
    cwd: str


class Back(NamedTuple):
    """What came back from one job into Claude's context."""

    tool_use: str
    job: str
    chars: int


def cell_rows(
    conn: Connection,
    sources: Iterable[int],
    *,
    by: str = "",
    since: int = 0,
    sessions: Collection[str] | None = None,
) -> list[CellRow]:
    """Sums of the sources per owner, model, day and step, and per `by`: session or project.

    With `sessions` only theirs.
    """
    ids, some = list(sources), list(sessions or ())
    marks = ",".join("?" * len(ids))
    few = f"AND s.name IN ({','.join('?' * len(some))})" if 0 < len(some) <= MANY else ""
    session = "s.name" if by == "session" else "''"
    project = "p.slug, max(p.path)" if by else "'', ''"
    groups = {"session": "s.name, p.slug,", "project": "p.slug,", "": ""}[by]
    rows = conn.execute(
        f"SELECT o.owner, {project}, {session}, m.name, c.day, c.step, {_SUMS} "  # noqa: S608 - ours
        "FROM cell c JOIN session s ON s.id = c.session JOIN project p ON p.id = s.project "
        "JOIN source o ON o.id = p.source JOIN model m ON m.id = c.model "
        f"WHERE p.source IN ({marks}) AND c.day >= ? {few} "
        f"GROUP BY {groups} o.owner, c.model, c.day, c.step",
        (*ids, since, *(some if few else ())),
    )
    found = [
        CellRow(owner, slug, path, name, model, day, step, Sums(*sums))
        for owner, slug, path, name, model, day, step, *sums in rows
    ]
    found += [row for row in _twins(conn, ids, by) if row.day >= since]
    return found if sessions is None else [row for row in found if row.session in sessions]


def cells(conn: Connection, sources: Sequence[int]) -> list[tuple[CellKey, Sums]]:
    """Every cell of the sources, by number."""
    marks = ",".join("?" * len(sources))
    rows = conn.execute(
        "SELECT c.* FROM cell c JOIN session s ON s.id = c.session "  # noqa: S608
        f"JOIN project p ON p.id = s.project WHERE p.source IN ({marks})",
        list(sources),
    )
    return [(CellKey(*row[:4]), Sums(*row[4:])) for row in rows]


def session_names(conn: Connection, above: int = 0) -> list[SessionName]:
    """Sessions with a number above this one."""
    rows = conn.execute(
        "SELECT s.id, o.owner, p.slug, s.name FROM session s JOIN project p ON p.id = s.project "
        "JOIN source o ON o.id = p.source WHERE s.id > ?",
        (above,),
    )
    return [SessionName(*row) for row in rows]


def model_names(conn: Connection) -> dict[int, str]:
    """Every model by its number."""
    return dict(conn.execute("SELECT id, name FROM model").fetchall())


def _twins(conn: Connection, sources: list[int], by: str) -> list[CellRow]:
    """What several directories of one owner hold twice, negative."""
    doubled = double_cells(conn, sources)
    if not doubled:
        return []
    names = {one.number: one for one in session_names(conn)}
    models = model_names(conn)
    found = []
    for key, sums in doubled:
        home = names[key.session]
        project = home.project if by else ""
        session = home.name if by == "session" else ""
        model = models[key.model]
        found.append(CellRow(home.owner, project, "", session, model, key.day, key.step, sums))
    return found


def file_counts(conn: Connection, sources: Sequence[int]) -> FileCounts:
    """Every file ever read of the sources, deleted ones included."""
    marks = ",".join("?" * len(sources))
    row = conn.execute(
        "SELECT count(*), total(bytes), total(bad), total(torn), total(errors) "  # noqa: S608
        f"FROM file WHERE source IN ({marks})",
        list(sources),
    ).fetchone()
    return FileCounts(*map(int, row))


def session_spans(conn: Connection, sources: Sequence[int]) -> list[Span]:
    """First and last message of every session."""
    marks = ",".join("?" * len(sources))
    rows = conn.execute(
        "SELECT o.owner, p.slug, s.name, min(a.at), max(a.at) FROM message a "  # noqa: S608
        "JOIN session s ON s.id = a.session JOIN project p ON p.id = s.project "
        f"JOIN source o ON o.id = p.source WHERE p.source IN ({marks}) GROUP BY a.session",
        list(sources),
    )
    return [Span(*row) for row in rows]


def delegations(conn: Connection) -> list[Asked]:
    """Every delegation that a transcript shows, oldest first."""
    rows = conn.execute(
        "SELECT tool_use, session, at, tool, files, cwd FROM delegation ORDER BY at, tool_use"
    )
    return [
        Asked(tool_use, session, at, tool, tuple(json.loads(files)), cwd)
        for tool_use, session, at, tool, files, cwd in rows
    ]


def answers(conn: Connection) -> list[Back]:
    """Which jobs came back with which tool call."""
    return [Back(*row) for row in conn.execute("SELECT tool_use, job, chars FROM returned")]


def own_reads(conn: Connection, since: int = 0) -> list[tuple[str, int, str]]:
    """Session, time and path of what Claude Code read itself in sessions that delegate."""
    return conn.execute(
        "SELECT session, at, path FROM own_read WHERE at >= ? ORDER BY at", (since,)
    ).fetchall()
