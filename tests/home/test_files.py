"""Files are private, and a save is whole or not at all."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest

from workers_tui.home.files import (
    UNFINISHED,
    is_unfinished,
    make_private_dir,
    prepare,
    read_json,
    read_whole,
    why,
    write_atomic,
)
from workers_tui.home.places import Home


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_new_file_is_the_users_alone(tmp_path: Path) -> None:
    write_atomic(tmp_path / "a", "x")
    assert mode(tmp_path / "a") == 0o600


@pytest.mark.parametrize(
    ("code", "mending"),
    [
        (errno.EACCES, "Permission denied; mend its permissions or choose"),
        (errno.EROFS, "Read-only file system; make it writable again or choose"),
        (errno.ENOSPC, "No space left on device; free the disk or choose"),
        (errno.EIO, "Input/output error; look at the disk or choose"),
    ],
)
def test_what_to_do_about_a_place_fits_what_is_wrong_with_it(code: int, mending: str) -> None:
    assert why(OSError(code, os.strerror(code))) == (f"{mending} another place with WORKERS_HOME")


def test_a_save_keeps_the_old_mode(tmp_path: Path) -> None:
    target = tmp_path / "a"
    target.write_text("old")
    target.chmod(0o640)
    write_atomic(target, "new")
    assert (target.read_text(), mode(target)) == ("new", 0o640)


def test_a_symlink_stays_a_symlink(tmp_path: Path) -> None:
    real, link = tmp_path / "real", tmp_path / "link"
    real.write_text("old")
    link.symlink_to(real)
    write_atomic(link, "new")
    assert link.is_symlink()
    assert real.read_text() == "new"


def test_a_full_disk_leaves_the_old_file_and_no_litter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "a"
    target.write_text("old")

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("workers_tui.home.files.os.fsync", full)
    with pytest.raises(OSError, match="No space"):
        write_atomic(target, "new")
    assert target.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir() if entry.name != "user"] == ["a"]


def test_what_a_kill_left_of_a_save_goes_with_a_later_save(tmp_path: Path) -> None:
    place = tmp_path / "place"
    place.mkdir()
    ours = [f".a.12345678{UNFINISHED}", f".a.87654321{UNFINISHED}"]
    others = [f".b.12345678{UNFINISHED}", ".a.12345678", ".a.swp", f"a{UNFINISHED}"]
    for name in (*ours, *others):
        (place / name).write_text("x")
        if name != ours[1]:  # that one is being written now
            os.utime(place / name, (0, 0))
    write_atomic(place / "a", "new")
    assert {path.name for path in place.iterdir()} == {"a", ours[1], *others}


def test_a_kill_leaves_a_name_that_a_later_save_knows(tmp_path: Path) -> None:
    seen: list[str] = []

    def look(_: int) -> None:
        seen.extend(path.name for path in tmp_path.glob(".a*"))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("workers_tui.home.files.os.fsync", look)
        write_atomic(tmp_path / "a", "new")
    assert is_unfinished(seen[0], "a")
    assert not is_unfinished(seen[0], "b")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root opens anything")
def test_a_save_where_the_directory_cannot_be_listed_is_a_save(tmp_path: Path) -> None:
    tmp_path.chmod(0o300)
    write_atomic(tmp_path / "a", "new")
    assert (tmp_path / "a").read_text() == "new"


def test_a_directory_that_cannot_be_flushed_does_not_deny_the_save(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flush = os.fsync

    def of_files_only(fd: int) -> None:
        if stat.S_ISDIR(os.fstat(fd).st_mode):
            raise OSError(errno.EINVAL, "Invalid argument")
        flush(fd)

    monkeypatch.setattr("workers_tui.home.files.os.fsync", of_files_only)
    write_atomic(tmp_path / "a", "new")
    assert (tmp_path / "a").read_text() == "new"


def test_preparing_a_home_mends_open_modes(tmp_path: Path) -> None:
    home = Home(config=tmp_path / "c", state=tmp_path / "s")
    home.state.mkdir(mode=0o755)
    home.store_db.touch(mode=0o644)
    home.agents.mkdir(mode=0o755)
    prepare(home)
    assert [mode(home.state), mode(home.config), mode(home.store_db)] == [0o700, 0o700, 0o600]
    assert mode(home.agents) == 0o700


def test_preparing_a_home_leaves_what_links_point_to_alone(tmp_path: Path) -> None:
    home = Home(config=tmp_path / "c", state=tmp_path / "c")
    home.config.mkdir()
    (tmp_path / "dotfiles.json").touch(mode=0o644)
    home.models_json.symlink_to(tmp_path / "dotfiles.json")
    prepare(home)
    assert mode(tmp_path / "dotfiles.json") == 0o644


def test_making_a_private_directory_twice_is_harmless(tmp_path: Path) -> None:
    make_private_dir(tmp_path / "d")
    make_private_dir(tmp_path / "d")
    assert mode(tmp_path / "d") == 0o700


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe", b"\x00" * 10])
def test_broken_json_reads_as_nothing(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x.json").write_bytes(content)
    assert read_json(tmp_path / "x.json") is None


def test_json_with_a_bom_is_read(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_bytes(b'\xef\xbb\xbf{"a": 1}')
    assert read_json(tmp_path / "x.json") == {"a": 1}


def test_a_pipe_is_neither_waited_for_nor_replaced(tmp_path: Path) -> None:
    place = tmp_path / "place"
    place.mkdir()
    pipe, link = place / "pipe", place / "link"
    os.mkfifo(pipe)
    link.symlink_to(pipe)
    assert read_json(pipe) is None
    with pytest.raises(OSError, match="no regular file"):
        read_whole(link)
    for path in (pipe, link):
        with pytest.raises(OSError, match="no regular file"):
            write_atomic(path, "x")
    assert pipe.is_fifo()
    assert sorted(one.name for one in place.iterdir()) == ["link", "pipe"]


def test_a_directory_is_not_replaced(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError):
        write_atomic(tmp_path, "x")


def test_json_that_no_parser_takes_is_none(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    for text in ("[" * 50_000, "9" * 5000, "", "{"):
        path.write_text(text)
        assert read_json(path) is None


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_a_save_by_root_leaves_the_file_with_its_owner(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_text("old")
    path.chmod(0o640)
    os.chown(path, 65534, 65533)
    write_atomic(path, "new")
    found = path.stat()
    assert (found.st_uid, found.st_gid, mode(path)) == (65534, 65533, 0o640)
