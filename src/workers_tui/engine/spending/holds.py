"""Holds: money asked for, and set aside for requests that may have left and are not booked yet."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from workers_tui.engine.jobs.job import JobKind
from workers_tui.engine.jobs.job_rows import micros
from workers_tui.engine.money import Pico

MIGRATIONS = (
    """
    CREATE TABLE holds (
        call TEXT PRIMARY KEY,
        job TEXT NOT NULL,
        kind TEXT NOT NULL,
        provider TEXT NOT NULL,
        model TEXT NOT NULL,
        engine TEXT NOT NULL,
        day TEXT NOT NULL,
        pico INTEGER NOT NULL,
        estimate INTEGER NOT NULL,
        made_at INTEGER NOT NULL,
        generation TEXT
    ) WITHOUT ROWID;
    """,
)


@dataclass(frozen=True, slots=True)
class Ask:
    """What one request may cost."""

    call: str
    """Unique id of the request."""
    job: str
    kind: JobKind
    provider: str
    model: str
    hold_pico: Pico
    """Its upper bound (strict) or estimate (soft); 0 for loopback and flat-rate plans."""
    estimate_pico: Pico
    """What to book when nobody learns what it cost: the list price."""


@dataclass(frozen=True, slots=True)
class Hold:
    """Money set aside for one request."""

    call: str
    """Unique id of the request."""
    job: str
    kind: JobKind
    provider: str
    model: str
    day: date
    """The day the request belongs to, however long it takes."""
    pico: Pico
    """What it may cost at most; 0 where nothing is to be held."""
    estimate_pico: Pico
    """What is booked when nobody learns what it cost."""
    made_at: datetime
    engine: str = ""
    """The engine that made it."""
    generation_id: str | None = None
    """What to ask the provider's bill with, once the answer began."""


def add(conn: sqlite3.Connection, hold: Hold) -> None:
    """Keep a hold."""
    conn.execute(
        "INSERT INTO holds (call, job, kind, provider, model, engine, day, pico, estimate,"
        " made_at) VALUES (?,?,?,?,?,?,?,?,?,?)",
        (hold.call, hold.job, hold.kind.value, hold.provider, hold.model, hold.engine,
         hold.day.isoformat(), hold.pico, hold.estimate_pico, micros(hold.made_at)),
    )  # fmt: skip


def drop(conn: sqlite3.Connection, call: str) -> bool:
    """Let go of a hold; False when it was gone."""
    return conn.execute("DELETE FROM holds WHERE call=?", (call,)).rowcount > 0


def get(conn: sqlite3.Connection, call: str) -> Hold | None:
    """The hold of a request, as it is kept."""
    row = conn.execute(f"{_SELECT} WHERE call=?", (call,)).fetchone()
    return None if row is None else _hold(row)


def note_generation(conn: sqlite3.Connection, call: str, generation_id: str) -> None:
    """Remember what the bill of a request can be asked with."""
    conn.execute("UPDATE holds SET generation=? WHERE call=?", (generation_id, call))


def held(conn: sqlite3.Connection, day: date) -> tuple[Pico, int]:
    """The sum and the number of a day's holds."""
    total, count = conn.execute(
        "SELECT coalesce(sum(pico), 0), count(*) FROM holds WHERE day=?", (day.isoformat(),)
    ).fetchone()
    return int(total), int(count)


def newest_day(conn: sqlite3.Connection, until: date | None = None) -> date | None:
    """The newest day with a hold, up to `until`."""
    (day,) = conn.execute(
        "SELECT max(day) FROM holds WHERE day<=?",
        ("9999-12-31" if until is None else until.isoformat(),),
    ).fetchone()
    return None if day is None else date.fromisoformat(day)


def engines(conn: sqlite3.Connection) -> set[str]:
    """Engines that have holds."""
    return {engine for (engine,) in conn.execute("SELECT DISTINCT engine FROM holds")}


def of_engine(conn: sqlite3.Connection, engine: str) -> list[Hold]:
    """Holds of one engine, oldest first."""
    rows = conn.execute(f"{_SELECT} WHERE engine=? ORDER BY made_at", (engine,))
    return [_hold(row) for row in rows]


_SELECT = (
    "SELECT call, job, kind, provider, model, day, pico, estimate, made_at, engine, generation"
    " FROM holds"
)


def _hold(row: tuple[str, str, str, str, str, str, int, int, int, str, str | None]) -> Hold:
    call, job, kind, provider, model, day, pico, estimate, made_at, engine, generation = row
    return Hold(
        call=call,
        job=job,
        kind=JobKind(kind),
        provider=provider,
        model=model,
        day=date.fromisoformat(day),
        pico=pico,
        estimate_pico=estimate,
        made_at=datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=made_at),
        engine=engine,
        generation_id=generation,
    )
