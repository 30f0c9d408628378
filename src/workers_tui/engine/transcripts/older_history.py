"""History that an earlier tool of this kind left: `.usage/ledger.json` among the workers.

Read once and kept in the index. Its shape is not promised by anyone, so it is
read by meaning: every object with token counts is a sum for a worker and a day.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from sqlite3 import Connection
from typing import Any, NamedTuple

from workers_tui.engine.transcripts.cells import Sums
from workers_tui.engine.transcripts.index_query import CellRow
from workers_tui.engine.transcripts.transcript_files import is_text
from workers_tui.engine.usage import MOST_TOKENS
from workers_tui.home.files import read_json

FILE = Path(".usage", "ledger.json")
DEEPEST = 8
OLDER_MODEL = "older history"
WORDS = {
    "input": ("input_tokens", "inputTokens", "input", "in"),
    "output": ("output_tokens", "outputTokens", "output", "out"),
    "creation": ("cache_creation_input_tokens", "cacheCreationTokens", "cache_creation"),
    "read": ("cache_read_input_tokens", "cacheReadTokens", "cache_read"),
    "messages": ("messages", "calls", "requests"),
}
NAMES = ("worker", "identity", "name", "provider")
DAYS = ("day", "date", "timestamp", "ts", "at")


class Older(NamedTuple):
    """What one worker did on one day."""

    worker: str
    day: int
    input: int
    output: int
    creation: int
    read: int
    messages: int


def take_in(conn: Connection, workers_root: Path) -> int:
    """Read the file if there is one that was not read yet; returns the sums found.

    One that is broken is looked at again: somebody may be writing it just now.
    """
    path = workers_root / FILE
    name = f"older history {path}"
    if not is_text(name) or not path.is_file():
        return 0
    if conn.execute("SELECT 1 FROM note WHERE name = ?", (name,)).fetchone():
        return 0
    value = read_json(path)
    if value is None:
        return 0
    found = list(sums_in(value))
    grow = ", ".join(f"{column} = {column} + excluded.{column}" for column in Older._fields[2:])
    conn.executemany(
        f"INSERT INTO older VALUES (?,?,?,?,?,?,?) ON CONFLICT DO UPDATE SET {grow}",  # noqa: S608
        found,
    )
    conn.execute("INSERT INTO note VALUES (?, ?)", (name, str(len(found))))
    return len(found)


def rows(conn: Connection, since: int = 0) -> list[CellRow]:
    """The history as cells of workers without a session."""
    found = conn.execute("SELECT * FROM older WHERE day >= ?", (since,))
    return [
        CellRow(
            one.worker,
            "",
            "",
            "",
            OLDER_MODEL,
            one.day,
            0,
            Sums(one.messages, one.input, one.output, one.creation, 0, one.read),
        )
        for one in (Older(*row) for row in found)
    ]


def sums_in(value: Any) -> Iterator[Older]:
    """Every sum of tokens, whatever it lies in."""
    totals: dict[tuple[str, int], list[int]] = defaultdict(lambda: [0] * 5)
    for worker, day, counts in _look(value, "", 1, 0):
        row = totals[worker or "older workers", day]
        for place, count in enumerate(counts):
            row[place] += count
    for (worker, day), counts in sorted(totals.items()):
        yield Older(worker, day, *counts)


def _look(value: Any, worker: str, day: int, depth: int) -> Iterator[tuple[str, int, list[int]]]:
    if depth > DEEPEST:
        return
    if isinstance(value, list):
        for item in value:
            yield from _look(item, worker, day, depth + 1)
    if not isinstance(value, dict):
        return
    worker = next((value[key] for key in NAMES if _name(value.get(key))), worker)
    day = next((d for key in DAYS if (d := _day(value.get(key)))), day)
    counts = [_count(value, words) for words in WORDS.values()]
    if any(counts[:2]):
        yield worker, day, counts
        return  # sums inside of sums are parts of them
    for key, item in value.items():
        named = (
            key if isinstance(item, dict) and not _day(key) and depth > 0 and _name(key) else worker
        )
        yield from _look(item, worker or named, _day(key) or day, depth + 1)


def _name(value: Any) -> bool:
    return isinstance(value, str) and is_text(value)


def _count(value: dict[str, Any], words: tuple[str, ...]) -> int:
    found = (value.get(word) for word in words)
    return next((n for n in found if type(n) is int and 0 <= n <= MOST_TOKENS), 0)


def _day(value: Any) -> int:
    """The ordinal of an ISO date or time, else 0."""
    if not isinstance(value, str) or len(value) < 10:
        return 0
    try:
        return date.fromisoformat(value[:10]).toordinal()
    except ValueError:
        return 0
