"""Text from models, files and clients made safe to show, and fitted to columns.

Such text is data: control codes become visible pictures (`␛[2J`), so a chunk
border can never cut a filter in two. What terminals measure differently (joined
emoji, flags, skin tones) is taken apart into what all of them measure alike.
"""

from __future__ import annotations

import re

from rich.cells import cell_len, chop_cells, set_cell_size

TAB = "    "
ELLIPSIS = "…"

LOOK_AHEAD = 4
"""Characters looked at for each cell: marks take none, so one cell may hold several."""


def _table() -> dict[int, str | None]:
    """Every code point that must not reach the terminal, and what stands for it."""
    table: dict[int, str | None] = {code: chr(0x2400 + code) for code in range(0x20)}
    table[0x7F] = "␡"
    table[ord("\t")] = TAB
    table[ord("\n")] = "\n"
    table |= dict.fromkeys(range(0x80, 0xA0), "\ufffd")  # C1: some terminals obey them
    table |= dict.fromkeys((0x2028, 0x2029, 0x85), "\n")
    # Bidirectional marks reorder whole lines; joiners and variants change widths.
    table |= dict.fromkeys((0x061C, 0x200B, 0x200C, 0x200D, 0x200E, 0x200F, 0x2060, 0xFEFF))
    table |= dict.fromkeys((*range(0x202A, 0x202F), *range(0x2066, 0x206A)))
    table |= dict.fromkeys((*range(0xFE00, 0xFE10), *range(0x1F3FB, 0x1F400)))
    table |= {0x1F1E6 + index: chr(ord("A") + index) for index in range(26)}
    table |= dict.fromkeys(range(0xE0000, 0xE0080))  # tags: invisible text
    return table


TABLE = _table()
LONE = re.compile("[\ud800-\udfff]")
PLAIN = re.compile(r"[\x20-\x7e]*")


def clean(text: str) -> str:
    """Several lines of text that no terminal obeys."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n")
    return LONE.sub("\ufffd", lines.translate(TABLE))


def one_line(text: str) -> str:
    """The first line that says something, safe, with single blanks."""
    for line in clean(text).split("\n"):
        words = line.split()
        if words:
            return " ".join(words)
    return ""


def fit(text: str, width: int) -> str:
    """Exactly `width` cells: padded on the right, or cut with an ellipsis."""
    if width <= 0:
        return ""
    if len(text) <= width and PLAIN.fullmatch(text):
        return text.ljust(width)
    if cell_len(text) <= width:
        return set_cell_size(text, width)
    return set_cell_size(set_cell_size(text, width - 1).rstrip() + ELLIPSIS, width)


def fit_right(text: str, width: int) -> str:
    """Exactly `width` cells, padded on the left."""
    missing = width - cell_len(text)
    return " " * missing + text if missing >= 0 else fit(text, width)


def wrap(line: str, width: int) -> list[str]:
    """One line of clean text as rows of at most `width` cells, broken at blanks."""
    return wrap_on(line, width)[0]


def wrap_on(line: str, width: int) -> tuple[list[str], int]:
    """The rows of a line, and where its last row begins.

    Text that is added to the line later changes the last row only, so a growing
    line is wrapped on from there.
    """
    start, rows = 0, []
    while not _fits(line, start, width):
        head = _head(line[start : start + LOOK_AHEAD * width], width)
        rows.append(head.rstrip())
        start += len(head)
    rows.append(line[start:])
    return rows, start


def _fits(line: str, start: int, width: int) -> bool:
    """Whether the rest of a line fits; a long rest is not measured in vain."""
    if width <= 0:
        return True
    if len(line) - start > LOOK_AHEAD * width:
        return False
    return cell_len(line[start:]) <= width


def _head(text: str, width: int) -> str:
    """The longest beginning that fits, preferably up to a blank."""
    head = text[:width] if PLAIN.fullmatch(text) else chop_cells(text, width)[0]
    if text[len(head) : len(head) + 1] == " ":
        return head + " "
    blank = head.rfind(" ")
    return head[: blank + 1] if blank > width // 3 else head or text[:1]
