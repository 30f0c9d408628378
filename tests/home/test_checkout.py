"""Which directory Claude Code keeps a project's own settings under."""

from __future__ import annotations

from pathlib import Path

from workers_tui.home.checkout import main_checkout


def test_outside_a_repository_it_is_the_directory_itself(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    assert main_checkout(str(tmp_path / "a")) == str(tmp_path / "a")


def test_inside_a_repository_it_is_its_top(tmp_path: Path) -> None:
    (tmp_path / "r" / ".git").mkdir(parents=True)
    (tmp_path / "r" / "s" / "t").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "r" / "s")
    assert main_checkout(str(tmp_path / "r" / "s" / "t")) == str(tmp_path / "r")
    assert main_checkout(str(tmp_path / "link")) == str(tmp_path / "r")


def test_of_a_worktree_it_is_the_main_one_and_of_a_submodule_its_own(tmp_path: Path) -> None:
    for name, said in (
        ("w", "gitdir: /main/repo/.git/worktrees/w\n"),
        ("m", "gitdir: ../.git/modules/m\n"),
    ):
        (tmp_path / name).mkdir()
        (tmp_path / name / ".git").write_text(said)
    assert main_checkout(str(tmp_path / "w")) == "/main/repo"
    assert main_checkout(str(tmp_path / "m")) == str(tmp_path / "m")
