"""Whatever happens to several directories, the live figures are those of a fresh start."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from sqlite3 import Connection
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.engine.transcript_kit import Tree, line, usage

from workers_tui.engine.store import store_file
from workers_tui.engine.transcripts.index import MIGRATIONS
from workers_tui.engine.transcripts.indexer import Indexer
from workers_tui.engine.transcripts.savings_steps import Steps
from workers_tui.engine.transcripts.scan import scan

DIRECTORIES = 3
TODAY = 1
PRICES = {"prices": {"claude-opus-4-8": {"input": 5, "output": 25}}}

directory = st.integers(0, DIRECTORIES - 1)
session = st.sampled_from(["s1", "s2"])
change = st.one_of(
    st.tuples(st.just("append"), directory, session, st.integers(1, 6), st.integers(1, 90)),
    st.tuples(st.just("copy"), directory, session, directory),
    st.tuples(st.just("move"), directory, session, directory),
    st.tuples(st.just("delete"), directory, session),
    st.tuples(st.just("look"), st.booleans()),
    st.tuples(st.just("other process")),
)


@dataclass
class World:
    """Some directories, the follower's steps over them, and what was ever written."""

    place: Path
    conn: Connection
    other: Connection
    written: dict[str, int] = field(default_factory=dict)
    """Largest output by message."""
    lost: bool = False
    """Some file is gone, so the files alone no longer say everything."""

    def __post_init__(self) -> None:
        self.trees = [Tree(self.place / f"dir{number}") for number in range(DIRECTORIES)]
        self.steps = self.start()

    def start(self) -> Steps:
        """The steps of a program that starts now."""
        sources = [tree.source for tree in self.trees]
        indexer = Indexer(lambda work: work(self.conn), sources)
        return Steps(lambda work: work(self.conn), indexer, self.place / "none", PRICES)

    def append(self, where: int, name: str, message: int, output: int) -> None:
        request = f"r{message}" if message % 3 else None
        more: dict[str, Any] = {} if request else {"uuid": f"u{message}"}
        if message % 3 == 0:
            output = message  # alone on its line, so always the same
        said = line(f"m{message}", request, counts=usage(output), sessionId=name, **more)
        self.trees[where].add(said, name=name)
        self.written[f"m{message}"] = max(output, self.written.get(f"m{message}", 0))

    def copy(self, where: int, name: str, there: int) -> None:
        path = self.trees[where].path(name)
        if path.exists() and where != there:
            self.look(everything=True)
            self.lost |= self.trees[there].path(name).exists()
            shutil.copyfile(path, self.trees[there].path(name))

    def move(self, where: int, name: str, there: int) -> None:
        path = self.trees[where].path(name)
        if path.exists() and where != there:
            self.look(everything=True)
            self.lost |= self.trees[there].path(name).exists()
            path.replace(self.trees[there].path(name))

    def delete(self, where: int, name: str) -> None:
        self.look(everything=True)
        self.lost |= self.trees[where].path(name).exists()
        self.trees[where].path(name).unlink(missing_ok=True)

    def look(self, everything: bool) -> None:
        paths = {str(tree.path(name)) for tree in self.trees for name in ("s1", "s2")}
        self.steps.take(None if everything else paths)
        if self.steps.stale:
            self.steps.reload()

    def other_process(self) -> None:
        Indexer(lambda work: work(self.other), [tree.source for tree in self.trees]).refresh()
        self.steps.reload()  # what the follower does after another's commit

    def apply(self, name: str, *arguments: Any) -> None:
        getattr(self, name.replace(" ", "_"))(*arguments)

    def check(self) -> None:
        """Live, started anew and known to be true are the same."""
        self.look(everything=True)
        wanted = [usage(output) for output in self.written.values()]
        for steps in (self.steps, self.start()):
            found = steps.view(TODAY).all_time.manager.sums
            assert found.messages == len(wanted)
            assert found.output == sum(one["output_tokens"] for one in wanted)
            assert found.read == sum(one["cache_read_input_tokens"] for one in wanted)
        assert self.steps.view(TODAY).days == self.start().view(TODAY).days
        if not self.lost:
            rows = scan([tree.source for tree in self.trees]).rows
            assert sum(row.sums.output for row in rows) == sum(self.written.values())


@contextmanager
def world() -> Iterator[World]:
    with TemporaryDirectory() as place:
        path = Path(place, "index.db")
        store_file.prepare(path, MIGRATIONS)
        with (
            closing(store_file.connect(path, durable=False)) as conn,
            closing(store_file.connect(path, durable=False)) as other,
        ):
            yield World(Path(place), conn, other)


@settings(max_examples=30, deadline=None)
@given(changes=st.lists(change, max_size=14))
def test_live_is_cold_for_any_appends_copies_moves_and_deletions(
    changes: list[tuple[Any, ...]],
) -> None:
    with world() as one:
        for name, *arguments in changes:
            one.apply(name, *arguments)
        one.check()


def test_a_message_copied_while_it_was_written_counts_as_its_longest() -> None:
    with world() as one:
        one.append(0, "s1", 1, 5)
        one.copy(0, "s1", 1)
        one.look(everything=True)
        one.append(1, "s1", 1, 50)
        one.append(0, "s1", 1, 20)
        one.check()
        assert one.steps.view(TODAY).all_time.manager.sums.output == 50
