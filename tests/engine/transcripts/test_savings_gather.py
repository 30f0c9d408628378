"""From the disk to a report: what goes wrong with the index is said so that a user can act."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from tests.engine.transcript_kit import Tree, line

from workers_tui.engine.errors import StoreUnusable
from workers_tui.engine.store import store_file
from workers_tui.engine.transcripts.savings_gather import gather
from workers_tui.home.places import Home


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Connections that wait for no lock."""

    def connect(path: Path, *, durable: bool) -> sqlite3.Connection:
        return sqlite3.connect(path, timeout=0, isolation_level=None)

    monkeypatch.setattr(store_file, "connect", connect)


@pytest.mark.usefixtures("impatient")
def test_an_index_that_is_locked_for_long_is_said(home: Home, tmp_path: Path) -> None:
    tree = Tree(tmp_path / "claude")
    tree.write(line())
    assert gather(home, [tree.source]).manager.sums.messages == 1
    with closing(sqlite3.connect(home.index_db, isolation_level=None)) as conn:
        conn.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreUnusable, match="locked"):
            gather(home, [tree.source])


def test_damage_found_at_work_is_looked_for_at_the_next_start(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_file, "QUICK_CHECK_BELOW", 0)  # as with a large index
    tree = Tree(tmp_path / "claude")
    tree.write(line())
    gather(home, [tree.source])
    with closing(sqlite3.connect(home.index_db, isolation_level=None)) as conn:
        (page,) = conn.execute("SELECT rootpage FROM sqlite_master WHERE name = 'cell'").fetchone()
        (size,) = conn.execute("PRAGMA page_size").fetchone()
        conn.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    with home.index_db.open("r+b") as file:
        file.seek((page - 1) * size)
        file.write(b"\xff" * size)
    with pytest.raises(StoreUnusable, match="damaged"):
        gather(home, [tree.source])
    report = gather(home, [tree.source])
    assert report.manager.sums.messages == 1
    assert "damaged" in report.unreadable[0]
