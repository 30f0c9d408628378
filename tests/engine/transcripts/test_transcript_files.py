"""Where transcripts are looked for."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest
from tests.engine.transcript_kit import Tree, line

from workers_tui.engine.transcripts import transcript_files
from workers_tui.engine.transcripts.transcript_files import (
    Source,
    TranscriptFile,
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


def test_a_name_that_leads_nowhere_costs_its_neighbours_nothing(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    whole = tree.write(line())
    folder = whole.parent
    (folder / "circle.jsonl").symlink_to("circle.jsonl")
    (folder / "round").symlink_to("round")
    (folder / "gone.jsonl").symlink_to("nothing")
    found = list_files(tree.source)
    assert [file.path for file in found.files] == [str(whole)]
    assert sorted(found.unreadable) == [
        f"{folder}/circle.jsonl: Too many levels of symbolic links",
        f"{folder}/gone.jsonl: no file, though its name is a transcript's",
        f"{folder}/round: Too many levels of symbolic links",
    ]


def test_a_directory_a_pipe_and_a_device_are_told_though_they_are_named_like_transcripts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = Tree(tmp_path)
    folder = tree.write(line()).parent
    inner = tree.write(line("m2", "r2"), name="x.jsonl/inner")
    os.mkfifo(folder / "pipe.jsonl")
    (folder / "zero.jsonl").symlink_to("/dev/zero")
    with socket.socket(socket.AF_UNIX) as heard:
        monkeypatch.chdir(folder)  # a socket's path may have some hundred bytes at most
        heard.bind("heard.jsonl")
    found = list_files(tree.source)
    assert sorted(file.path for file in found.files) == sorted([f"{folder}/s1.jsonl", str(inner)])
    assert sorted(told.partition(": ")[0] for told in found.unreadable) == [
        f"{folder}/{name}.jsonl" for name in ("heard", "pipe", "x", "zero")
    ]
    for name in ("heard", "pipe", "x", "zero"):
        assert file_at(tree.source, f"{folder}/{name}.jsonl") is None


def test_a_file_that_goes_while_its_directory_is_read_takes_no_other_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = Tree(tmp_path)
    for name in ("a", "b", "c"):
        tree.write(line(), name=name)
    real = transcript_files._file

    def gone(path: str, project: str, session: str, stat: os.stat_result) -> TranscriptFile:
        if session == "b":
            raise FileNotFoundError
        return real(path, project, session, stat)

    monkeypatch.setattr(transcript_files, "_file", gone)
    found = list_files(tree.source)
    assert (sorted(file.session for file in found.files), found.unreadable) == (["a", "c"], [])


@pytest.mark.parametrize("name", ["-a-link-before", "-z-link-after"])
def test_a_file_with_two_names_is_one_under_its_own(tmp_path: Path, name: str) -> None:
    tree = Tree(tmp_path)
    path = tree.write(line())
    (tree.root / "projects" / name).symlink_to(path.parent)
    (path.parent / "again.jsonl").symlink_to(path)
    found = list_files(tree.source).files
    assert [(file.path, file.project) for file in found] == [(str(path), "-home-dev-project")]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may look everywhere")
def test_a_directory_that_may_not_be_looked_at_is_told_with_the_reason(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    tree.write(line())
    shut = tree.write(line(), project="-shut").parent
    shut.chmod(0)
    try:
        found = list_files(tree.source)
    finally:
        shut.chmod(0o700)
    assert [file.project for file in found.files] == ["-home-dev-project"]
    assert found.unreadable == [f"{shut}: Permission denied"]
