"""Sums per day: by hour, tier, model, provider, project, session and kind.

They are kept by the transaction that books, so that a check of the cap reads
one row, however long the ledger is.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import date
from zoneinfo import ZoneInfo

from workers_tui.engine.money import Cost, CostSource, Pico
from workers_tui.engine.spending.entry import USAGE_PARTS, Row
from workers_tui.engine.store.days import hour_of
from workers_tui.engine.usage import Usage

TABLE = """
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
"""

ALL = ""
"""The axis that sums everything of a day."""
HOUR = "hour"
AXES = ("tier", "model", "provider", "project", "session", "kind")


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


def book(conn: sqlite3.Connection, row: Row, zone: ZoneInfo) -> None:
    """Add a new row to every sum of its day."""
    more = _money(row.entry.cost, row.charge_pico)
    _add(conn, row, replace(more, calls=1, usage=row.entry.usage), zone)


def rebook(
    conn: sqlite3.Connection,
    row: Row,
    was: tuple[Cost, Pico],
    now: tuple[Cost, Pico],
    zone: ZoneInfo,
) -> None:
    """Replace what a booked row costs, (cost, charge), in every sum of its day."""
    _add(conn, row, _minus(_money(*now), _money(*was)), zone)


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


def days_totals(conn: sqlite3.Connection, first: date, last: date) -> Totals:
    """The sum of some days, the last one included, from a row for each that has one."""
    rows = conn.execute(
        f"SELECT {','.join(_SUMS)} FROM sums"  # noqa: S608
        " WHERE axis='' AND day BETWEEN ? AND ? AND name=''",
        (first.isoformat(), last.isoformat()),
    )
    return sum(map(_totals, rows), Totals())


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


_SUMS = ("calls", *USAGE_PARTS, "cost", "reported", "estimated", "pending_calls", "unknown_calls",
         "charge")  # fmt: skip
_KEEP = ", ".join(f"{name}={name}+excluded.{name}" for name in _SUMS)
_SUM_ROW = f"({','.join('?' * (3 + len(_SUMS)))})"


def _add(conn: sqlite3.Connection, row: Row, more: Totals, zone: ZoneInfo) -> None:
    """Add to every sum of a row's day, in one statement."""
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


def _totals(row: Iterable[int]) -> Totals:
    calls, *rest = row
    return Totals(calls, Usage(*rest[:6]), *rest[6:])


def _sum_values(totals: Totals) -> Iterator[int]:
    yield totals.calls
    for name in USAGE_PARTS:
        yield getattr(totals.usage, name)
    yield from (
        totals.cost_pico,
        totals.reported_pico,
        totals.estimated_pico,
        totals.pending_calls,
        totals.unknown_calls,
        totals.charged_pico,
    )


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
