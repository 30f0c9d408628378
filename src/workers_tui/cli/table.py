"""Tables on a terminal: columns stay straight whatever stands in them.

A character may take two cells of a terminal or none; only this module counts them.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

Row = Sequence[str]


def cells(text: str) -> int:
    """How many cells of a terminal the text takes."""
    if text.isascii():
        return len(text)
    from unicodedata import category, east_asian_width  # late: most tables are plain

    marks = sum(category(one) in {"Mn", "Me", "Cf"} for one in text)
    return len(text) - marks + sum(east_asian_width(one) in {"W", "F"} for one in text)


def aligned(rows: Sequence[Row], *, right: Collection[int] = ()) -> list[str]:
    """A line for each row, every column as wide as its widest cell; `right` are the numbers'."""
    sizes = [[cells(cell) for cell in row] for row in rows]
    widths = [max(column) for column in zip(*sizes, strict=True)]
    return [
        "  ".join(
            _padded(cell, width - size, right=n in right)
            for n, (cell, size, width) in enumerate(zip(row, found, widths, strict=True))
        ).rstrip()
        for row, found in zip(rows, sizes, strict=True)
    ]


def _padded(cell: str, room: int, *, right: bool) -> str:
    return " " * room + cell if right else cell + " " * room
