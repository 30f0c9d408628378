"""The kernel hears early which files are read next, and only of what is new in them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from workers_tui.engine.transcripts.read_ahead import FIRST, fetch


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int, int]]:
    """Path, begin and count of what the kernel was asked for."""
    found: list[tuple[str, int, int]] = []

    def note(fd: int, begin: int, count: int, advice: int) -> None:
        assert advice == os.POSIX_FADV_WILLNEED
        found.append((str(Path(f"/proc/self/fd/{fd}").readlink()), begin, count))

    monkeypatch.setattr(os, "posix_fadvise", note)
    return found


def test_the_new_part_is_asked_for(tmp_path: Path, asked: list[tuple[str, int, int]]) -> None:
    path = tmp_path / "a.jsonl"
    path.touch()
    fetch(str(path), 100, 7)
    assert asked == [(str(path), 100, 7)]


def test_of_a_huge_file_only_the_beginning(
    tmp_path: Path, asked: list[tuple[str, int, int]]
) -> None:
    path = tmp_path / "a.jsonl"
    path.touch()
    fetch(str(path), 0, 1 << 40)
    assert asked == [(str(path), 0, FIRST)]


def test_a_file_that_cannot_be_opened_is_left_to_its_reader(
    tmp_path: Path, asked: list[tuple[str, int, int]]
) -> None:
    fetch(str(tmp_path / "gone.jsonl"), 0, 1)
    assert asked == []


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.jsonl")
    fetch(str(tmp_path / "a.jsonl"), 0, 1)


@pytest.mark.parametrize("refusal", ["no such call", "it is refused"])
def test_a_system_without_it_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refusal: str
) -> None:
    def refuse(*_: int) -> None:
        raise OSError(refusal)

    monkeypatch.setattr(os, "posix_fadvise", refuse)
    if refusal == "no such call":
        monkeypatch.delattr(os, "posix_fadvise")
    path = tmp_path / "a.jsonl"
    path.touch()
    before = open_files()
    fetch(str(path), 0, 1)
    assert open_files() == before


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))
