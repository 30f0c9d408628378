"""The table that the torture ends with: what was tried, what is still held, what was lost."""

from __future__ import annotations

from dataclasses import dataclass

from tests.engine.aftermath import Found


@dataclass(frozen=True, slots=True)
class Row:
    """One kind of run."""

    kind: str
    kills: int
    tried: int
    held: int
    lost: int


ROWS: list[Row] = []


def report(kind: str, kills: int, found: Found) -> None:
    """Add a row; fails when anything is held or lost."""
    ROWS.append(Row(kind, kills, found.tried, found.held, len(found.lost)))
    assert found.lost == []
    assert found.held == 0


def lines() -> list[str]:
    """The table with its sum."""
    total = Row(
        "all",
        sum(row.kills for row in ROWS),
        sum(row.tried for row in ROWS),
        sum(row.held for row in ROWS),
        sum(row.lost for row in ROWS),
    )
    head = f"{'':28}{'kills':>8}{'tried':>8}{'held':>8}{'lost':>8}"
    return [head, *(_line(row) for row in ROWS), _line(total)]


def _line(row: Row) -> str:
    return f"{row.kind:28}{row.kills:>8}{row.tried:>8}{row.held:>8}{row.lost:>8}"
