"""The jobs table: SQL and the row format. Only this module knows its columns.

A row is the job as one JSON document plus the columns that are searched.
`change` numbers every write, so that another engine reads only what is new.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from workers_tui.engine.jobs.job import LIVE, Job, JobKind, JobState

MIGRATIONS = (
    """
    CREATE TABLE jobs (
        number INTEGER PRIMARY KEY,
        change INTEGER NOT NULL,
        id TEXT NOT NULL UNIQUE,
        state TEXT NOT NULL,
        kind TEXT NOT NULL,
        engine TEXT NOT NULL,
        tier TEXT,
        worker TEXT,
        project TEXT,
        session TEXT,
        created_at INTEGER NOT NULL,
        search TEXT NOT NULL,
        doc BLOB NOT NULL
    );
    CREATE UNIQUE INDEX jobs_change ON jobs (change);
    CREATE INDEX jobs_state ON jobs (state, number);
    CREATE INDEX jobs_session ON jobs (session, number);
    CREATE TABLE cancels (
        job TEXT PRIMARY KEY,
        by TEXT NOT NULL
    ) WITHOUT ROWID;
    """,
)

SEARCHED = 2000
"""Characters of a task that `text` looks at."""


@dataclass(frozen=True, slots=True)
class Filter:
    """Which jobs are asked for; None means any."""

    states: frozenset[JobState] | None = None
    kind: JobKind | None = None
    text: str | None = None
    """Part of id, task, model, tier, worker, project or error, in any case."""
    tier: str | None = None
    worker: str | None = None
    project: str | None = None
    session: str | None = None
    since: datetime | None = None


_LIVE = f"({','.join(repr(state.value) for state in sorted(LIVE))})"
_NEWEST = "(SELECT number FROM jobs ORDER BY number DESC LIMIT ?)"


def _encode_other(value: object) -> object:
    if isinstance(value, Path):
        return str(value)
    raise NotImplementedError


def _decode_other(type_: type, value: Any) -> Any:
    if type_ is Path:
        return Path(value)
    raise NotImplementedError


_encoder = msgspec.json.Encoder(enc_hook=_encode_other)
_decoder = msgspec.json.Decoder(Job, dec_hook=_decode_other)


def clean(job: Job) -> Job:
    """The job as the table can hold it: halves of surrogate pairs become question marks."""
    try:
        _encoder.encode(job)
    except UnicodeEncodeError:
        return msgspec.convert(_scrub(msgspec.to_builtins(job, enc_hook=_encode_other)), Job,
                               dec_hook=_decode_other)  # fmt: skip
    return job


def _scrub(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", errors="replace").decode()
    if isinstance(value, dict):
        return {name: _scrub(part) for name, part in value.items()}
    return [_scrub(part) for part in value] if isinstance(value, list | tuple) else value


def insert(conn: sqlite3.Connection, job: Job) -> int:
    """Add a job; return its change number. Raises sqlite3.IntegrityError for a used id."""
    change = _next_change(conn)
    conn.execute(
        "INSERT INTO jobs (change, id, state, kind, engine, tier, worker, project, session,"
        " created_at, search, doc) VALUES (?,?,?,?,?,?,?,?,?,?,?,?)",
        (change, job.id, *_columns(job)),
    )
    return change


def insert_all(conn: sqlite3.Connection, jobs: Iterable[Job]) -> list[int]:
    """Add several jobs; return their change numbers. Raises sqlite3.IntegrityError."""
    return [insert(conn, job) for job in jobs]


def update(conn: sqlite3.Connection, job: Job) -> int:
    """Replace a job's row; return its change number."""
    change = _next_change(conn)
    conn.execute(
        "UPDATE jobs SET change=?, state=?, kind=?, engine=?, tier=?, worker=?, project=?,"
        " session=?, created_at=?, search=?, doc=? WHERE id=?",
        (change, *_columns(job), job.id),
    )
    return change


def get(conn: sqlite3.Connection, job_id: str) -> Job | None:
    """The job with this id."""
    row = conn.execute("SELECT doc FROM jobs WHERE id=?", (job_id,)).fetchone()
    return None if row is None else _decoder.decode(row[0])


def find(conn: sqlite3.Connection, wanted: Filter, limit: int, offset: int) -> list[Job]:
    """Matching jobs, newest first."""
    where, values = _where(wanted)
    rows = conn.execute(
        f"SELECT doc FROM jobs {where} ORDER BY number DESC LIMIT ? OFFSET ?",  # noqa: S608 - columns are ours
        (*values, limit, offset),
    )
    return [_decoder.decode(doc) for (doc,) in rows]


def changed_since(conn: sqlite3.Connection, change: int, limit: int = -1) -> list[tuple[int, Job]]:
    """Jobs written after this change number, in the order of their changes; -1 for all."""
    rows = conn.execute(
        "SELECT change, doc FROM jobs WHERE change>? ORDER BY change LIMIT ?", (change, limit)
    )
    return [(number, _decoder.decode(doc)) for number, doc in rows]


def newest(conn: sqlite3.Connection, count: int) -> tuple[int, list[Job]]:
    """The newest change number, and the newest jobs with every live one, oldest first."""
    (change,) = conn.execute("SELECT coalesce(max(change), 0) FROM jobs").fetchone()
    rows = conn.execute(
        f"SELECT doc FROM jobs WHERE number IN {_NEWEST} OR state IN {_LIVE} ORDER BY number",  # noqa: S608 - fixed text
        (count,),
    )
    return change, [_decoder.decode(doc) for (doc,) in rows]


def live_of(conn: sqlite3.Connection, engine: str) -> list[Job]:
    """Jobs of one engine that have not ended."""
    rows = conn.execute(
        f"SELECT doc FROM jobs WHERE state IN {_LIVE} AND engine=? ORDER BY number",  # noqa: S608
        (engine,),
    )
    return [_decoder.decode(doc) for (doc,) in rows]


def live_engines(conn: sqlite3.Connection) -> set[str]:
    """Engines that have jobs which have not ended."""
    rows = conn.execute(f"SELECT DISTINCT engine FROM jobs WHERE state IN {_LIVE}")  # noqa: S608
    return {engine for (engine,) in rows}


def newest_ids(conn: sqlite3.Connection, count: int = 2000) -> list[str]:
    """Ids of the newest jobs."""
    rows = conn.execute("SELECT id FROM jobs ORDER BY number DESC LIMIT ?", (count,))
    return [job_id for (job_id,) in rows]


def add_cancel(conn: sqlite3.Connection, job_id: str, by: str) -> None:
    """Ask the owner of a job to cancel it."""
    conn.execute("INSERT OR IGNORE INTO cancels (job, by) VALUES (?,?)", (job_id, by))


def cancels_for(conn: sqlite3.Connection, engine: str) -> list[tuple[str, str]]:
    """Cancellations asked for of this engine's jobs: (job, by)."""
    return conn.execute(
        "SELECT job, by FROM cancels JOIN jobs ON jobs.id=cancels.job WHERE engine=?", (engine,)
    ).fetchall()


def drop_cancels(conn: sqlite3.Connection, job_ids: Iterable[str]) -> None:
    """Forget cancellations that their owner has taken."""
    conn.executemany("DELETE FROM cancels WHERE job=?", [(job_id,) for job_id in job_ids])


def micros(moment: datetime) -> int:
    """A moment as whole microseconds since 1970, the form that columns hold."""
    delta = moment - _EPOCH
    return (delta.days * 86400 + delta.seconds) * 1_000_000 + delta.microseconds


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def _next_change(conn: sqlite3.Connection) -> int:
    (change,) = conn.execute("SELECT coalesce(max(change), 0) + 1 FROM jobs").fetchone()
    return int(change)


def _columns(job: Job) -> tuple[object, ...]:
    words = (job.id, job.task[:SEARCHED], job.model, job.tier, job.worker, job.project, job.error)
    return (
        job.state.value,
        job.kind.value,
        job.engine,
        job.tier,
        job.worker,
        job.project,
        job.session,
        micros(job.created_at),
        "\n".join(word for word in words if word).casefold(),
        _encoder.encode(job),
    )


def _where(wanted: Filter) -> tuple[str, list[object]]:
    terms: list[str] = []
    values: list[object] = []
    if wanted.states is not None:
        terms.append(f"state IN ({','.join('?' * len(wanted.states))})")
        values += sorted(state.value for state in wanted.states)
    for name in ("kind", "tier", "worker", "project", "session"):
        value = getattr(wanted, name)
        if value is not None:
            terms.append(f"{name}=?")
            values.append(str(value))
    if wanted.since is not None:
        terms.append("created_at>=?")
        values.append(micros(wanted.since))
    if wanted.text:
        terms.append("instr(search, ?)>0")
        values.append(wanted.text.casefold())
    return ("WHERE " + " AND ".join(terms) if terms else ""), values
