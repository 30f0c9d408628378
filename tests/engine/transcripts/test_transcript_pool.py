"""Two processes read what one would have read, whatever becomes of the second."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
from pathlib import Path
from typing import IO

import pytest
from tests.engine.transcript_kit import Tree, line

from workers_tui.engine.transcripts import transcript_child, transcript_pool
from workers_tui.engine.transcripts.transcript_child import Block, Task
from workers_tui.engine.transcripts.transcript_place import Place
from workers_tui.engine.transcripts.transcript_pool import read_all
from workers_tui.engine.transcripts.transcripts import News, Reader


@pytest.fixture
def tasks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Task]:
    monkeypatch.setattr(transcript_pool, "BLOCK", 1)
    tree = Tree(tmp_path / "claude")
    paths = [tree.write(line(f"m{n}"), name=f"s{n}") for n in range(20)]
    return [Task(str(path), path.stem, path.stat().st_size) for path in paths]


@pytest.fixture(params=["fork", "program"])
def kind(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """How the second process is started."""
    monkeypatch.setattr(transcript_child, "_has_threads", lambda: request.param == "program")
    return str(request.param)


def keys(tasks: list[Task], processes: int) -> list[list[str]]:
    news = read_all(tasks, processes=processes)
    return [[message.key for message in one.messages] for one in news]


ALL = [[f"m{n} req_1"] for n in range(20)]


@pytest.mark.usefixtures("kind")
def test_news_come_in_the_order_of_the_files(tasks: list[Task]) -> None:
    assert keys(tasks, 2) == keys(tasks, 1) == ALL


@pytest.mark.parametrize("program", ["/bin/false", "/bin/cat"])
def test_a_second_process_that_does_nothing_loses_nothing(
    tasks: list[Task], monkeypatch: pytest.MonkeyPatch, program: str
) -> None:
    monkeypatch.setattr(transcript_child, "_has_threads", lambda: True)
    monkeypatch.setattr("sys.executable", program)
    assert keys(tasks, 2) == ALL


def test_a_second_process_that_dies_with_a_block_in_its_hands_loses_nothing(
    tasks: list[Task], monkeypatch: pytest.MonkeyPatch
) -> None:
    took, tell = os.pipe()

    def take_one_and_die(blocks: list[Block], turns: int, out: IO[bytes]) -> None:
        number = os.read(turns, 4)
        os.write(tell, number)

    real = transcript_child.read_block

    taken = b""

    def after_the_other_took_one(reader: Reader, block: Block) -> list[News]:
        nonlocal taken
        taken = taken or os.read(took, 4)
        return real(reader, block)

    monkeypatch.setattr(transcript_child, "_has_threads", lambda: False)
    monkeypatch.setattr(transcript_child, "_serve", take_one_and_die)
    monkeypatch.setattr(transcript_pool, "read_block", after_the_other_took_one)
    assert keys(tasks, 2) == ALL
    assert len(taken) == 4
    os.close(took)
    os.close(tell)


@pytest.mark.parametrize("processes", [1, 2])
def test_every_file_but_those_of_the_first_block_is_fetched_once_before_its_turn(
    tasks: list[Task], monkeypatch: pytest.MonkeyPatch, processes: int
) -> None:
    fetched = multiprocessing.get_context("fork").SimpleQueue()
    monkeypatch.setattr(transcript_child, "_has_threads", lambda: False)
    monkeypatch.setattr(transcript_child, "fetch", lambda *given: fetched.put(given))
    tasks[7].place = Place(offset=5)
    assert keys(tasks, processes) == ALL
    asked = [fetched.get() for _ in range(19)]
    assert fetched.empty()
    assert sorted(asked) == sorted(
        (task.path, task.place.offset if task.place else 0, task.bytes) for task in tasks[1:]
    )


def test_a_second_process_that_fails_says_so_and_loses_nothing(
    tasks: list[Task], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(blocks: list[Block], turns: int, out: IO[bytes]) -> None:
        raise RuntimeError

    def wait_for_it(reader: Reader, block: Block) -> list[News]:
        for pid in children() - before:  # it has ended, and nobody has buried it yet
            os.waitid(os.P_PID, int(pid), os.WEXITED | os.WNOWAIT)
        return real(reader, block)

    before, real = children(), transcript_child.read_block
    monkeypatch.setattr(transcript_child, "_has_threads", lambda: False)
    monkeypatch.setattr(transcript_child, "_serve", fail)
    monkeypatch.setattr(transcript_pool, "read_block", wait_for_it)
    caplog.set_level("INFO")
    assert keys(tasks, 2) == ALL
    assert caplog.messages == ["the second reader of transcripts ended with 1"]


@pytest.mark.usefixtures("kind")
def test_a_second_process_that_does_its_work_leaves_no_word(
    tasks: list[Task], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    assert keys(tasks, 2) == ALL
    assert caplog.messages == []


@pytest.mark.usefixtures("kind")
def test_a_file_that_cannot_be_read_is_told_in_its_place(tasks: list[Task]) -> None:
    Path(tasks[3].path).unlink()
    news = list(read_all(tasks, processes=2))
    assert [bool(one.error) for one in news] == [number == 3 for number in range(20)]


@pytest.mark.usefixtures("kind")
def test_whoever_stops_half_way_leaves_no_process_behind(tasks: list[Task]) -> None:
    before = children()
    with contextlib.closing(read_all(tasks, processes=2)) as news:
        next(news)
    assert children() == before


def children() -> set[str]:
    """Processes that this one has started and not buried."""
    lists = Path("/proc/self/task").glob("*/children")
    return {pid for one in lists for pid in one.read_text().split()}
