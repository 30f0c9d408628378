"""Answers that become files, and targets that no worker writes."""

from __future__ import annotations

import asyncio
import os
import threading
from pathlib import Path

import pytest
from tests.engine.sandbox_kit import close_directory, names

from workers_tui.engine.errors import (
    ConfigError,
    SandboxRefused,
    WorkFailed,
    WrongUse,
)
from workers_tui.engine.files.sandbox import Piece, Sandbox


@pytest.fixture
def root(tmp_path: Path) -> Path:
    path = tmp_path / "share"
    path.mkdir()
    return path


@pytest.fixture
def sandbox(root: Path) -> Sandbox:
    return Sandbox([root])


async def test_an_answer_becomes_a_file_and_the_old_one_is_kept(
    sandbox: Sandbox, root: Path
) -> None:
    kept: list[str] = []
    target = root / "out" / "a.py"
    first = await sandbox.write("out/a.py", "one\n")
    target.chmod(0o755)
    written = await sandbox.write(
        "out/a.py", "one\ntwo", lambda path: kept.append(path.read_text())
    )
    assert first.path == target
    assert written.lines == 2
    assert target.read_text() == "one\ntwo"
    assert target.stat().st_mode & 0o777 == 0o755
    assert kept == ["one\n"]
    assert names(target.parent) == ["a.py"], "nothing stays beside it"


async def test_a_name_as_long_as_a_name_can_be_is_written(sandbox: Sandbox, root: Path) -> None:
    for name in ("日" * 85, "a" * 255):
        await sandbox.write(name, "one\n")
        await sandbox.write(name, "two\n")
        assert (root / name).read_text() == "two\n"
    assert len(names(root)) == 2


@pytest.mark.parametrize("target", ["a" * 256, "日" * 86, "new/" + "a" * 256, "d/" * 2500 + "f"])
async def test_a_name_that_is_too_long_is_refused_before_money_is_spent(
    sandbox: Sandbox, target: str
) -> None:
    with pytest.raises(WrongUse, match="names no file: File name too long"):
        sandbox.check_write(target)


async def test_what_a_kill_left_of_an_answer_goes_with_a_later_one(
    sandbox: Sandbox, root: Path
) -> None:
    for name, age in ((".a.txt.1234abcd.workers-tui", 0), (".b.1234abcd.workers-tui", 0)):
        (root / name).write_text("half")
        os.utime(root / name, (age, age))
    (root / ".a.txt.new0new0.workers-tui").write_text("under way")
    await sandbox.write("a.txt", "whole")
    left = {".b.1234abcd.workers-tui", ".a.txt.new0new0.workers-tui", "a.txt"}
    assert {path.name for path in root.iterdir()} == left


async def test_checking_a_target_leaves_the_disk_alone(sandbox: Sandbox, root: Path) -> None:
    assert sandbox.check_write("new/dir/f.txt") == root / "new" / "dir" / "f.txt"
    assert not (root / "new").exists()


@pytest.mark.parametrize(
    "target",
    [".git/hooks/x", ".claude/settings.json", ".mcp.json", ".env", "sub/.git/config", ".GIT/x",
     ".g\u200cit/hooks/x", ".git./x", "CLAUDE.md", "claude.local.md", ".vscode/tasks.json",
     ".bashrc", ".github/workflows/ci.yml", "bare.git/hooks/pre-commit", "id_rsa", "x.pth"],
)  # fmt: skip
async def test_files_that_somebody_obeys_are_not_written(
    sandbox: Sandbox, root: Path, target: str
) -> None:
    with pytest.raises(SandboxRefused):
        sandbox.check_write(target)
    with pytest.raises(SandboxRefused):
        await sandbox.write(target, "x")
    assert names(root) == []


async def test_a_working_copy_under_claudes_worktrees_is_a_project(tmp_path: Path) -> None:
    root = tmp_path / "p" / ".claude" / "worktrees" / "fix"
    root.mkdir(parents=True)
    await Sandbox([root]).write("a.py", "x")
    with pytest.raises(SandboxRefused):
        await Sandbox([root]).write(".claude/settings.json", "x")
    with pytest.raises(SandboxRefused):
        await Sandbox([tmp_path / "p"]).write(".claude/settings.json", "x")


async def test_writing_through_a_link_stays_inside(
    sandbox: Sandbox, root: Path, tmp_path: Path
) -> None:
    (tmp_path / "outside").write_text("old")
    (root / "bad").symlink_to(tmp_path / "outside")
    (root / "real").write_text("old")
    (root / "good").symlink_to("real")
    with pytest.raises(SandboxRefused):
        await sandbox.write("bad", "new")
    await sandbox.write("good", "new")
    assert (tmp_path / "outside").read_text() == "old"
    assert (root / "real").read_text() == "new"
    assert (root / "good").is_symlink()


async def test_a_directory_or_a_device_is_no_target(sandbox: Sandbox, root: Path) -> None:
    (root / "d").mkdir()
    os.mkfifo(root / "pipe")
    for target in ("d", ".", "d/", "new/"):
        with pytest.raises(WrongUse):
            sandbox.check_write(target)
    with pytest.raises(SandboxRefused):
        sandbox.check_write("pipe")


async def test_a_target_that_cannot_be_written_is_refused_before_money_is_spent(
    sandbox: Sandbox, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "file").touch()
    for target in ("file/x", "file/new/x"):
        with pytest.raises(WrongUse, match="not a directory"):
            sandbox.check_write(target)
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(WrongUse, match="cannot be written"):
        sandbox.check_write("new/x")


def test_a_pattern_that_is_none_names_its_setting() -> None:
    with pytest.raises(ConfigError, match="deny_read"):
        Sandbox([], deny_read=["!"])


async def test_a_failed_save_leaves_the_old_file(
    sandbox: Sandbox, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "a").write_text("old")

    def full(fd: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(WorkFailed, match="No space left"):
        await sandbox.write("a", "new")
    assert (root / "a").read_text() == "old"
    assert names(root) == ["a"]


async def test_the_users_deny_write_list_is_kept(root: Path) -> None:
    with pytest.raises(SandboxRefused, match="deny_write"):
        await Sandbox([root], deny_write=["docs/**"]).write("docs/a.md", "x")


async def test_reading_does_not_block_the_loop(sandbox: Sandbox, root: Path) -> None:
    (root / "a").write_text("x")
    main = threading.get_ident()
    seen: list[int] = []
    original = sandbox.read_now

    def noting(specs: list[str], limit: int) -> list[Piece]:
        seen.append(threading.get_ident())
        return original(specs, limit)

    sandbox.read_now = noting  # type: ignore[method-assign,assignment]
    await asyncio.wait_for(sandbox.read(["a"], max_file_bytes=10), 5)
    assert seen != [main]


def test_a_target_in_a_closed_directory_is_refused_before_money_is_spent(
    sandbox: Sandbox, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "closed" / "deep").mkdir(parents=True)
    close_directory(root / "closed", monkeypatch)
    with pytest.raises(WrongUse, match=r"closed cannot be written: Permission denied"):
        sandbox.check_write("closed/deep/a.py")
