"""Where a path may lie: links, swaps, lookalikes, devices."""

from __future__ import annotations

import hashlib
import os
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.engine.sandbox_kit import LIMIT, read, refusal, wrong

from workers_tui.engine.errors import (
    WorkersError,
)
from workers_tui.engine.files.sandbox import Sandbox


@pytest.fixture
def root(tmp_path: Path) -> Path:
    path = tmp_path / "share"
    path.mkdir()
    return path


@pytest.fixture
def sandbox(root: Path) -> Sandbox:
    return Sandbox([root])


async def test_a_file_is_read_with_its_lines_size_and_hash(sandbox: Sandbox, root: Path) -> None:
    (root / "a.py").write_text("one\ntwo\n")
    (piece,) = await sandbox.read(["a.py"], max_file_bytes=LIMIT)
    assert (piece.path, piece.start, piece.end, piece.text) == ("a.py", 1, 2, "one\ntwo\n")
    assert piece.bytes == 8
    assert piece.sha256 == hashlib.sha256(b"one\ntwo\n").hexdigest()
    assert not piece.cut
    assert piece.note == ""


def test_a_sibling_whose_name_begins_like_the_root_is_outside(
    sandbox: Sandbox, root: Path, tmp_path: Path
) -> None:
    secret = tmp_path / "share-secret"
    secret.mkdir()
    (secret / "x").write_text("no")
    assert "outside" in refusal(sandbox, str(secret / "x"))
    assert "outside" in refusal(sandbox, "../share-secret/x")


def test_the_refusal_is_the_same_whether_the_file_outside_exists_or_not(
    sandbox: Sandbox, tmp_path: Path
) -> None:
    (tmp_path / "there").write_text("x")
    there, absent = refusal(sandbox, "../there"), refusal(sandbox, "../gone!")
    assert there.replace("there", "") == absent.replace("gone!", "")


@pytest.mark.skipif(sys.platform == "darwin", reason="the disk ignores case")
def test_a_path_that_differs_in_case_is_another_path(root: Path, tmp_path: Path) -> None:
    (tmp_path / "SHARE").mkdir()
    (tmp_path / "SHARE" / "x").write_text("no")
    assert "outside" in refusal(Sandbox([root]), str(tmp_path / "SHARE" / "x"))


def test_a_link_inside_may_point_inside_but_not_out(
    sandbox: Sandbox, root: Path, tmp_path: Path
) -> None:
    (tmp_path / "outside").write_text("no")
    (root / "real").write_text("yes")
    (root / "good").symlink_to("real")
    (root / "bad").symlink_to(tmp_path / "outside")
    (root / "up").symlink_to(tmp_path)
    assert read(sandbox, "good")[0].text == "yes"
    assert "outside" in refusal(sandbox, "bad")
    assert "outside" in refusal(sandbox, "up/outside")


def test_a_file_swapped_for_a_link_after_the_check_is_not_read(
    sandbox: Sandbox, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "outside").write_text("no")
    (root / "d").mkdir()
    (root / "d" / "f").write_text("yes")
    (tmp_path / "d2").mkdir()
    (tmp_path / "d2" / "f").write_text("no")
    check = Sandbox._check_read

    def swap(self: Sandbox, place: object) -> None:
        check(self, place)  # type: ignore[arg-type]
        (root / "d").rename(tmp_path / "gone")
        (root / "d").symlink_to(tmp_path / "d2")

    monkeypatch.setattr(Sandbox, "_check_read", swap)
    with pytest.raises(WorkersError):
        read(sandbox, "d/f")


def test_a_read_never_leaves_the_root_while_a_link_flickers(
    sandbox: Sandbox, root: Path, tmp_path: Path
) -> None:
    (tmp_path / "outside").write_text("no")
    (root / "inside").write_text("yes")
    stop = threading.Event()

    def flicker() -> None:
        while not stop.is_set():
            for target in ("inside", str(tmp_path / "outside")):
                (root / "new").symlink_to(target)
                (root / "new").rename(root / "flick")

    thread = threading.Thread(target=flicker)
    thread.start()
    try:
        texts = set()
        for _ in range(300):
            try:
                texts.add(read(sandbox, "flick")[0].text)
            except WorkersError:
                continue
    finally:
        stop.set()
        thread.join()
    assert texts <= {"yes"}


def test_devices_pipes_and_sockets_are_not_opened(sandbox: Sandbox, root: Path) -> None:
    os.mkfifo(root / "pipe")
    assert "not a regular file" in refusal(sandbox, "pipe")
    assert "not a regular file" in refusal(Sandbox([Path("/dev")]), "zero")


def test_without_roots_nothing_can_be_read() -> None:
    assert "WORKERS_ALLOWED_ROOTS" in refusal(Sandbox([]), "a")


def test_our_own_files_are_not_opened_even_inside_a_root(root: Path) -> None:
    (root / "state").mkdir()
    (root / "state" / "token").write_text("x")
    sandbox = Sandbox([root], private=[root / "state"])
    assert "workers-tui itself" in refusal(sandbox, "state/token")
    inner = Sandbox([root / "state"], private=[root])
    assert read(inner, "token")[0].text == "x", "a project that lies inside our home is one"


@pytest.mark.parametrize("spec", ["", "a\0b", "\ud800", "x" * 5000])
def test_what_names_no_file_is_wrong_use(sandbox: Sandbox, spec: str) -> None:
    wrong(sandbox, spec)


@given(st.text(max_size=40))
def test_no_text_reaches_outside_the_roots(spec: str) -> None:
    sandbox = Sandbox([Path("/nonexistent-root")])
    with pytest.raises(WorkersError):
        sandbox.read_now([spec], LIMIT)


def test_files_of_a_second_root_carry_its_name(root: Path, tmp_path: Path) -> None:
    other = tmp_path / "lib"
    other.mkdir()
    (other / "b").write_text("b")
    assert read(Sandbox([root, other]), str(other / "b"))[0].path == "lib/b"


def test_a_name_that_is_no_utf8_can_be_found_and_shown(sandbox: Sandbox, root: Path) -> None:
    (root / os.fsdecode(b"caf\xe9.txt")).write_text("x")
    assert read(sandbox, "caf*.txt")[0].path == "caf\\xe9.txt"
