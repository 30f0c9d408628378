"""The index: reads each byte once, forgets nothing, counts nothing twice."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import sqlite3
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.engine.transcript_kit import (
    Tree,
    as_truth,
    dump,
    line,
    make_tree,
    of_truth,
    sums_of,
    usage,
)

from workers_tui.engine.store import store_file
from workers_tui.engine.transcripts import cells, index_query, transcript_files
from workers_tui.engine.transcripts.cells import Sums
from workers_tui.engine.transcripts.index import MIGRATIONS
from workers_tui.engine.transcripts.index_query import CellRow, FileCounts
from workers_tui.engine.transcripts.indexer import Indexer, Refreshed
from workers_tui.engine.transcripts.transcript_files import Listing, Source


class Indexed:
    """An index over some sources, opened anew like a program that starts."""

    def __init__(self, path: Path, *sources: Source) -> None:
        self.path = path
        self.sources = sources
        store_file.prepare(path, MIGRATIONS)
        self.conn = store_file.connect(path, durable=False)
        self.indexer = Indexer(self.transact, sources)

    def transact(self, work: Callable[[sqlite3.Connection], Any]) -> Any:
        self.conn.execute("BEGIN IMMEDIATE")
        result = work(self.conn)
        self.conn.execute("COMMIT")
        return result

    def refresh(self) -> Refreshed:
        return self.indexer.refresh()

    def rows(self, by: str = "", since: int = 0) -> list[CellRow]:
        ids = self.indexer.ids.values()
        return index_query.cell_rows(self.conn, ids, by=by, since=since)

    def sums(self) -> Sums:
        self.refresh()
        return sums_of(self.rows())

    def files(self) -> FileCounts:
        return index_query.file_counts(self.conn, list(self.indexer.ids.values()))

    def again(self) -> Indexed:
        self.conn.close()
        return Indexed(self.path, *self.sources)


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path / "claude")


@pytest.fixture
def indexed(tmp_path: Path, tree: Tree) -> Iterator[Indexed]:
    one = Indexed(tmp_path / "index.db", tree.source)
    with contextlib.closing(one.conn):
        yield one


@pytest.mark.parametrize("seed", [5, 6])
def test_cold_warm_and_after_random_appends_the_index_equals_the_truth(
    tmp_path: Path, seed: int
) -> None:
    truth = make_tree(tmp_path / "whole", seed=seed)
    whole = Tree(tmp_path / "whole")
    growing = Tree(tmp_path / "growing")
    index = Indexed(tmp_path / "index.db", growing.source)
    chance = random.Random(seed)
    waiting = {
        path.relative_to(whole.root): path.read_bytes() for path in whole.root.rglob("*.jsonl")
    }
    for _ in range(60):
        name = chance.choice(sorted(waiting))
        path = growing.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        done = path.stat().st_size if path.exists() else 0
        with path.open("ab") as file:
            file.write(waiting[name][done : done + chance.randrange(1, 60_000)])
        index.refresh()
    for name, data in waiting.items():
        (growing.root / name).parent.mkdir(parents=True, exist_ok=True)
        (growing.root / name).write_bytes(data)
    index.refresh()
    again = index.again()
    assert again.refresh().files == 0
    assert as_truth(sums_of(again.rows())) == of_truth(truth["total"])
    models = {row.model for row in again.rows()}
    for model in models:
        ours = sums_of([row for row in again.rows() if row.model == model])
        assert as_truth(ours) == of_truth(truth["by_model"][model])
    for project, expected in truth["by_project"].items():
        ours = sums_of([row for row in again.rows("project") if row.project == project])
        assert as_truth(ours) == of_truth(expected)
    again.conn.close()


def test_a_warm_start_reads_nothing_and_an_append_only_what_is_new(
    tree: Tree, indexed: Indexed
) -> None:
    tree.write(line())
    tree.write(line("m2", "r2", sessionId="s2"), name="s2")
    assert indexed.refresh().files == 2
    warm = indexed.again()
    assert warm.refresh().files == 0
    tree.add(line("m3", "r3"))
    done = warm.refresh()
    assert done.files == 1
    assert [sum(sums.messages for sums in delta.values()) for delta in done.deltas] == [1]
    assert warm.sums().messages == 3


def test_a_refresh_after_a_look_does_not_look_again(
    tree: Tree, indexed: Indexed, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree.write(line())
    looks: list[Source] = []

    def list_files(source: Source) -> Listing:
        looks.append(source)
        return transcript_files.list_files(source)

    monkeypatch.setattr("workers_tui.engine.transcripts.indexer.list_files", list_files)
    assert indexed.indexer.waiting() == tree.path().stat().st_size
    assert (indexed.refresh().files, len(looks)) == (1, 1)
    tree.add(line("m2", "r2"))
    assert (indexed.refresh().files, len(looks)) == (1, 2)


def test_deleting_the_files_changes_no_total(tree: Tree, indexed: Indexed) -> None:
    tree.write(line(), b"junk\n", line("m2", "r2"))
    before = (indexed.sums(), indexed.files(), indexed.rows("session"))
    shutil.rmtree(tree.root)
    after = indexed.again()
    assert (after.sums(), after.files(), after.rows("session")) == before


def test_a_message_that_grows_over_two_reads_counts_once(tree: Tree, indexed: Indexed) -> None:
    tree.write(line(counts=usage(1), stop=None))
    assert (indexed.sums().output, indexed.sums().unfinished) == (1, 1)
    tree.add(line(counts=usage(70)))
    sums = indexed.sums()
    assert (sums.messages, sums.output, sums.unfinished) == (1, 70, 0)


def test_a_torn_line_counts_once_it_is_whole(tree: Tree, indexed: Indexed) -> None:
    raw = dump(line("m2", "r2"))
    tree.write(line(), raw[:100])
    assert indexed.sums().messages == 1
    assert indexed.files().torn == 1
    tree.add(raw[100:])
    assert indexed.sums().messages == 2
    assert indexed.files()._replace(bytes=0) == FileCounts(files=1)


@pytest.mark.parametrize("loose", [False, True])
def test_a_file_cut_or_replaced_is_read_again_without_counting_twice(
    tree: Tree, indexed: Indexed, loose: bool
) -> None:
    request = None if loose else "r"
    lines = [line(f"m{n}", request and f"r{n}", uuid=f"u{n}") for n in range(4)]
    path = tree.write(*lines, b"junk\n")
    assert indexed.sums().messages == 4
    tree.write(*lines[:2])
    assert indexed.sums().messages == 4
    assert indexed.files().bad_lines == 0
    path.unlink()
    tree.write(*lines, line("m9", request and "r9", uuid="u9"))
    assert indexed.sums().messages == 5


def test_copies_keep_the_session_that_was_seen_first(tree: Tree, indexed: Indexed) -> None:
    tree.write(line())
    indexed.refresh()
    tree.write({**line(), "sessionId": "s2"}, line("m2", "r2", sessionId="s2"), name="s2")
    indexed.refresh()
    by_session = {row.session: row.sums.messages for row in indexed.rows("session")}
    assert by_session == {"s1": 1, "s2": 1}


def test_loose_messages_go_on_over_two_reads(tree: Tree, indexed: Indexed) -> None:
    tree.write(line("m", None, uuid="u1", stop=None, counts=usage(1)))
    indexed.refresh()
    tree.add(line("m", None, uuid="u2", parentUuid="u1", stop="tool_use", counts=usage(30)))
    warm = indexed.again()
    assert (warm.sums().messages, warm.sums().output) == (1, 30)


def test_two_processes_that_read_the_same_lines_count_them_once(
    tmp_path: Path, tree: Tree, indexed: Indexed
) -> None:
    other = Indexed(indexed.path, tree.source)
    tree.write(line(), b"junk\n")
    assert indexed.sums() == other.sums()
    tree.add(line("m2", "r2"), b"junk\n")
    assert other.sums() == indexed.sums()
    assert indexed.files().bad_lines == 2
    other.conn.close()


def test_a_copied_directory_counts_once_and_alone_in_full(tmp_path: Path) -> None:
    old, new = Tree(tmp_path / "old"), Tree(tmp_path / "new")
    old.write(line(), line("m2", "r2"))
    new.write(line(), line("m3", "r3"))
    both = Indexed(tmp_path / "index.db", old.source, new.source)
    assert both.sums().messages == 3
    assert sums_of(both.rows("session")).messages == 3
    both.conn.close()
    one = Indexed(tmp_path / "index.db", new.source)
    assert one.sums().messages == 2
    one.conn.close()


def test_a_second_name_for_a_directory_is_the_same_directory(tmp_path: Path) -> None:
    from workers_tui.engine.transcripts.transcript_files import find_sources

    tree = Tree(tmp_path / "claude")
    tree.write(line())
    link = tmp_path / "link"
    link.symlink_to(tree.root)
    environ = {"CLAUDE_CONFIG_DIR": f"{tree.root},{link}"}
    index = Indexed(tmp_path / "index.db", *find_sources(environ, workers_root=tmp_path / "no"))
    assert index.sums().messages == 1
    index.conn.close()


def test_another_time_zone_moves_the_days(
    tree: Tree, indexed: Indexed, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree.write(line(timestamp="2026-06-10T23:30:00Z"))
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    cells._days.clear()
    first = indexed.again()
    first.refresh()
    (utc,) = first.rows()
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    cells._days.clear()
    second = first.again()
    (tokyo,) = second.rows()
    second.conn.close()
    monkeypatch.undo()
    time.tzset()
    cells._days.clear()
    assert (tokyo.day - utc.day, tokyo.sums) == (1, utc.sums)


def test_what_cannot_be_read_is_told_and_the_rest_counts(
    tree: Tree, indexed: Indexed, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree.write(line())
    locked = tree.write(line("m2", "r2"), name="locked")
    real = os.open

    def refuse(path: Any, *more: Any, **named: Any) -> int:
        if str(path) == str(locked):
            raise PermissionError(13, "Permission denied")
        return real(path, *more, **named)

    monkeypatch.setattr("os.open", refuse)
    done = indexed.refresh()
    assert sums_of(indexed.rows()).messages == 1
    assert done.unreadable == [f"{locked}: Permission denied"]
    monkeypatch.undo()
    assert indexed.sums().messages == 2


def test_since_leaves_older_days_out(tree: Tree, indexed: Indexed) -> None:
    tree.write(line(timestamp="2026-06-10T12:00:00Z"), line("m2", timestamp="2026-06-12T12:00:00Z"))
    indexed.refresh()
    newest = max(row.day for row in indexed.rows())
    assert sums_of(indexed.rows(since=newest)).messages == 1


def test_a_directory_whose_path_is_no_text_is_told_and_the_others_count(
    tmp_path: Path, tree: Tree
) -> None:
    tree.write(line())
    odd = Source("", os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9"))
    Path(odd.root, "projects").mkdir(parents=True)
    index = Indexed(tmp_path / "index.db", odd, tree.source)
    done = index.refresh()
    assert done.unreadable == [f"{tmp_path}/caf\ufffd: its name is no UTF-8"]
    assert sums_of(index.rows()).messages == 1
    assert index.indexer.refresh_paths([f"{odd.root}/projects/p/s.jsonl"]).files == 0
    index.conn.close()
