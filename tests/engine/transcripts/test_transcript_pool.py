"""Two processes read what one would have read, whatever becomes of the second."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.engine.transcript_kit import Tree, line

from workers_tui.engine.transcripts import transcript_pool
from workers_tui.engine.transcripts.transcript_pool import Task, read_all


@pytest.fixture
def tasks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Task]:
    monkeypatch.setattr(transcript_pool, "BLOCK", 1)
    tree = Tree(tmp_path / "claude")
    paths = [tree.write(line(f"m{n}"), name=f"s{n}") for n in range(20)]
    return [Task(str(path), path.stem, path.stat().st_size) for path in paths]


def keys(tasks: list[Task], processes: int) -> list[list[str]]:
    news = read_all(tasks, processes=processes)
    return [[message.key for message in one.messages] for one in news]


def test_news_come_in_the_order_of_the_files(tasks: list[Task]) -> None:
    assert keys(tasks, 2) == keys(tasks, 1) == [[f"m{n} req_1"] for n in range(20)]


@pytest.mark.parametrize("program", ["/bin/false", "/bin/cat"])
def test_a_second_process_that_does_nothing_loses_nothing(
    tasks: list[Task], monkeypatch: pytest.MonkeyPatch, program: str
) -> None:
    monkeypatch.setattr("sys.executable", program)
    assert keys(tasks, 2) == [[f"m{n} req_1"] for n in range(20)]


def test_a_file_that_cannot_be_read_is_told_in_its_place(tasks: list[Task]) -> None:
    Path(tasks[3].path).unlink()
    news = list(read_all(tasks, processes=2))
    assert [bool(one.error) for one in news] == [number == 3 for number in range(20)]
