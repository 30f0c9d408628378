"""History of an earlier tool is read once, whatever its exact shape."""

from __future__ import annotations

import json
import sqlite3
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from workers_tui.engine.transcripts.index import MIGRATIONS
from workers_tui.engine.transcripts.older_history import FILE, rows, sums_in, take_in

DAY = date(2026, 3, 1).toordinal()
SHAPES: list[Any] = [
    {"workers": {"zai": {"2026-03-01": {"input_tokens": 7, "output_tokens": 3}}}},
    {"days": {"2026-03-01": {"zai": {"inputTokens": 7, "outputTokens": 3}}}},
    [{"worker": "zai", "date": "2026-03-01T10:00:00Z", "input": 7, "output": 3}],
    {"entries": [{"name": "zai", "ts": "2026-03-01", "in": 3, "out": 3},
                 {"name": "zai", "ts": "2026-03-01", "in": 4}]},
]  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES)
def test_sums_are_found_by_their_meaning(shape: Any) -> None:
    (found,) = sums_in(shape)
    assert (found.worker, found.day, found.input, found.output) == ("zai", DAY, 7, 3)


def test_it_is_read_once(tmp_path: Path) -> None:
    conn = sqlite3.connect(":memory:")
    conn.executescript(MIGRATIONS[0])
    path = tmp_path / FILE
    path.parent.mkdir()
    path.write_text(json.dumps(SHAPES[0]))
    assert take_in(conn, tmp_path) == 1
    assert take_in(conn, tmp_path) == 0
    (row,) = rows(conn)
    assert (row.owner, row.sums.fresh) == ("zai", 10)
    assert rows(conn, DAY + 1) == []


@pytest.mark.parametrize("text", ["", "[", "3", "{}", '{"a": {"input": true, "output": -4}}'])
def test_what_makes_no_sense_is_nothing(tmp_path: Path, text: str) -> None:
    conn = sqlite3.connect(":memory:")
    conn.executescript(MIGRATIONS[0])
    (tmp_path / FILE).parent.mkdir()
    (tmp_path / FILE).write_text(text)
    assert take_in(conn, tmp_path) == 0
    assert rows(conn) == []
