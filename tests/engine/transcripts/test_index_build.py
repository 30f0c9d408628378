"""The program that builds the index: the same sums, told as it goes, and nothing lost with it."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.engine.transcript_kit import Tree, line, make_tree

from workers_tui.engine.store import store_file
from workers_tui.engine.transcripts import index, index_child, index_query
from workers_tui.engine.transcripts.index import MIGRATIONS
from workers_tui.engine.transcripts.index_build import Progress, build_apart
from workers_tui.engine.transcripts.indexer import Indexer
from workers_tui.engine.transcripts.savings_view import Reading
from workers_tui.engine.transcripts.short_transactions import transactions
from workers_tui.engine.transcripts.transcript_files import Source

FILES = 30


class Index:
    """An index and what this process knows of it."""

    def __init__(self, path: Path, source: Source) -> None:
        self.path = path
        store_file.prepare(path, MIGRATIONS)
        self.conn = store_file.connect(path, durable=False)
        self.indexer = Indexer(transactions(self.conn), [source])

    @property
    def sums(self) -> list[Any]:
        """Every cell, by name."""
        return sorted(index_query.cell_rows(self.conn, self.indexer.ids.values(), by="session"))

    @property
    def messages(self) -> int:
        return sum(row.sums.messages for row in self.sums)


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    tree = Tree(tmp_path / "claude")
    for number in range(FILES):
        tree.write(line(f"m{number}", sessionId=f"s{number}"), name=f"s{number}")
    return tree


@pytest.fixture
def open_index(tmp_path: Path) -> Iterator[Callable[[str, Source], Index]]:
    with contextlib.ExitStack() as opened:

        def open_one(name: str, source: Source) -> Index:
            one = Index(tmp_path / f"{name}.db", source)
            opened.enter_context(contextlib.closing(one.conn))
            return one

        yield open_one


Open = Callable[[str, Source], Index]


async def test_the_program_builds_what_this_process_would_have_built(
    tmp_path: Path, open_index: Open
) -> None:
    make_tree(tmp_path / "made", seed=7)
    source = Tree(tmp_path / "made").source
    here, apart = open_index("here", source), open_index("apart", source)
    here.indexer.refresh()
    heard: list[int] = []
    waiting = apart.indexer.waiting()
    await build_apart(apart.path, [source], heard.append)
    apart.indexer.forget()
    assert (heard == sorted(heard), heard[-1]) == (True, waiting)
    assert apart.indexer.waiting() == 0
    assert apart.indexer.refresh().files == 0
    assert apart.sums == here.sums


@pytest.mark.parametrize("program", ["/bin/false", "/bin/cat", "/nowhere/python"])
async def test_without_the_program_everything_is_left_to_this_process(
    tree: Tree, open_index: Open, monkeypatch: pytest.MonkeyPatch, program: str
) -> None:
    one = open_index("index", tree.source)
    monkeypatch.setattr("sys.executable", program)
    heard: list[int] = []
    await build_apart(one.path, [tree.source], heard.append)
    one.indexer.forget()
    assert (heard, one.messages) == ([], 0)
    assert one.indexer.refresh().files == FILES
    assert one.messages == FILES


class Deaf:
    """An output whose reader is gone."""

    def write(self, _text: bytes) -> int:
        raise BrokenPipeError

    def flush(self) -> None:
        pass


def test_what_was_committed_stays_when_nobody_hears_the_program_any_more(
    tree: Tree, open_index: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = open_index("index", tree.source)
    whole = index.batches
    monkeypatch.setattr(index, "batches", lambda items: whole(items, 4))
    with pytest.raises(BrokenPipeError):
        index_child.build(one.path, [tree.source], Deaf())  # type: ignore[arg-type]
    begun = one.messages
    assert 0 < begun < FILES
    one.indexer.forget()
    assert one.indexer.refresh().files == FILES - begun
    assert one.messages == FILES


PROGRAM = """
import os, signal, sys
from workers_tui.engine.transcripts import index, index_child
whole, real = index.batches, index.apply
index.batches = lambda items: whole(items, 4)
def apply(conn, source, batch):
    gained = real(conn, source, batch)
    if conn.execute("SELECT count(*) FROM file").fetchone()[0] > 2:
        {deed}
    return gained
index.apply = apply
index_child.main()
"""
"""The program, to which something happens inside of its second transaction."""


def let_it(monkeypatch: pytest.MonkeyPatch, deed: str) -> None:
    def command(path: Path) -> list[str]:
        return [sys.executable, "-c", PROGRAM.format(deed=deed), str(path)]

    monkeypatch.setattr(index_child, "command", command)


async def test_a_program_killed_midway_loses_nothing_and_leaves_the_rest(
    tree: Tree, open_index: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = open_index("index", tree.source)
    let_it(monkeypatch, "os.kill(os.getpid(), signal.SIGKILL)")
    heard: list[int] = []
    await build_apart(one.path, [tree.source], heard.append)
    one.indexer.forget()
    assert (len(heard), one.messages) == (1, 2)
    assert one.indexer.refresh().files == FILES - 2
    assert one.messages == FILES


async def test_ctrl_c_is_not_for_the_program(
    tree: Tree, open_index: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = open_index("index", tree.source)
    let_it(monkeypatch, "os.kill(os.getpid(), signal.SIGINT)")
    await build_apart(one.path, [tree.source], lambda _: None)
    assert one.messages == FILES


async def test_a_cancelled_build_leaves_no_program_behind(
    tree: Tree, open_index: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, before, begun = open_index("index", tree.source), children(), asyncio.Event()
    let_it(monkeypatch, "signal.pause()")
    build = asyncio.create_task(build_apart(one.path, [tree.source], lambda _: begun.set()))
    await begun.wait()
    assert children() != before
    build.cancel()
    with pytest.raises(asyncio.CancelledError):
        await build
    assert children() == before
    assert one.indexer.refresh().files == FILES - 2  # its lock is gone, too


def children() -> set[str]:
    """Processes that this one has started and not buried."""
    lists = Path("/proc/self/task").glob("*/children")
    return {pid for one in lists for pid in one.read_text().split()}


def test_progress_is_shown_at_each_step_and_told_at_each_quarter() -> None:
    told: list[str] = []
    shown: list[Reading] = []
    progress = Progress(1000, told.append, shown.append)
    for read in (10, 249, 250, 260, 800, 1000, 1100):
        progress.take(read)
    assert told == [
        "reading 1.0 KB of transcripts, once",
        "25 % of 1.0 KB of transcripts is read",
        "75 % of 1.0 KB of transcripts is read",
        "100 % of 1.0 KB of transcripts is read",
    ]
    assert [one.percent for one in shown] == [0, 1, 24, 25, 26, 80, 100, 100]
