"""Where transcripts are looked for."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.engine.transcript_kit import Tree, line

from workers_tui.engine.transcripts.transcript_files import (
    Source,
    file_at,
    find_sources,
    list_files,
)


def test_the_usual_directories_are_the_default(tmp_path: Path) -> None:
    home = Path.home()
    found = find_sources({}, workers_root=tmp_path / "workers")
    assert found == [Source("", str(home / ".claude")), Source("", str(home / ".config/claude"))]


def test_every_identity_is_an_owner_of_its_own(tmp_path: Path) -> None:
    root = tmp_path / "workers"
    for name in ("kimi", "zai", ".usage"):
        (root / name).mkdir(parents=True)
    (root / "note.txt").touch()
    found = find_sources({"CLAUDE_CONFIG_DIR": "/c"}, workers_root=root)
    assert [source.owner for source in found] == ["", "kimi", "zai"]


@pytest.mark.parametrize("name", ["claude", "claude/projects"])
def test_the_projects_directory_may_be_named_itself(tmp_path: Path, name: str) -> None:
    tree = Tree(tmp_path / "claude")
    tree.write(line())
    (source,) = find_sources({}, claude_dirs=[tmp_path / name], workers_root=tmp_path / "no")
    assert [file.path for file in list_files(source).files] == [str(tree.path())]


def test_links_that_lead_in_circles_end(tmp_path: Path) -> None:
    tree = Tree(tmp_path / "claude")
    tree.write(line())
    (tree.root / "projects" / "-home-dev-project" / "up").symlink_to(tree.root / "projects")
    (tree.root / "projects" / "again").symlink_to(tree.root / "projects" / "-home-dev-project")
    files = list_files(tree.source).files
    assert len({file.inode for file in files}) == 1


def test_one_file_is_described_as_the_listing_does(tmp_path: Path) -> None:
    tree = Tree(tmp_path / "claude")
    tree.write(line())
    tree.write(line(), name="s1/subagents/agent-a")
    for file in list_files(tree.source).files:
        assert file_at(tree.source, file.path) == file
    assert file_at(tree.source, str(tree.root / "history.jsonl")) is None
    assert file_at(tree.source, str(tree.path("gone"))) is None


def test_a_name_that_is_no_text_is_told_and_the_rest_counts(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    tree.write(line())
    projects = tmp_path / "projects"
    (projects / "\udcff").mkdir()
    for name in ("-home-dev-project/\udcfe.jsonl", "\udcff/s.jsonl", "\udcff.txt"):
        (projects / name).touch()
    found = list_files(tree.source)
    assert [file.session for file in found.files] == ["s1"]
    assert sorted(told.rpartition("/")[2] for told in found.unreadable) == [
        "\ufffd.jsonl: its name is no UTF-8",
        "\ufffd: its name is no UTF-8",
    ]
    assert file_at(tree.source, f"{projects}/-home-dev-project/\udcfe.jsonl") is None
