"""A message as index.db keeps it, and what messages add to their cells."""

from __future__ import annotations

from sqlite3 import Connection
from typing import NamedTuple

from workers_tui.engine.transcripts.cells import CellKey, Sums, day_of, flag_counts, step_of
from workers_tui.engine.transcripts.transcript_lines import FINISHED


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


class Gains:
    """What cells gain, message by message; plain lists, for this runs for each."""

    def __init__(self) -> None:
        self._cells: dict[tuple[int, int, int, int], list[int]] = {}

    def add(self, row: Row, sign: int) -> None:
        """Add a message to its cell, or take it away."""
        _, session, model, at, given, output, creation, creation_1h, read, web, flags, _ = row
        cell = (session, model, day_of(at), step_of(given + creation + read))
        sums = self._cells.get(cell)
        if sums is None:
            sums = self._cells[cell] = [0] * len(Sums._fields)
        sums[0] += sign
        sums[1] += sign * given
        sums[2] += sign * output
        sums[3] += sign * creation
        sums[4] += sign * creation_1h
        sums[5] += sign * read
        sums[6] += sign * web
        if flags != FINISHED:
            for place, count in enumerate(flag_counts(flags), start=7):
                sums[place] += sign * count

    def sums(self) -> dict[CellKey, Sums]:
        """What every cell gained."""
        return {CellKey(*cell): Sums(*sums) for cell, sums in self._cells.items()}


def add_to_cells(conn: Connection, deltas: dict[CellKey, Sums]) -> None:
    """Write what the cells gained."""
    marks = ",".join("?" * (len(CellKey._fields) + len(Sums._fields)))
    grow = ", ".join(f"{name} = {name} + excluded.{name}" for name in Sums._fields)
    conn.executemany(
        f"INSERT INTO cell VALUES ({marks}) "  # noqa: S608 - our own column names
        f"ON CONFLICT (session, model, day, step) DO UPDATE SET {grow}",
        [(*key, *sums) for key, sums in deltas.items()],
    )
