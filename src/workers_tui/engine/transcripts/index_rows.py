"""A message as index.db keeps it, and what messages add to their cells."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from sqlite3 import Connection
from typing import NamedTuple

from workers_tui.engine.transcripts.cells import (
    NOTHING,
    CellKey,
    Counts,
    Sums,
    day_of,
    step_of,
    sums_of,
)


class Row(NamedTuple):
    """A message as the table keeps it."""

    key: int
    session: int
    model: int
    at: int
    input: int
    output: int
    creation: int
    creation_1h: int
    read: int
    web: int
    flags: int
    loose: bytes | None


Values = tuple[int, int, int, int, int, int, int, int, int, int, int, bytes | None]
"""A row without the names, which cost as much as all the rest where every message passes."""


def sums_by_cell(rows: Iterable[Values]) -> dict[CellKey, Sums]:
    """What these messages are, cell by cell."""
    cells: dict[tuple[int, int, int, int], list[Counts]] = defaultdict(list)
    for row in rows:
        cell = (row[1], row[2], day_of(row[3]), step_of(row[4] + row[6] + row[8]))
        cells[cell].append(row[4:11])
    return {CellKey(*cell): sums_of(counts) for cell, counts in cells.items()}


def differences(new: dict[CellKey, Sums], old: dict[CellKey, Sums]) -> dict[CellKey, Sums]:
    """What cells gain when the messages of `new` take the place of those of `old`."""
    gained = dict(new)
    for cell, sums in old.items():
        gained[cell] = gained.get(cell, NOTHING).minus(sums)
    return gained


def add_to_cells(conn: Connection, deltas: dict[CellKey, Sums]) -> None:
    """Write what the cells gained."""
    marks = ",".join("?" * (len(CellKey._fields) + len(Sums._fields)))
    grow = ", ".join(f"{name} = {name} + excluded.{name}" for name in Sums._fields)
    conn.executemany(
        f"INSERT INTO cell VALUES ({marks}) "  # noqa: S608 - our own column names
        f"ON CONFLICT (session, model, day, step) DO UPDATE SET {grow}",
        [(*key, *sums) for key, sums in deltas.items()],
    )
