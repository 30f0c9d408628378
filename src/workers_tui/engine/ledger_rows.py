"""The ledger's tables: one row per billed request, and sums per day.

Rows are only ever added. A later finding about a call is a further row with
the difference, so the sum of `cost` is the spend at any time. The sums are
kept by the same transaction; a check of the cap reads one row of them.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

from workers_tui.engine.days import hour_of
from workers_tui.engine.job import JobKind
from workers_tui.engine.job_rows import micros
from workers_tui.engine.money import Cost, CostSource, Pico
from workers_tui.engine.usage import Usage

MIGRATIONS = (
    """
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
    CREATE TABLE sums (
        axis TEXT NOT NULL,
        day TEXT NOT NULL,
        name TEXT NOT NULL,
        calls INTEGER NOT NULL,
        input INTEGER NOT NULL,
        output INTEGER NOT NULL,
        cached INTEGER NOT NULL,
        cache_write INTEGER NOT NULL,
        cache_write_1h INTEGER NOT NULL,
        reasoning INTEGER NOT NULL,
        cost INTEGER NOT NULL,
        reported INTEGER NOT NULL,
        estimated INTEGER NOT NULL,
        pending_calls INTEGER NOT NULL,
        unknown_calls INTEGER NOT NULL,
        charge INTEGER NOT NULL,
        PRIMARY KEY (axis, day, name)
    ) WITHOUT ROWID;
    """,
)

CORRECTION = "correction"
ALL = ""
"""The axis that sums everything of a day."""
HOUR = "hour"
AXES = ("tier", "model", "provider", "project", "session", "kind")
TASK_SHOWN = 120
MOST_PICO = 10**16
MOST_TOKENS = 10**12
"""What one request may cost or count at most (10,000 dollars); more is a fault of the provider."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One billed request: each attempt of a call, each request of an agent."""

    call: str
    """Unique id of the request."""
    job: str
    kind: JobKind
    tier: str | None
    """None for agents."""
    model: str
    """The model that served."""
    provider: str
    usage: Usage
    cost: Cost
    ms: int
    task: str
    """Its first 120 characters, on one line."""
    status: str
    """`ok`, `cancelled`, `failed`, `lost`; `correction` for a difference."""
    finish_reason: str | None = None
    project: str | None = None
    session: str | None = None
    generation_id: str | None = None
    """What to ask the provider's bill with."""
    at: datetime = datetime(1970, 1, 1, tzinfo=UTC)
    """When it was booked."""


@dataclass(frozen=True, slots=True)
class Totals:
    """Sums over entries."""

    calls: int = 0
    usage: Usage = Usage()
    cost_pico: Pico = 0
    """Everything known: reported + estimated."""
    reported_pico: Pico = 0
    """Said by the provider, at once or when asked later."""
    estimated_pico: Pico = 0
    pending_calls: int = 0
    """Calls whose cost is still to be asked for."""
    unknown_calls: int = 0
    """Calls whose cost nobody can tell."""
    charged_pico: Pico = 0
    """What counts against the cap: the cost, and for calls without one their charge."""

    def __add__(self, other: Totals) -> Totals:
        return Totals(
            self.calls + other.calls,
            self.usage + other.usage,
            self.cost_pico + other.cost_pico,
            self.reported_pico + other.reported_pico,
            self.estimated_pico + other.estimated_pico,
            self.pending_calls + other.pending_calls,
            self.unknown_calls + other.unknown_calls,
            self.charged_pico + other.charged_pico,
        )


@dataclass(frozen=True, slots=True)
class Row:
    """An entry as it stands in the table."""

    number: int
    """Order of booking; also in usage.jsonl."""
    entry: Entry
    day: date
    charge_pico: Pico


def plausible(cost: Cost) -> Cost:
    """The cost, or unknown where the amount cannot be one."""
    if cost.pico is None or 0 <= cost.pico <= MOST_PICO:
        return cost
    return Cost(None, CostSource.UNKNOWN, cost.list_pico)


def add(
    conn: sqlite3.Connection,
    entry: Entry,
    day: date,
    charge_pico: Pico,
    zone: ZoneInfo,
    number: int | None = None,
) -> Row:
    """Book an entry. Raises sqlite3.IntegrityError when its call is booked already."""
    entry = _fit(entry)
    row = _insert(conn, entry, day, charge_pico, number)
    if entry.generation_id and entry.cost.source in OPEN:
        conn.execute("INSERT OR IGNORE INTO open_calls (call) VALUES (?)", (entry.call,))
    _sum_up(conn, row, _totals_of(entry, charge_pico), zone)
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
    was = _money(Cost(amount, source), charged)
    _sum_up(conn, replace(row, entry=first.entry), _minus(_money(cost, cost.pico), was), zone)
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


def totals(conn: sqlite3.Connection, axis: str, day: date | None) -> dict[str, Totals]:
    """Sums per name of an axis, of one day or of all."""
    columns = ",".join(f"sum({name})" for name in _SUMS)
    where, values = ("", ()) if day is None else (" AND day=?", (day.isoformat(),))
    rows = conn.execute(
        f"SELECT name, {columns} FROM sums WHERE axis=?{where} GROUP BY name",  # noqa: S608
        (axis, *values),
    )
    return {row[0]: _totals(row[1:]) for row in rows}


def day_totals(conn: sqlite3.Connection, day: date) -> Totals:
    """The sum of one day, from one row."""
    row = conn.execute(
        f"SELECT {','.join(_SUMS)} FROM sums WHERE axis='' AND day=? AND name=''",  # noqa: S608
        (day.isoformat(),),
    ).fetchone()
    return Totals() if row is None else _totals(row)


def hours(conn: sqlite3.Connection, day: date) -> tuple[Pico, ...]:
    """What each local hour of a day counts against the cap."""
    found = conn.execute(
        "SELECT name, charge FROM sums WHERE axis=? AND day=?", (HOUR, day.isoformat())
    )
    by_hour = [0] * 24
    for name, charge in found:
        by_hour[int(name)] = charge
    return tuple(by_hour)


def newest_day(conn: sqlite3.Connection, until: date | None = None) -> date | None:
    """The newest booked day, up to `until`."""
    (day,) = conn.execute(
        "SELECT max(day) FROM sums WHERE axis='' AND day<=?",
        ("9999-12-31" if until is None else until.isoformat(),),
    ).fetchone()
    return None if day is None else date.fromisoformat(day)


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


OPEN = frozenset({CostSource.PENDING, CostSource.ESTIMATED, CostSource.UNKNOWN})
"""Sources that a provider's bill may still replace."""

_USAGE = ("input", "output", "cached", "cache_write", "cache_write_1h", "reasoning")
_SUMS = ("calls", *_USAGE, "cost", "reported", "estimated", "pending_calls", "unknown_calls",
         "charge")  # fmt: skip
_COLUMNS = ("number", "call", "job", "kind", "tier", "model", "provider", *_USAGE, "cost", "source",
            "list_cost", "charge", "ms", "task", "status", "finish_reason", "project", "session",
            "generation", "day", "at")  # fmt: skip
_SELECT = f"SELECT {','.join(_COLUMNS)} FROM ledger"  # noqa: S608
_INSERT = f"INSERT INTO ledger ({','.join(_COLUMNS)}) VALUES ({','.join('?' * len(_COLUMNS))})"  # noqa: S608
_KEEP = ", ".join(f"{name}={name}+excluded.{name}" for name in _SUMS)
_SUM_ROW = f"({','.join('?' * (3 + len(_SUMS)))})"


def _insert(
    conn: sqlite3.Connection, entry: Entry, day: date, charge: Pico, number: int | None
) -> Row:
    usage, cost = entry.usage, entry.cost
    counts = [getattr(usage, name) for name in _USAGE]
    cursor = conn.execute(
        _INSERT,
        (number, entry.call, entry.job, entry.kind.value, entry.tier, entry.model, entry.provider,
         *counts, cost.pico, cost.source.value, cost.list_pico, charge, entry.ms, entry.task,
         entry.status, entry.finish_reason, entry.project, entry.session, entry.generation_id,
         day.isoformat(), micros(entry.at)),
    )  # fmt: skip
    return Row(cursor.lastrowid or 0, entry, day, charge)


def _sum_up(conn: sqlite3.Connection, row: Row, more: Totals, zone: ZoneInfo) -> None:
    """Add to every sum of the row's day, in one statement."""
    entry, day = row.entry, row.day.isoformat()
    names = [(ALL, ""), (HOUR, f"{hour_of(entry.at, row.day, zone):02}")]
    names += [(axis, str(value)) for axis in AXES if (value := getattr(entry, axis)) is not None]
    numbers = tuple(_sum_values(more))
    rows = [value for axis, name in names for value in (axis, day, name, *numbers)]
    conn.execute(
        f"INSERT INTO sums (axis, day, name, {','.join(_SUMS)}) VALUES"  # noqa: S608
        f" {','.join([_SUM_ROW] * len(names))} ON CONFLICT DO UPDATE SET {_KEEP}",
        rows,
    )


def _totals_of(entry: Entry, charge: Pico) -> Totals:
    return replace(_money(entry.cost, charge), calls=1, usage=entry.usage)


def _money(cost: Cost, charge: Pico) -> Totals:
    known, source = cost.pico or 0, cost.source
    said = source in {CostSource.REPORTED, CostSource.RECONCILED}
    return Totals(
        cost_pico=known,
        reported_pico=known if said else 0,
        estimated_pico=0 if said else known,
        pending_calls=int(cost.pico is None and source is CostSource.PENDING),
        unknown_calls=int(cost.pico is None and source is not CostSource.PENDING),
        charged_pico=charge,
    )


def _minus(left: Totals, right: Totals) -> Totals:
    return Totals(
        cost_pico=left.cost_pico - right.cost_pico,
        reported_pico=left.reported_pico - right.reported_pico,
        estimated_pico=left.estimated_pico - right.estimated_pico,
        pending_calls=left.pending_calls - right.pending_calls,
        unknown_calls=left.unknown_calls - right.unknown_calls,
        charged_pico=left.charged_pico - right.charged_pico,
    )


def _row(found: tuple[object, ...]) -> Row:
    named = dict(zip(_COLUMNS, found, strict=True))
    entry = Entry(
        call=str(named["call"]),
        job=str(named["job"]),
        kind=JobKind(str(named["kind"])),
        tier=_text(named["tier"]),
        model=str(named["model"]),
        provider=str(named["provider"]),
        usage=Usage(*(_int(named[name]) for name in _USAGE)),
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


def _totals(row: Iterable[int]) -> Totals:
    calls, *rest = row
    return Totals(calls, Usage(*rest[:6]), *rest[6:])


def _sum_values(totals: Totals) -> Iterator[int]:
    yield totals.calls
    for name in _USAGE:
        yield getattr(totals.usage, name)
    yield from (
        totals.cost_pico,
        totals.reported_pico,
        totals.estimated_pico,
        totals.pending_calls,
        totals.unknown_calls,
        totals.charged_pico,
    )


def _fit(entry: Entry) -> Entry:
    """The entry as columns can hold it; much of it is what a provider sent."""
    texts = {
        name: text.encode("utf-8", errors="replace").decode()
        for name in _TEXTS
        if (text := getattr(entry, name)) is not None
    }
    texts["task"] = " ".join(texts["task"].split())[:TASK_SHOWN]
    return replace(
        entry,
        usage=_clamped(entry.usage),
        cost=plausible(entry.cost),
        ms=min(max(0, entry.ms), MOST_TOKENS),
        **texts,
    )


_TEXTS = ("call", "job", "tier", "model", "provider", "task", "status", "finish_reason",
          "project", "session", "generation_id")  # fmt: skip


def _clamped(usage: Usage) -> Usage:
    """Counts that a column can hold; a provider may send anything."""
    return Usage(*(min(max(0, getattr(usage, name)), MOST_TOKENS) for name in _USAGE))
