"""The ledger's table: one row per billed request. Only this module knows its columns.

Rows are only ever added. A later finding about a call is a further row with
the difference, so the sum of `cost` is the spend at any time.
"""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

from workers_tui.engine.jobs.job import JobKind
from workers_tui.engine.jobs.job_rows import micros
from workers_tui.engine.money import Cost, CostSource, Pico
from workers_tui.engine.spending import day_sums
from workers_tui.engine.spending.entry import (
    CORRECTION,
    OPEN,
    USAGE_PARTS,
    Entry,
    Row,
    fit,
    plausible,
)
from workers_tui.engine.usage import Usage

MIGRATIONS = (
    day_sums.TABLE
    + """
    CREATE TABLE ledger (
        number INTEGER PRIMARY KEY,
        call TEXT NOT NULL,
        job TEXT NOT NULL,
        kind TEXT NOT NULL,
        tier TEXT,
        model TEXT NOT NULL,
        provider TEXT NOT NULL,
        input INTEGER NOT NULL,
        output INTEGER NOT NULL,
        cached INTEGER NOT NULL,
        cache_write INTEGER NOT NULL,
        cache_write_1h INTEGER NOT NULL,
        reasoning INTEGER NOT NULL,
        cost INTEGER,
        source TEXT NOT NULL,
        list_cost INTEGER,
        charge INTEGER NOT NULL,
        ms INTEGER NOT NULL,
        task TEXT NOT NULL,
        status TEXT NOT NULL,
        finish_reason TEXT,
        project TEXT,
        session TEXT,
        generation TEXT,
        day TEXT NOT NULL,
        at INTEGER NOT NULL
    );
    CREATE UNIQUE INDEX ledger_call ON ledger (call) WHERE status<>'correction';
    CREATE INDEX ledger_corrections ON ledger (call) WHERE status='correction';
    CREATE INDEX ledger_job ON ledger (job);
    CREATE INDEX ledger_at ON ledger (at);
    CREATE TABLE open_calls (
        call TEXT PRIMARY KEY
    ) WITHOUT ROWID;
    """,
)


def add(
    conn: sqlite3.Connection,
    entry: Entry,
    day: date,
    charge_pico: Pico,
    zone: ZoneInfo,
    number: int | None = None,
) -> Row:
    """Book an entry. Raises sqlite3.IntegrityError when its call is booked already."""
    entry = fit(entry)
    row = _insert(conn, entry, day, charge_pico, number)
    if entry.generation_id and entry.cost.source in OPEN:
        conn.execute("INSERT OR IGNORE INTO open_calls (call) VALUES (?)", (entry.call,))
    day_sums.book(conn, row, zone)
    return row


def correct(
    conn: sqlite3.Connection,
    call: str,
    cost: Cost,
    at: datetime,
    zone: ZoneInfo,
    number: int | None = None,
) -> Row | None:
    """Book the difference between what a call is booked with and what it cost.

    None when there is nothing to add: the call is not booked, or it is settled
    with this very amount.
    """
    first = get(conn, call)
    cost = plausible(cost)
    if first is None or cost.pico is None:
        return None
    is_open = conn.execute("DELETE FROM open_calls WHERE call=?", (call,)).rowcount > 0
    amount, source, charged = booked(conn, first)
    if not is_open and amount == cost.pico and source is cost.source:
        return None
    entry = replace(
        first.entry,
        usage=Usage(),
        cost=Cost(cost.pico - (amount or 0), cost.source),
        ms=0,
        status=CORRECTION,
        at=at,
    )
    row = _insert(conn, entry, first.day, cost.pico - charged, number)
    day_sums.rebook(conn, first, (Cost(amount, source), charged), (cost, cost.pico), zone)
    return row


def get(conn: sqlite3.Connection, call: str) -> Row | None:
    """The first row of a call."""
    found = conn.execute(f"{_SELECT} WHERE call=? AND status<>'correction'", (call,)).fetchone()
    return None if found is None else _row(found)


def booked(conn: sqlite3.Connection, first: Row) -> tuple[Pico | None, CostSource, Pico]:
    """What a call is booked with now: amount, its source, charge."""
    amount, source, charge = first.entry.cost.pico, first.entry.cost.source, first.charge_pico
    rows = conn.execute(
        "SELECT cost, source, charge FROM ledger WHERE call=? AND status='correction'"
        " ORDER BY number",
        (first.entry.call,),
    )
    for more, said, charged in rows:
        amount, source, charge = (amount or 0) + more, CostSource(said), charge + charged
    return amount, source, charge


def corrections(conn: sqlite3.Connection, call: str) -> int:
    """How many corrections a call has."""
    (count,) = conn.execute(
        "SELECT count(*) FROM ledger WHERE call=? AND status='correction'", (call,)
    ).fetchone()
    return int(count)


def after(conn: sqlite3.Connection, number: int, limit: int) -> list[Row]:
    """Rows booked after this number, in order."""
    rows = conn.execute(f"{_SELECT} WHERE number>? ORDER BY number LIMIT ?", (number, limit))
    return [_row(found) for found in rows]


def open_calls(conn: sqlite3.Connection) -> list[Row]:
    """Rows whose cost can still be asked for, oldest first."""
    found = [get(conn, call) for (call,) in conn.execute("SELECT call FROM open_calls")]
    return sorted((row for row in found if row is not None), key=lambda row: row.number)


def of_job(conn: sqlite3.Connection, job: str) -> list[Row]:
    """Every row of a job, corrections included, in order."""
    rows = conn.execute(f"{_SELECT} WHERE job=? ORDER BY number", (job,))
    return [_row(found) for found in rows]


def provider_spend(conn: sqlite3.Connection, provider: str, since: datetime) -> Pico:
    """Known cost at a provider of calls booked since a moment, corrections included."""
    (spent,) = conn.execute(
        "SELECT coalesce(sum(cost), 0) + coalesce((SELECT sum(c.cost) FROM ledger c WHERE"
        " c.status='correction' AND c.call IN (SELECT call FROM ledger WHERE provider=:p AND"
        " at>=:since AND status<>'correction')), 0)"
        " FROM ledger WHERE provider=:p AND at>=:since AND status<>'correction'",
        {"p": provider, "since": micros(since)},
    ).fetchone()
    return int(spent)


_COLUMNS = ("number", "call", "job", "kind", "tier", "model", "provider", *USAGE_PARTS, "cost",
            "source", "list_cost", "charge", "ms", "task", "status", "finish_reason", "project",
            "session", "generation", "day", "at")  # fmt: skip
_SELECT = f"SELECT {','.join(_COLUMNS)} FROM ledger"  # noqa: S608
_INSERT = f"INSERT INTO ledger ({','.join(_COLUMNS)}) VALUES ({','.join('?' * len(_COLUMNS))})"  # noqa: S608


def _insert(
    conn: sqlite3.Connection, entry: Entry, day: date, charge: Pico, number: int | None
) -> Row:
    usage, cost = entry.usage, entry.cost
    counts = [getattr(usage, name) for name in USAGE_PARTS]
    cursor = conn.execute(
        _INSERT,
        (number, entry.call, entry.job, entry.kind.value, entry.tier, entry.model, entry.provider,
         *counts, cost.pico, cost.source.value, cost.list_pico, charge, entry.ms, entry.task,
         entry.status, entry.finish_reason, entry.project, entry.session, entry.generation_id,
         day.isoformat(), micros(entry.at)),
    )  # fmt: skip
    return Row(cursor.lastrowid or 0, entry, day, charge)


def _row(found: tuple[object, ...]) -> Row:
    named = dict(zip(_COLUMNS, found, strict=True))
    entry = Entry(
        call=str(named["call"]),
        job=str(named["job"]),
        kind=JobKind(str(named["kind"])),
        tier=_text(named["tier"]),
        model=str(named["model"]),
        provider=str(named["provider"]),
        usage=Usage(*(_int(named[name]) for name in USAGE_PARTS)),
        cost=Cost(
            _int_or_none(named["cost"]),
            CostSource(str(named["source"])),
            _int_or_none(named["list_cost"]),
        ),
        ms=_int(named["ms"]),
        task=str(named["task"]),
        status=str(named["status"]),
        finish_reason=_text(named["finish_reason"]),
        project=_text(named["project"]),
        session=_text(named["session"]),
        generation_id=_text(named["generation"]),
        at=datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=_int(named["at"])),
    )
    day = date.fromisoformat(str(named["day"]))
    return Row(_int(named["number"]), entry, day, _int(named["charge"]))


def _int(value: object) -> int:
    if not isinstance(value, int):
        raise TypeError(f"not a whole number in the ledger: {value!r}")
    return value


def _int_or_none(value: object) -> int | None:
    return None if value is None else _int(value)


def _text(value: object) -> str | None:
    return None if value is None else str(value)
