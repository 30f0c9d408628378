"""Tables on a terminal: columns stay straight whatever stands in them.

A character may take two cells of a terminal or none, as the dashboard counts them too.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

Row = Sequence[str]


def cells(text: str) -> int:
    """How many cells of a terminal the text takes."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len  # late: most tables are plain

    return cell_len(text)


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
