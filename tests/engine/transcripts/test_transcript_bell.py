"""The bell: what rings it where the kernel's notices are missing, and how often it tries."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from tests.engine.transcript_kit import Tree, line

from workers_tui.engine.clock import SystemClock
from workers_tui.engine.transcripts import transcript_bell
from workers_tui.engine.transcripts.transcript_bell import Bell, folders_in, links_in

Change = tuple[int, str]


class Kernel:
    """Stands in for watchfiles: passes on what a test tells, or has no watches left."""

    def __init__(self) -> None:
        self.starts = 0
        self.full = False
        self.locked: Path | None = None
        self.watched: list[tuple[Path, ...]] = []
        self.told: asyncio.Queue[set[Change]] = asyncio.Queue()
        self.started = asyncio.Event()

    async def awatch(
        self, *paths: Path, stop_event: asyncio.Event, recursive: bool, **_: Any
    ) -> AsyncIterator[Any]:
        self.starts += 1
        self.started.set()
        self.watched.append(paths)
        if self.locked is not None and recursive:
            raise PermissionError(13, f"Permission denied about {self.locked}")
        if self.full:
            raise OSError("OS file watch limit reached.")
        stopped = asyncio.create_task(stop_event.wait())
        while True:
            told = asyncio.create_task(self.told.get())
            await asyncio.wait({told, stopped}, return_when=asyncio.FIRST_COMPLETED)
            if stopped.done():
                told.cancel()
                return
            yield told.result()


@pytest.fixture
def kernel(monkeypatch: pytest.MonkeyPatch) -> Kernel:
    kernel = Kernel()
    monkeypatch.setattr("watchfiles.awatch", kernel.awatch)
    for name, value in {"ROOTS": 0.02, "POLL": 0.02, "OTHERS": 0.0, "BETWEEN": 0.01}.items():
        monkeypatch.setattr(transcript_bell, name, value)
    monkeypatch.setattr(transcript_bell, "SURELY", (0.01,))
    return kernel


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    tree = Tree(tmp_path)
    tree.write(line())
    return tree


class Ringing:
    """A bell and what it rang for."""

    def __init__(self, tree: Tree, hot: Callable[[], list[str]] = list) -> None:
        self.bell = Bell([str(tree.root)], SystemClock(), hot)
        self.rings: list[set[str] | None] = []
        self._rung = asyncio.Event()
        self._task = asyncio.create_task(self._listen())

    async def _listen(self) -> None:
        async for paths in self.bell.rings():
            self.rings.append(paths)
            self._rung.set()

    async def until(self, true: Callable[[], bool]) -> None:
        async with asyncio.timeout(10):
            while not true():
                self._rung.clear()
                await self._rung.wait()

    async def close(self) -> None:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)


@pytest.fixture
async def ringing(kernel: Kernel, tree: Tree) -> AsyncIterator[Ringing]:
    one = Ringing(tree)
    await kernel.started.wait()
    kernel.started.clear()
    await one.until(lambda: None in one.rings)  # the look that makes sure of the watches is over
    yield one
    await one.close()


async def test_watches_are_set_anew_where_news_came_without_a_notice(
    kernel: Kernel, ringing: Ringing, tree: Tree
) -> None:
    path = str(tree.path())
    ringing.bell.found([path])
    async with asyncio.timeout(10):
        await kernel.started.wait()
    assert kernel.starts == 2
    await ringing.until(lambda: None in ringing.rings and {path} in ringing.rings)


async def test_a_line_without_a_notice_makes_its_file_a_living_one(
    kernel: Kernel, ringing: Ringing, tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transcript_bell, "ROOTS", 60)
    path = str(tree.path())
    ringing.bell.found([path])
    await ringing.until(lambda: {path} in ringing.rings)
    ringing.rings.clear()
    tree.add(line("m2"))
    await ringing.until(lambda: {path} in ringing.rings)


async def test_a_notice_that_is_only_late_sets_nothing_anew(
    kernel: Kernel, ringing: Ringing, tree: Tree
) -> None:
    path, other = str(tree.path()), str(tree.write(line("m2"), name="other"))
    ringing.bell.found([path])
    await kernel.told.put({(1, path)})
    await kernel.told.put({(1, other)})
    await ringing.until(lambda: any(other in (paths or ()) for paths in ringing.rings))
    await asyncio.sleep(5 * transcript_bell.ROOTS)
    assert kernel.starts == 1


async def test_after_notices_of_many_files_at_once_everything_is_looked_at(
    kernel: Kernel, ringing: Ringing, tree: Tree
) -> None:
    ringing.rings.clear()
    many = [str(tree.write(line(), name=f"s{n}")) for n in range(transcript_bell.BURST)]
    kernel.told.put_nowait({(1, path) for path in many})
    await ringing.until(lambda: set(many) in ringing.rings)
    assert (kernel.starts, None in ringing.rings) == (1, False)
    one_more = str(tree.write(line(), name="more"))
    kernel.told.put_nowait({(2, path) for path in [*many, one_more]})
    await ringing.until(lambda: None in ringing.rings)
    assert kernel.starts == 2


async def test_a_locked_directory_leaves_the_others_their_watches(
    kernel: Kernel, tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    locked = kernel.locked = tree.write(line(), project="-locked").parent
    real = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: path != str(locked) and real(path, mode))
    ringing = Ringing(tree)
    await ringing.until(lambda: kernel.starts == 2)
    folder = tree.path().parent
    assert set(kernel.watched[1]) == {folder.parent, folder}
    new = folder.parent / "-new"
    new.mkdir()
    kernel.told.put_nowait({(1, str(new))})
    await ringing.until(lambda: kernel.starts == 3)
    assert set(kernel.watched[2]) == {folder.parent, folder, new}
    await ringing.close()


def test_directories_elsewhere_are_watched_and_circles_are_not(tmp_path: Path) -> None:
    root, elsewhere = tmp_path / "projects", tmp_path / "elsewhere"
    for place in (root / "-own", elsewhere):
        place.mkdir(parents=True)
    for name, target in {"-up": tmp_path, "-again": root / "-own", "-far": elsewhere}.items():
        (root / name).symlink_to(target)
    assert links_in([root]) == [root / "-far"]
    assert set(folders_in([root])) == {root, root / "-own", root / "-far"}


@pytest.mark.skipif(sys.platform != "linux", reason="asks for inotify's limits")
async def test_watches_reach_a_directory_behind_a_link(tmp_path: Path) -> None:
    elsewhere, tree = tmp_path / "elsewhere", Tree(tmp_path / "claude")
    tree.write(line())
    elsewhere.mkdir()
    (tree.root / "projects" / "-far").symlink_to(elsewhere)
    ringing = Ringing(tree)
    path = str(tree.path(project="-far"))

    def written() -> bool:
        tree.add(line(), project="-far")
        return any(path in (paths or ()) for paths in ringing.rings)

    async with asyncio.timeout(20):
        while not written():  # noqa: ASYNC110 - until the watches stand
            await asyncio.sleep(0.05)
    await ringing.close()


async def test_without_watches_files_and_directories_are_looked_at_and_nothing_is_tried_again(
    kernel: Kernel, tree: Tree
) -> None:
    kernel.full = True
    hot = [str(tree.path())]
    ringing = Ringing(tree, lambda: hot)
    await ringing.until(lambda: ringing.rings.count(set(hot)) > 5)
    assert (kernel.starts, ringing.rings.count(None)) == (1, 1)
    tree.write(line("m2"), name="new")
    await ringing.until(lambda: ringing.rings.count(None) == 2)
    tree.write(line("m3"), name="s", project="-new")
    await ringing.until(lambda: ringing.rings.count(None) > 2)
    assert kernel.starts == 1
    await ringing.close()


async def test_without_watches_they_are_tried_again_after_a_sweeps_turn(
    kernel: Kernel, tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transcript_bell, "SWEEP", 0.1)
    kernel.full = True
    ringing = Ringing(tree)
    await ringing.until(lambda: kernel.starts == 2)
    kernel.full = False
    await ringing.until(lambda: kernel.starts == 3)
    kernel.told.put_nowait({(1, str(tree.path()))})
    await ringing.until(kernel.told.empty)
    await ringing.close()


async def test_on_a_network_file_system_no_notice_is_waited_for(
    kernel: Kernel, tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transcript_bell, "network_file_system", lambda _: "nfs4")
    hot = [str(tree.path())]
    ringing = Ringing(tree, lambda: hot)
    await ringing.until(lambda: ringing.rings.count(set(hot)) > 5)
    assert (kernel.starts, ringing.rings.count(None)) == (0, 1)
    await ringing.close()
