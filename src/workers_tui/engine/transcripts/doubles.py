"""Messages that several directories of one owner hold: they count once.

The index sums up each directory for itself, and what is held twice is taken
off when the sums are read. So sums in memory are wrong as soon as a message
is found twice, or one that is held twice has grown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from sqlite3 import Connection
from typing import Any

from workers_tui.engine.transcripts.cells import CellKey, Sums
from workers_tui.engine.transcripts.index_rows import Values, differences, sums_by_cell

COLUMNS = 12
"""Of a message."""


def double_cells(conn: Connection, sources: Sequence[int]) -> list[tuple[CellKey, Sums]]:
    """What must be added to the cells of these sources, mostly below zero.

    A message that several of them hold is as large as the largest of each
    count, and counts where it was seen first.
    """
    marks = ",".join("?" * len(sources))
    rows = conn.execute(
        "SELECT a.*, b.* FROM twin t "  # noqa: S608
        "JOIN message a ON a.key = t.key JOIN session s ON s.id = a.session "
        "JOIN project p ON p.id = s.project JOIN message b ON b.key = t.other "
        "JOIN session sb ON sb.id = b.session JOIN project pb ON pb.id = sb.project "
        f"WHERE p.source IN ({marks}) AND pb.source IN ({marks})",
        (*sources, *sources),
    )
    pairs: list[tuple[Values, Values]] = [(row[:COLUMNS], row[COLUMNS:]) for row in rows]
    later = {copy[0]: copy for copy, _ in pairs}
    firsts = {first[0]: first for _, first in pairs if first[0] not in later}
    wholes = dict(firsts)
    for copy, (key, *_) in pairs:
        if key in wholes:
            wholes[key] = _larger(wholes[key], copy)
    grown = [key for key, whole in wholes.items() if whole != firsts[key]]
    taken = sums_by_cell([*later.values(), *(firsts[key] for key in grown)])
    given = sums_by_cell([wholes[key] for key in grown])
    return list(differences(given, taken).items())


def _larger(whole: Values, part: Values) -> Values:
    """The first's row, with the larger of each count."""
    key, session, model, at, *counts, flags, loose = whole
    more = map(max, counts, part[4:10])
    return (key, session, model, at, *more, flags | part[10], loose)  # type: ignore[return-value]  # six counts, as before


class Doubles:
    """What was held twice when the sums were loaded."""

    def __init__(self, sources: Sequence[int]) -> None:
        self._several = len(sources) > 1
        self._count = 0
        self._sessions: set[int] = set()

    def load(self, conn: Connection) -> None:
        """Remember what the sums that are loaded now have taken off."""
        self._count = self._counted(conn)
        self._sessions = set()
        if self._count:
            for column in ("key", "other"):
                rows = conn.execute(
                    f"SELECT DISTINCT m.session FROM twin t JOIN message m ON m.key = t.{column}"  # noqa: S608 - ours
                )
                self._sessions.update(session for (session,) in rows)

    def concern(
        self, cells: Iterable[CellKey], transact: Callable[[Callable[[Connection], Any]], Any]
    ) -> bool:
        """Whether what these cells gained may be, or may make, a double."""
        if not self._several:
            return False
        touched = {cell.session for cell in cells}
        return bool(touched & self._sessions) or (
            bool(touched) and transact(self._counted) != self._count
        )

    def _counted(self, conn: Connection) -> int:
        if not self._several:
            return 0
        (count,) = conn.execute("SELECT count(*) FROM twin").fetchone()
        return int(count)
