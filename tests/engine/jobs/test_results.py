"""Result files: what arrived is there, also while it grows, and old ones go."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers_tui.engine.jobs.results import Pen, ResultFile, keep_old, read_result, sweep

NOW = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)


async def test_text_is_there_after_closing_and_private(tmp_path: Path) -> None:
    file = ResultFile.open(tmp_path / "a.txt")
    for part in ("Grüße ", "日本", "", "\u2028 end", "broken \ud83d"):
        file.append(part)
    await file.close()
    await file.close()
    assert read_result(tmp_path / "a.txt") == "Grüße 日本\u2028 endbroken ?"
    assert stat.S_IMODE((tmp_path / "a.txt").stat().st_mode) == 0o600


async def test_text_grows_while_the_file_is_open(tmp_path: Path) -> None:
    class HeldPen(Pen):
        def __init__(self) -> None:
            super().__init__()
            self.files: list[ResultFile] = []

        def take(self, file: ResultFile) -> None:
            self.files.append(file)

    pen = HeldPen()
    file = ResultFile.open(tmp_path / "a.txt", pen)
    file.append("one ")
    file.append("two ")
    assert pen.files == [file]
    pen.files.pop().write_waiting()
    assert read_result(tmp_path / "a.txt") == "one two "
    file.append("three")
    assert pen.files == [file]
    await file.close()
    pen.files.pop().write_waiting()
    assert read_result(tmp_path / "a.txt") == "one two three"


async def test_text_after_an_early_flush_is_kept_too(tmp_path: Path) -> None:
    file = ResultFile.open(tmp_path / "a.txt")
    file.append("one ")
    file.flush()
    file.append("two")
    file.flush()
    await file.close()
    assert read_result(tmp_path / "a.txt") == "one two"


async def test_what_was_flushed_early_is_not_flushed_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flushed: list[int] = []
    fsync = os.fsync

    def counted(fd: int) -> None:
        flushed.append(fd)
        fsync(fd)

    monkeypatch.setattr(os, "fsync", counted)
    file = ResultFile.open(tmp_path / "a.txt")
    file.append("all of it")
    file.flush()
    await file.close()
    assert len(flushed) == 1
    assert read_result(tmp_path / "a.txt") == "all of it"


KILLED = """
import asyncio, os, signal, sys
from pathlib import Path
from workers_tui.engine.jobs.results import WRITE_EVERY, ResultFile
async def main():
    file = ResultFile.open(Path(sys.argv[1]))
    for number in range(20):
        file.append(f"part {number};")
        await asyncio.sleep(0.005)
    await asyncio.sleep(WRITE_EVERY)
    os.kill(os.getpid(), signal.SIGKILL)
asyncio.run(main())
"""


def test_text_survives_kill_9_a_tenth_of_a_second_later(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    done = subprocess.run([sys.executable, "-c", KILLED, str(path)], check=False)
    assert done.returncode == -9
    assert read_result(path) == "".join(f"part {number};" for number in range(20))


async def test_appending_after_the_end_is_an_error(tmp_path: Path) -> None:
    file = ResultFile.open(tmp_path / "a.txt")
    await file.close()
    with pytest.raises(OSError, match="closed"):
        file.append("late")


async def test_a_full_disk_is_told_not_swallowed() -> None:
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full here")
    file = ResultFile(Path("/dev/full"), os.open("/dev/full", os.O_WRONLY), Pen())
    file.append("x")
    with pytest.raises(OSError, match="No space"):
        await file.close()


@given(
    text=st.text(st.characters(exclude_categories=["Cs"]), max_size=60),
    offset=st.integers(0, 70),
    limit=st.none() | st.integers(0, 70),
)
def test_pages_are_counted_in_characters(
    tmp_path_factory: pytest.TempPathFactory, text: str, offset: int, limit: int | None
) -> None:
    path = tmp_path_factory.getbasetemp() / "pages.txt"
    path.write_text(text, encoding="utf-8", newline="")
    end = None if limit is None else offset + limit
    assert read_result(path, offset, limit) == text[offset:end]


def test_a_character_that_is_not_whole_yet_is_left_for_later(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes("ab日".encode()[:-1])
    assert read_result(path) == "ab"


def test_no_file_yet_is_no_text(tmp_path: Path) -> None:
    assert read_result(tmp_path / "none.txt") == ""


def test_the_old_content_of_a_replaced_file_is_kept(tmp_path: Path) -> None:
    target = tmp_path / "main.py"
    assert keep_old(tmp_path, "abcde", target) is None
    kept = []
    for text in ("one", "two"):
        target.write_text(text)
        path = keep_old(tmp_path, "abcde", target)
        assert path is not None
        kept.append(path)
    assert [path.read_text() for path in kept] == ["one", "two"]
    assert target.read_text() == "two"
    assert stat.S_IMODE(kept[0].stat().st_mode) == 0o600


def test_the_old_content_of_a_file_with_the_longest_name_is_kept(tmp_path: Path) -> None:
    target = tmp_path / ("日" * 84 + ".py")
    target.write_text("old")
    path = keep_old(tmp_path, "abcde", target)
    assert path is not None
    assert path.read_text() == "old"
    assert path.name.startswith("abcde.old-")
    assert path.name.endswith("日.py")


def make(results: Path, name: str, *, days: float, size: int = 10) -> Path:
    path = results / name
    path.write_bytes(b"x" * size)
    at = (NOW - timedelta(days=days)).timestamp()
    os.utime(path, (at, at))
    return path


def names(results: Path) -> set[str]:
    return {path.name for path in results.iterdir() if path.is_file()}


def test_results_older_than_the_limit_go(tmp_path: Path) -> None:
    make(tmp_path, "aaaaa.txt", days=31)
    make(tmp_path, "bbbbb.txt", days=29)
    make(tmp_path, "ccccc.old-main.py", days=40)
    assert len(sweep(tmp_path, NOW)) == 2
    assert names(tmp_path) == {"bbbbb.txt"}


def test_results_beyond_the_size_go_oldest_first(tmp_path: Path) -> None:
    for number in range(5):
        make(tmp_path, f"{number}.txt", days=number, size=100)
    sweep(tmp_path, NOW, keep_bytes=250)
    assert names(tmp_path) == {"0.txt", "1.txt"}


def test_a_running_job_keeps_its_file(tmp_path: Path) -> None:
    make(tmp_path, "alive.txt", days=99)
    make(tmp_path, "ended.txt", days=98)
    sweep(tmp_path, NOW, frozenset({"alive"}))
    assert names(tmp_path) == {"alive.txt"}


def test_sweeping_nothing_is_fine(tmp_path: Path) -> None:
    assert sweep(tmp_path / "none", NOW) == []
