"""The field's cases G: files and paths that are not what they seem."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from tests.contracts.program import Program
from tests.contracts.upstream import Provider


def refused(program: Program, *arguments: str) -> str:
    """The line of a refusal; nothing was sent or written."""
    ran = program.run("run", "t", *arguments)
    assert ran.code == 3, ran
    assert program.stats()["today"]["calls"] == 0
    return ran.error


@pytest.fixture
def secret(program: Program) -> Path:
    """A file beside the project whose directory's name begins alike."""
    folder = program.root / "project-secret"
    folder.mkdir()
    (folder / "a.txt").write_text("not yours\n")
    return folder / "a.txt"


def test_a_directory_whose_name_begins_alike_is_outside(program: Program, secret: Path) -> None:
    """Case G1."""
    assert str(secret) in refused(program, "--file", str(secret))
    refused(program, "--file", "../project-secret/a.txt")
    refused(program, "--file", "../project-secret/*")
    refused(program, "--file", "src/../../project-secret/a.txt")


def test_a_link_out_of_the_root_leads_nowhere(program: Program, secret: Path) -> None:
    """Case G2: the file behind it counts, not its name."""
    (program.project / "inside.txt").symlink_to(secret)
    (program.project / "folder").symlink_to(secret.parent)
    refused(program, "--file", "inside.txt")
    refused(program, "--file", "folder/a.txt")
    refused(program, "--write-to", "folder/new.txt")
    assert not (secret.parent / "new.txt").exists()


def test_a_root_of_another_case_is_another_root(program: Program, secret: Path) -> None:
    """Case G3."""
    other = program.root / "PROJECT"
    if other.exists():
        pytest.skip("this disk ignores case")
    other.mkdir()
    (other / "a.txt").write_text("x")
    refused(program, "--file", str(other / "a.txt"))


@pytest.mark.parametrize(
    "target",
    [
        ".git/hooks/pre-commit",
        ".claude/settings.json",
        ".claude/settings.local.json",
        ".mcp.json",
        ".env",
        ".env.local",
        "sub/.env",
        "sub/.git/config",
        ".GIT/hooks/x",
        "x/../.mcp.json",
    ],
)
def test_what_configures_the_users_tools_is_never_written(program: Program, target: str) -> None:
    """Case G4."""
    (program.project / "x").mkdir()
    refused(program, "--write-to", target)
    assert [path.name for path in program.project.iterdir()] == ["x"]


@pytest.mark.parametrize("target", ["../out.txt", "/tmp/workers-out.txt", "x/../../out.txt"])
def test_nothing_is_written_outside(program: Program, target: str) -> None:
    refused(program, "--write-to", target)
    assert not (program.root / "out.txt").exists()
    assert not Path("/tmp/workers-out.txt").exists()


def test_the_programs_own_home_is_never_sent(program: Program) -> None:
    program.good("key", "set", "openrouter", stdin=b"sk-or-v1-0123456789abcdef0123456789\n")
    for name in ("keys.json", "token", "models.json", "store.db"):
        (program.home / name).touch()
        assert program.run("run", "t", "--file", str(program.home / name)).code == 3
    ran = program.run("--project", str(program.root), "run", "t", "--file", "home/keys.json")
    assert ran.code == 3, ran


@pytest.mark.parametrize("name", [".env", "id_rsa", ".aws/credentials", "server.pem"])
def test_key_files_are_not_read(program: Program, name: str) -> None:
    program.file(name, "x = 1\n")
    assert name in refused(program, "--file", name)


def test_a_cut_never_falls_inside_a_character(program: Program, provider: Provider) -> None:
    """Case G7."""
    program.settings(max_file_bytes=1001)
    program.file("wide.txt", "ä" * 5000)
    ran = program.good("run", "cut-inside [[sim: text=x]]", "--file", "wide.txt")
    (seen,) = provider.calls("cut-inside")
    said = json.dumps(seen.body, ensure_ascii=False)
    assert "\ufffd" not in said
    assert said.count("ä") == 500
    assert "wide.txt: cut" in ran.err


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be", "utf-16-le"])
def test_a_utf_16_file_is_decoded_or_refused_and_said(
    program: Program, provider: Provider, encoding: str
) -> None:
    """Case G7."""
    program.file("wide.txt", "Größe 五\n".encode(encoding))
    ran = program.run("run", f"in-{encoding}! [[sim: text=x]]", "--file", "wide.txt")
    if encoding == "utf-16":
        (seen,) = provider.calls(f"in-{encoding}!")
        assert "Größe 五" in json.dumps(seen.body, ensure_ascii=False)
        assert "wide.txt: decoded from UTF-16" in ran.err
    else:
        assert ran.code in {2, 3}
        assert "UTF-16" in ran.error


def test_an_old_encoding_is_read_and_said(program: Program, provider: Provider) -> None:
    program.file("old.txt", "Größe\n".encode("cp1252"))
    ran = program.good("run", "in-cp1252 [[sim: text=x]]", "--file", "old.txt")
    (seen,) = provider.calls("in-cp1252")
    assert "\ufffd" not in json.dumps(seen.body, ensure_ascii=False)
    assert "old.txt: " in ran.err


def test_files_are_read_as_utf_8_whatever_the_locale(program: Program, provider: Provider) -> None:
    """Case G5."""
    program.file("a.txt", "Größe 五\n")
    ran = program.run(
        "run", "other-locale [[sim: text=ok]]", "--file", "a.txt",
        LANG="C", LC_ALL="C", PYTHONIOENCODING="cp1252", PYTHONUTF8="0",
    )  # fmt: skip
    assert ran.code == 0, ran
    (seen,) = provider.calls("other-locale")
    assert "Größe 五" in json.dumps(seen.body, ensure_ascii=False)


def test_an_answer_that_the_pipe_cannot_say_is_escaped(program: Program) -> None:
    """Case G5."""
    ran = program.good("run", "[[sim: text=五 ✓]]", PYTHONIOENCODING="cp1252")
    assert ran.out == "\\u4e94 \\u2713\n"


def test_names_with_strange_bytes_do_no_harm(program: Program) -> None:
    strange = os.fsencode(str(program.project)) + b"/caf\xe9.txt"
    Path(os.fsdecode(strange)).write_text("x\n")
    program.good("run", "[[sim: text=x]]", "--file", "*.txt")
    assert program.good("jobs", "--json").json["jobs"][0]["state"] == "done"


@pytest.mark.parametrize("kind", ["fifo", "device"])
def test_what_is_no_file_is_refused_at_once(program: Program, kind: str) -> None:
    path = program.project / "thing"
    if kind == "fifo":
        os.mkfifo(path)
    else:
        path.symlink_to("/dev/zero")
    ran = program.run("run", "t", "--file", "thing")
    assert ran.code in {2, 3}, ran
    assert "thing" in ran.error or "/dev/zero" in ran.error
