"""`workers-tui connect` as a user runs it, without a Claude Code on the machine."""

from __future__ import annotations

import json
import re
import shlex
import sys
from pathlib import Path

import pytest

from workers_tui.cli.main import main
from workers_tui.home.server_record import ensure_token, read_token

Out = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A clean user in a project."""
    project = tmp_path / "project"
    project.mkdir()
    monkeypatch.chdir(project)
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    monkeypatch.setenv("WORKERS_CLAUDE_BIN", "/nowhere/claude")
    monkeypatch.setenv("WORKERS_HOME", str(tmp_path / "workers"))
    return tmp_path / "user"


def test_a_dry_run_shows_the_changed_lines_and_changes_nothing(desk: Path, capsys: Out) -> None:
    assert main(["connect", "--dry-run"]) == 0
    shown = capsys.readouterr().out
    assert "register the MCP server `workers` for scope user" in shown
    assert "claude was not found" in shown
    assert '+      "mcp__workers"' in shown
    assert "+<!-- workers-tui:begin -->" in shown
    assert list(desk.iterdir()) == []


def test_connect_registers_an_absolute_path_once_and_remove_says_what_stays(
    desk: Path, capsys: Out
) -> None:
    assert main(["connect"]) == 0
    server = json.loads((desk / ".claude.json").read_text())["mcpServers"]["workers"]
    assert Path(server["command"]).is_absolute()
    assert server["args"][-1] == "mcp"
    assert server["alwaysLoad"] is True
    assert server["env"]["WORKERS_HOME"].endswith("workers")
    capsys.readouterr()
    assert main(["connect"]) == 0
    assert capsys.readouterr().out == "already connected: nothing to change\n"
    assert main(["connect", "--remove"]) == 0
    shown = capsys.readouterr().out
    assert "what stays" in shown
    assert "rm -r" in shown
    assert [path for path in desk.rglob("*") if path.is_file()] == []
    assert main(["connect", "--remove"]) == 0
    assert capsys.readouterr().out == "nothing of ours is there\n"


def test_parts_can_be_left_out(desk: Path) -> None:
    assert main(["connect", "--no-hooks", "--no-rules", "--no-permissions"]) == 0
    assert [path.name for path in desk.rglob("*") if path.is_file()] == [".claude.json"]


def test_what_is_left_out_later_stays_and_is_said_to(desk: Path, capsys: Out) -> None:
    assert main(["connect"]) == 0
    before = {path: path.read_bytes() for path in desk.rglob("*") if path.is_file()}
    capsys.readouterr()
    for parts, said in (
        (["--no-hooks"], "the hooks that are"),
        (["--no-rules", "--no-permissions"], "the permissions and the rules that are"),
    ):
        assert main(["connect", *parts]) == 0
        note, nothing = capsys.readouterr().out.splitlines()
        assert note.startswith(f"note: {said} there already stay: `workers-tui connect --remove`")
        assert nothing == "already connected: nothing to change"
    assert {path: path.read_bytes() for path in before} == before


def test_settings_that_are_no_plain_json_matter_only_where_they_would_be_edited(
    desk: Path, capsys: Out
) -> None:
    settings = desk / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text("{} // mine\n")
    rules = settings.with_name("CLAUDE.md")
    assert main(["connect", "--no-hooks", "--no-permissions"]) == 0
    assert "note" not in capsys.readouterr().out
    assert rules.exists()
    rules.write_bytes(b"\xff")
    assert main(["connect", "--no-hooks", "--no-permissions", "--no-rules"]) == 0
    assert "note" not in capsys.readouterr().out
    assert (settings.read_text(), rules.read_bytes()) == ("{} // mine\n", b"\xff")


@pytest.mark.parametrize("part", ["--http", "--hooks", "--no-rules", "--no-permissions"])
def test_a_part_cannot_be_named_where_everything_goes(desk: Path, capsys: Out, part: str) -> None:
    assert main(["connect"]) == 0
    assert main(["connect", "--remove", part]) == 2
    assert capsys.readouterr().err == (
        f"workers-tui: --remove takes everything back: leave out {part}\n"
    )
    assert (desk / ".claude" / "settings.json").exists()


@pytest.mark.parametrize("left_out", ["hooks", "permissions"])
def test_what_changes_is_named_by_the_parts_that_are_wanted(
    desk: Path, capsys: Out, left_out: str
) -> None:
    assert main(["connect", f"--no-{left_out}"]) == 0
    (kept,) = {"hooks", "permissions"} - {left_out}
    assert f"create {desk / '.claude' / 'settings.json'}: {kept}\n" in capsys.readouterr().out


def test_project_scope_stays_in_the_project(desk: Path) -> None:
    assert main(["connect", "--scope", "project"]) == 0
    assert [path for path in desk.rglob("*") if path.is_file()] == []
    names = sorted(path.name for path in Path.cwd().rglob("*") if path.is_file())
    assert names == [".mcp.json", "CLAUDE.md", "settings.json"]


def test_a_settings_file_with_comments_is_one_line_with_its_number(desk: Path, capsys: Out) -> None:
    settings = desk / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text('{\n  // mine\n  "model": "opus"\n}\n')
    assert main(["connect"]) == 1
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert f"{settings}, line 2: it holds a comment" in error
    assert settings.read_text() == '{\n  // mine\n  "model": "opus"\n}\n'


def test_another_home_is_registered_too(
    desk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("WORKERS_HOME")
    other = tmp_path / "other"
    assert main(["--home", str(other), "connect"]) == 0
    server = json.loads((desk / ".claude.json").read_text())["mcpServers"]["workers"]
    assert server["env"] == {"WORKERS_HOME": str(other)}
    assert f"WORKERS_HOME={other} " in (desk / ".claude" / "settings.json").read_text()


def test_http_registers_an_address_and_keeps_the_token_out(desk: Path, tmp_path: Path) -> None:
    from workers_tui.home.places import find_home

    home = find_home(flat=tmp_path / "workers")
    home.state.mkdir()
    token = ensure_token(home)
    assert main(["--port", "5999", "connect", "--http"]) == 0
    text = (desk / ".claude.json").read_text()
    server = json.loads(text)["mcpServers"]["workers"]
    assert server["type"] == "http"
    assert server["url"] == "http://127.0.0.1:5999/mcp"
    assert token not in text
    assert read_token(home) == token


def test_on_a_terminal_each_part_is_asked_for(
    desk: Path, monkeypatch: pytest.MonkeyPatch, capsys: Out
) -> None:
    answers = iter(["n", "n", "y", "y"])
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    monkeypatch.setattr("click.termui.visible_prompt_func", lambda _: next(answers))
    assert main(["connect"]) == 0
    assert "`workers-tui connect --remove` takes it all back" in capsys.readouterr().out
    assert (desk / ".claude" / "CLAUDE.md").exists()
    assert not (desk / ".claude" / "settings.json").exists()


def test_without_a_standard_input_nothing_is_asked(
    desk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    assert main(["connect"]) == 0
    assert (desk / ".claude" / "settings.json").exists()


def test_saying_no_at_the_end_changes_nothing(desk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = iter(["y", "y", "y", "n"])
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    monkeypatch.setattr("click.termui.visible_prompt_func", lambda _: next(answers))
    assert main(["connect"]) == 130
    assert list(desk.iterdir()) == []


def test_remove_without_a_scope_takes_back_every_scope_in_every_project(
    desk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = Path.cwd(), desk.parent / "second"
    (first / ".claude").mkdir()
    mine = '{"model" : "opus" }'
    (first / ".claude" / "settings.json").write_text(mine)
    second.mkdir()
    assert main(["connect", "--scope", "project"]) == 0
    assert main(["connect"]) == 0
    monkeypatch.chdir(second)
    assert main(["connect", "--scope", "local", "--no-hooks", "--no-permissions"]) == 0
    monkeypatch.chdir(desk)
    assert main(["connect", "--remove"]) == 0
    left = [path for top in (desk, first, second) for path in top.rglob("*") if path.is_file()]
    assert [path for path in left if path.name != ".claude.json"] == [
        first / ".claude" / "settings.json"
    ]
    assert (first / ".claude" / "settings.json").read_text() == mine
    assert not any("workers-tui" in path.read_text() for path in left)


def test_remove_without_a_scope_leaves_what_others_connected_in_a_shared_project(
    capsys: Out, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert main(["connect", "--scope", "project"]) == 0
    monkeypatch.setenv("WORKERS_HOME", str(tmp_path / "another"))
    before = Path(".mcp.json").read_bytes()
    capsys.readouterr()
    assert main(["connect", "--remove"]) == 0
    assert "--scope project takes that back too" in capsys.readouterr().out
    assert Path(".mcp.json").read_bytes() == before
    assert main(["connect", "--remove", "--scope", "project"]) == 0
    assert b"workers-tui" not in Path(".mcp.json").read_bytes()


@pytest.mark.parametrize("scopes", [("user",), ("project", "user")])
def test_remove_in_the_home_directory_takes_each_file_once(
    desk: Path, capsys: Out, monkeypatch: pytest.MonkeyPatch, scopes: tuple[str, ...]
) -> None:
    monkeypatch.chdir(desk)
    for scope in scopes:
        assert main(["connect", "--scope", scope]) == 0
    capsys.readouterr()
    assert main(["connect", "--remove"]) == 0
    shown = capsys.readouterr().out
    assert shown.count("settings.json") == 1
    assert "somebody else" not in shown
    assert not any("workers-tui" in path.read_text() for path in desk.rglob("*") if path.is_file())


def test_what_stays_is_deleted_by_a_command_that_names_whole_paths(
    tmp_path: Path, capsys: Out, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, workers = tmp_path / "with space" / "home", tmp_path / "my workers"
    workers.mkdir()
    monkeypatch.setenv("WORKERS_HOME", str(place))
    monkeypatch.setenv("CLAUDE_WORKERS_ROOT", str(workers))
    assert main(["connect"]) == 0
    assert main(["connect", "--remove"]) == 0
    commands = re.findall("rm -r .*", capsys.readouterr().out)
    assert [shlex.split(one)[2:] for one in commands] == [[str(place)], [str(workers)]]


def test_remove_with_the_plugin_says_what_takes_it_out(desk: Path, capsys: Out) -> None:
    (desk / ".claude").mkdir()
    (desk / ".claude" / "settings.json").write_text('{"enabledPlugins": {"workers@here": true}}')
    assert main(["connect", "--remove"]) == 0
    shown = capsys.readouterr().out
    assert "claude plugin uninstall workers@here" in shown
    assert "nothing else of ours is there" in shown
