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


ODD = [
    "",
    "[",
    "3",
    "{}",
    '{"a": {"input": true, "output": -4}}',
    '{"a": {"b": {"input": 1000000000000000000000000000000}}}',
    "[" * 100_000,
]


@pytest.mark.parametrize("text", ODD)
def test_what_makes_no_sense_is_nothing(tmp_path: Path, text: str) -> None:
    conn = sqlite3.connect(":memory:")
    conn.executescript(MIGRATIONS[0])
    (tmp_path / FILE).parent.mkdir()
    (tmp_path / FILE).write_text(text)
    assert take_in(conn, tmp_path) == 0
    assert rows(conn) == []


def test_a_worker_whose_name_is_no_text_is_one_of_the_others(tmp_path: Path) -> None:
    conn = sqlite3.connect(":memory:")
    conn.executescript(MIGRATIONS[0])
    (tmp_path / FILE).parent.mkdir()
    (tmp_path / FILE).write_text(
        r'{"workers": {"\ud800": {"input": 7}}, "days": [{"name": "\udfff", "output": 3}]}'
    )
    assert take_in(conn, tmp_path) == 1
    (row,) = rows(conn)
    assert (row.owner, row.sums.input, row.sums.output) == ("older workers", 7, 3)


def test_a_file_that_was_half_written_is_read_when_it_is_whole(tmp_path: Path) -> None:
    conn = sqlite3.connect(":memory:")
    conn.executescript(MIGRATIONS[0])
    path = tmp_path / FILE
    path.parent.mkdir()
    whole = json.dumps(SHAPES[0])
    path.write_text(whole[:20])
    assert take_in(conn, tmp_path) == 0
    path.write_text(whole)
    assert take_in(conn, tmp_path) == 1
    assert take_in(conn, tmp_path) == 0
