"""Connecting to Claude Code and taking it back, against files as people really have them."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from workers_tui.home.claude_places import Scope, claude_places, find_claude
from workers_tui.home.claude_plugin import find_plugin
from workers_tui.home.claude_settings import (
    BEGIN,
    END,
    HOOKS,
    PERMISSIONS,
    hook_command,
    http_entry,
    is_our_command,
    server_entry,
    with_rules,
    without_rules,
)
from workers_tui.home.connection import apply, undo
from workers_tui.home.connection_plan import (
    Plan,
    Unusable,
    Wanted,
    plan_connect,
    plan_remove,
    plan_remove_everywhere,
)
from workers_tui.home.files import write_atomic
from workers_tui.home.places import Home

STYLES = {
    "absent": None,
    "empty": b"",
    "braces": b"{}",
    "two spaces": b'{\n  "model": "opus",\n  "env": {"A": "1"}\n}\n',
    "tabs, CRLF, BOM": b'\xef\xbb\xbf{\r\n\t"permissions": {"allow": ["Bash(ls:*)"]}\r\n}\r\n',
    "hooks of others": json.dumps(
        {"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"command": "mine"}]}]}}, indent=4
    ).encode(),
    "no newline": b'{"theme":"dark"}',
}


class Desk:
    """A user's Claude Code files, without a Claude Code."""

    def __init__(self, tmp_path: Path, home: Home) -> None:
        self.home = home
        self.config = tmp_path / "claude"
        self.project = tmp_path / "project"
        self.project.mkdir()
        self.config.mkdir()
        self.environ = {"CLAUDE_CONFIG_DIR": str(self.config)}
        self.settings = self.config / "settings.json"
        self.rules = self.config / "CLAUDE.md"
        self.claude_json = self.config / ".claude.json"

    def plan(self, scope: Scope = Scope.USER, **parts: bool) -> Plan:
        entry = server_entry(["/opt/bin/workers-tui"], self.environ)
        return plan_connect(scope, self.project, Wanted(entry, **parts), self.environ)

    def connect(self, scope: Scope = Scope.USER, **parts: bool) -> Plan:
        plan = self.plan(scope, **parts)
        apply(plan, self.home, None, self.environ)
        return plan

    def remove(self, scope: Scope = Scope.USER) -> Plan:
        plan = plan_remove(scope, self.project, self.home, self.environ)
        undo(plan, self.home, None, self.environ)
        return plan

    def everything(self) -> dict[str, bytes]:
        found = [path for top in (self.config, self.project) for path in top.rglob("*")]
        return {str(path): path.read_bytes() for path in found if path.is_file()}


@pytest.fixture
def desk(tmp_path: Path, home: Home) -> Desk:
    return Desk(tmp_path, home)


@pytest.mark.parametrize("scope", list(Scope))
@pytest.mark.parametrize("style", STYLES)
def test_removing_restores_every_file_byte_for_byte(desk: Desk, scope: Scope, style: str) -> None:
    places = claude_places(scope, desk.project, desk.environ)
    before = STYLES[style]
    if before is not None:
        for path in (places.settings, places.servers):
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(before)
        places.rules.write_bytes(b"# Rules\r\n\r\nno newline at the end")
    was = desk.everything()
    desk.connect(scope)
    assert desk.everything() != was
    desk.remove(scope)
    assert desk.everything() == was
    if before is None:
        assert list(desk.project.iterdir()) == []


def test_everything_is_registered_once_however_often(desk: Desk) -> None:
    desk.connect()
    first = desk.everything()
    assert not desk.plan().needed
    desk.connect()
    assert desk.everything() == first
    settings = json.loads(desk.settings.read_text())
    commands = [
        hook["command"] for h in HOOKS for group in settings["hooks"][h.event]
        for hook in group["hooks"]
    ]  # fmt: skip
    assert len(commands) == len(HOOKS)
    assert all(is_our_command(command) for command in commands)
    assert set(PERMISSIONS) <= set(settings["permissions"]["allow"])
    assert desk.rules.read_text().count(BEGIN) == 1
    server = json.loads(desk.claude_json.read_text())["mcpServers"]["workers"]
    assert server["command"] == "/opt/bin/workers-tui"
    assert server["alwaysLoad"] is True


def test_hooks_of_an_older_version_are_brought_up_to_date(desk: Desk) -> None:
    old = {"matcher": "Read", "hooks": [
        {"type": "command", "command": "/old/python /old/workers_tui/hooks/run.py large-read"},
        {"type": "command", "command": "mine"},
    ]}  # fmt: skip
    desk.settings.write_text(json.dumps({"hooks": {"PreToolUse": [old]}}, indent=2))
    desk.connect()
    groups = json.loads(desk.settings.read_text())["hooks"]["PreToolUse"]
    assert groups[0]["hooks"] == [{"type": "command", "command": "mine"}]
    assert len(groups) == 2


def test_what_others_changed_meanwhile_stays(desk: Desk) -> None:
    desk.settings.write_text('{\n  "model": "opus"\n}\n')
    desk.rules.write_text("# Mine\n")
    desk.connect()
    settings = json.loads(desk.settings.read_text())
    settings["permissions"]["allow"].insert(0, "Bash(make:*)")
    desk.settings.write_text(json.dumps(settings, indent=2) + "\n")
    desk.rules.write_text(desk.rules.read_text() + "\nAdded later.\n")
    state = json.loads(desk.claude_json.read_text())
    desk.claude_json.write_text(json.dumps({"numStartups": 3, **state}, indent=2))
    desk.remove()
    assert json.loads(desk.settings.read_text()) == {
        "model": "opus",
        "permissions": {"allow": ["Bash(make:*)"]},
    }
    assert desk.rules.read_text() == "# Mine\n\nAdded later.\n"
    assert json.loads(desk.claude_json.read_text()) == {"numStartups": 3}


def test_removing_what_was_pasted_by_hand_works_without_a_record(desk: Desk) -> None:
    desk.connect()
    (desk.home.state / "connections.json").unlink()
    desk.remove()
    assert json.loads(desk.settings.read_text()) == {}
    assert json.loads(desk.claude_json.read_text()) in ({}, {"mcpServers": {}})
    assert BEGIN not in desk.rules.read_text()


@pytest.mark.parametrize(
    "text", ['{\n  "a": 1,\n}', '{\n  // mine\n  "a": 1\n}'], ids=["trailing comma", "comment"]
)
@pytest.mark.parametrize("name", ["settings.json", ".claude.json"])
def test_a_file_that_is_not_plain_json_stops_everything_before_the_first_write(
    desk: Desk, text: str, name: str
) -> None:
    (desk.config / name).write_text(text)
    was = desk.everything()
    with pytest.raises(Unusable, match=r"line [23]: .*Nothing was changed"):
        desk.connect()
    assert desk.everything() == was
    assert not (desk.home.state / "connections.json").exists()


def test_a_file_in_another_encoding_is_left_alone(desk: Desk) -> None:
    desk.rules.write_bytes("Grüße".encode("latin-1"))
    with pytest.raises(Unusable, match="not UTF-8"):
        desk.connect()
    desk.settings.write_bytes("{}".encode("utf-16"))
    with pytest.raises(Unusable, match="not UTF-8"):
        desk.connect(rules=False)


def test_mode_and_link_are_kept(desk: Desk, tmp_path: Path) -> None:
    real = tmp_path / "dotfiles.json"
    real.write_text("{}")
    real.chmod(0o640)
    desk.settings.symlink_to(real)
    desk.connect()
    assert desk.settings.is_symlink()
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    assert "hooks" in real.read_text()


def test_new_files_are_private_and_shared_ones_are_not(desk: Desk) -> None:
    desk.connect()
    desk.connect(Scope.PROJECT)
    assert stat.S_IMODE(desk.settings.stat().st_mode) == 0o600
    assert stat.S_IMODE((desk.project / ".mcp.json").stat().st_mode) == 0o644
    assert stat.S_IMODE((desk.project / ".claude/settings.json").stat().st_mode) == 0o644


def test_a_full_disk_leaves_the_old_file(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.settings.write_text('{"a": 1}')
    plan = desk.plan()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(Unusable, match="No space"):
        apply(plan, desk.home, None, desk.environ)
    monkeypatch.undo()
    assert desk.settings.read_text() == '{"a": 1}'
    assert [path.name for path in desk.config.iterdir()] == ["settings.json"]


def test_a_file_changed_since_it_was_shown_is_not_overwritten(desk: Desk) -> None:
    plan = desk.plan()
    desk.settings.write_text('{"late": 1}')
    with pytest.raises(Unusable, match="run it again"):
        apply(plan, desk.home, None, desk.environ)
    assert desk.settings.read_text() == '{"late": 1}'


def test_who_shares_a_project_is_told_what_others_will_see(desk: Desk) -> None:
    said = " ".join(desk.plan(Scope.PROJECT).notes)
    assert "asks each user" in said
    assert "its place on this machine" in said
    assert desk.plan(Scope.USER).notes == desk.plan(Scope.LOCAL).notes == ()


def test_each_part_can_be_left_out(desk: Desk) -> None:
    desk.connect(permissions=False, hooks=False, rules=False)
    assert [path.name for path in desk.config.iterdir()] == [".claude.json"]
    desk.connect(permissions=True, hooks=False, rules=False)
    assert "hooks" not in json.loads(desk.settings.read_text())


def test_with_the_plugin_nothing_is_registered_twice(desk: Desk) -> None:
    desk.settings.write_text('{"enabledPlugins": {"workers@workers-tui": true}}')
    plan = desk.connect()
    assert not plan.server.needed
    assert any("plugin" in note for note in plan.notes)
    settings = json.loads(desk.settings.read_text())
    assert "hooks" not in settings
    assert not desk.claude_json.exists()


def test_another_server_of_that_name_is_replaced_and_brought_back(desk: Desk) -> None:
    other = {"mcpServers": {"workers": {"command": "node", "args": ["/x/server.js"]}}}
    text = json.dumps(other, indent=2)
    desk.claude_json.write_text(text)
    plan = desk.connect()
    assert any("replaces" in note for note in plan.notes)
    assert "workers-tui" in desk.claude_json.read_text()
    desk.remove()
    assert desk.claude_json.read_text() == text
    assert not desk.remove().needed, "a server that is not ours is not removed"


@pytest.mark.parametrize("first", [Scope.USER, Scope.LOCAL])
def test_scopes_in_one_file_come_and_go_by_themselves(desk: Desk, first: Scope) -> None:
    desk.claude_json.write_text('{\n  "numStartups": 3\n}\n')
    was = desk.everything()
    desk.connect(Scope.USER)
    desk.connect(Scope.LOCAL)
    second = Scope.LOCAL if first is Scope.USER else Scope.USER
    desk.remove(first)
    left = json.loads(desk.claude_json.read_text())
    assert ("mcpServers" in left) == (second is Scope.USER)
    assert ("projects" in left) == (second is Scope.LOCAL)
    desk.remove(second)
    assert desk.everything() == was


def test_over_http_the_token_stays_out_of_the_file(desk: Desk) -> None:
    (desk.home.token).write_text("very-secret-token")
    environ = {**desk.environ, "WORKERS_HOME": str(desk.home.state)}
    entry = http_entry("http://127.0.0.1:4747/mcp", environ)
    plan = plan_connect(Scope.USER, desk.project, Wanted(entry), environ)
    apply(plan, desk.home, None, environ)
    assert "very-secret-token" not in desk.claude_json.read_text()
    helper = json.loads(desk.claude_json.read_text())["mcpServers"]["workers"]["headersHelper"]
    said = subprocess.run(helper, shell=True, capture_output=True, check=True)  # noqa: S602 - as Claude Code does
    assert json.loads(said.stdout) == {"Authorization": "Bearer very-secret-token"}


def test_the_hooks_command_runs_from_a_path_with_spaces(desk: Desk) -> None:
    environ = {**desk.environ, "WORKERS_HOME": str(desk.home.state / "with 'space")}
    plan = plan_connect(Scope.USER, desk.project, Wanted(None), environ)
    apply(plan, desk.home, None, environ)
    group = json.loads(desk.settings.read_text())["hooks"]["SessionStart"][0]
    command = group["hooks"][0]["command"]
    done = subprocess.run(command, shell=True, input=b"{}", capture_output=True, check=True)  # noqa: S602 - as Claude Code does
    assert b"additionalContext" in done.stdout


def test_a_relative_home_is_registered_by_its_whole_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    environ = {"WORKERS_HOME": "here"}
    assert server_entry(["w"], environ)["env"] == {"WORKERS_HOME": str(tmp_path / "here")}
    assert hook_command("headers", environ).startswith(f"WORKERS_HOME={tmp_path}/here ")


@pytest.mark.parametrize("text", ["", "a", "a\n", "a\r\nb\r\n", "\n\n", "# T\n\ntext\n\n"])
def test_rules_come_and_go_without_a_trace(text: str) -> None:
    once = with_rules(text)
    assert with_rules(once) == once
    assert without_rules(once).rstrip("\r\n") == text.rstrip("\r\n")


def test_claude_codes_own_lock_is_waited_for_and_given_back(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = desk.config / ".claude.json.lock"
    seen = []

    def look(path: Path, data: bytes, *, mode: int | None = None) -> None:
        seen.append((path.name, lock.is_dir()))
        write_atomic(path, data, mode=mode)

    monkeypatch.setattr("workers_tui.home.connection.write_atomic", look)
    desk.connect()
    assert seen == [(".claude.json", True), ("settings.json", False), ("CLAUDE.md", False)]
    assert not lock.exists()
    monkeypatch.setattr("workers_tui.home.claude_lock.PATIENCE", 0.1)
    lock.mkdir()
    with pytest.raises(Unusable, match="held by a running Claude Code"):
        desk.remove()
    assert lock.is_dir()
    os.utime(lock, (1, 1))
    desk.remove()
    assert desk.everything() == {}
    assert not lock.exists()


def test_rules_that_were_pasted_twice_are_taken_out_twice() -> None:
    block = with_rules("")
    assert without_rules(f"# Mine\n\n{block}\nmore\n\n{block}") == "# Mine\n\nmore\n"


@pytest.mark.parametrize("text", [f"{BEGIN}\nmine\n", f"{END}\nmine\n", f"{END} mine {BEGIN}\n"])
def test_half_a_mark_costs_no_line_of_the_users(text: str) -> None:
    once = with_rules(text)
    assert once.startswith(text)
    assert with_rules(once) == once
    assert without_rules(once) == text


def test_claude_is_found_by_name_or_by_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "claude"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    assert find_claude({"PATH": str(tmp_path)}) == program
    assert find_claude({"WORKERS_CLAUDE_BIN": str(program), "PATH": ""}) == program
    assert find_claude({"WORKERS_CLAUDE_BIN": "/nowhere", "PATH": str(tmp_path)}) is None
    monkeypatch.setenv("HOME", str(tmp_path / "nobody"))
    assert find_claude({"PATH": "/nowhere"}) is None


def test_claudes_own_command_is_preferred_and_its_words_are_passed_on(
    desk: Desk, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    claude = tmp_path / "claude-program"
    claude.write_text(
        f"#!{sys.executable}\nimport sys, os\nopen({str(log)!r}, 'a').write(repr(sys.argv[1:]))\n"
        "if os.environ.get('FAIL'): sys.exit('it broke')\n"
    )
    claude.chmod(0o755)
    apply(desk.plan(), desk.home, claude, {**desk.environ, **os.environ})
    assert "'mcp', 'add-json', '--scope', 'user', 'workers'" in log.read_text()
    desk.settings.unlink()
    with pytest.raises(Unusable, match="it broke"):
        apply(desk.plan(), desk.home, claude, {**desk.environ, "FAIL": "1"})


def test_without_room_for_the_backup_the_error_names_our_place_and_nothing_changes(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.settings.write_text('{"model": "opus"}')
    before = desk.everything()

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("workers_tui.home.connection_record.write_atomic", full)
    with pytest.raises(
        Unusable, match=f"^{desk.home.state} cannot be written: No space.*free the disk"
    ):
        desk.connect()
    assert desk.everything() == before


@pytest.mark.parametrize("value", ["[]", "null", '"x"', "7"])
@pytest.mark.parametrize("scope", list(Scope))
def test_servers_that_are_no_object_stop_everything_before_the_first_write(
    desk: Desk, scope: Scope, value: str
) -> None:
    places = claude_places(scope, desk.project, desk.environ)
    inner = value
    for name in reversed(places.servers_path):
        inner = f'{{"{name}": {inner}}}'
    places.servers.write_text(inner)
    was = desk.everything()
    with pytest.raises(Unusable, match=r"mcpServers is not an object\. Nothing was changed"):
        desk.connect(scope)
    assert desk.everything() == was


def test_a_pipe_instead_of_settings_is_named_at_once(desk: Desk) -> None:
    os.mkfifo(desk.settings)
    with pytest.raises(Unusable, match=r"settings\.json cannot be read: .*no regular file"):
        desk.connect()
    assert desk.settings.is_fifo()


def test_a_link_that_leads_nowhere_is_one_again_afterwards(desk: Desk, tmp_path: Path) -> None:
    desk.settings.symlink_to(tmp_path / "dotfiles.json")
    desk.connect()
    assert "hooks" in (tmp_path / "dotfiles.json").read_text()
    desk.remove()
    assert desk.settings.is_symlink()
    assert not (tmp_path / "dotfiles.json").exists()


@pytest.mark.parametrize("there", [True, False])
def test_an_empty_directory_stays_only_if_it_was_there(desk: Desk, there: bool) -> None:
    directory = desk.project / ".claude"
    if there:
        directory.mkdir()
    desk.connect(Scope.PROJECT)
    desk.connect(Scope.LOCAL)
    desk.remove(Scope.PROJECT)
    desk.remove(Scope.LOCAL)
    assert directory.exists() == there


def test_two_at_once_both_succeed_and_are_taken_back(desk: Desk) -> None:
    desk.settings.write_text('{ "model": "opus" }')
    was = desk.everything()
    first, second = desk.plan(), desk.plan()
    apply(first, desk.home, None, desk.environ)
    now = desk.everything()
    apply(second, desk.home, None, desk.environ)
    assert desk.everything() == now
    removing = [plan_remove(Scope.USER, desk.project, desk.home, desk.environ) for _ in range(2)]
    for plan in removing:
        undo(plan, desk.home, None, desk.environ)
    assert desk.everything() == was


def test_while_one_is_at_work_the_next_waits(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    held: list[Path] = []

    def look(path: Path, data: bytes, *, mode: int | None = None) -> None:
        with (desk.home.state / "connections.lock").open() as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                held.append(path)
        write_atomic(path, data, mode=mode)

    monkeypatch.setattr("workers_tui.home.connection.write_atomic", look)
    desk.connect()
    assert held == [desk.claude_json, desk.settings, desk.rules]


@pytest.mark.parametrize("scope", list(Scope))
@pytest.mark.parametrize("step", range(1, 11))
def test_killed_at_any_step_nothing_is_half_and_all_of_it_is_taken_back(
    desk: Desk, scope: Scope, step: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    places = claude_places(scope, desk.project, desk.environ)
    for path, text in {places.settings: "{}", places.servers: '{\n"x": 1 }'}.items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    was, plan, steps = desk.everything(), desk.plan(scope), iter(range(1, 100))
    real = os.replace

    def killed(*arguments: str) -> None:
        if next(steps) == step:
            raise KeyboardInterrupt
        real(*arguments)

    monkeypatch.setattr(os, "replace", killed)
    try:
        apply(plan, desk.home, None, desk.environ)
        finished = True
    except KeyboardInterrupt:
        finished = False
    monkeypatch.undo()
    assert finished == (step > 9), "one save of a file or of the record each"
    for path in (places.settings, places.servers):
        json.loads(path.read_text())
    undo(plan_remove(scope, desk.project, desk.home, desk.environ), desk.home, None, desk.environ)
    assert desk.everything() == was
    desk.connect(scope)
    assert not desk.plan(scope).needed


def test_half_done_says_how_to_go_on(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path, data: bytes, *, mode: int | None = None) -> None:
        if path == desk.rules:
            raise OSError(28, "No space left on device")
        write_atomic(path, data, mode=mode)

    monkeypatch.setattr("workers_tui.home.connection.write_atomic", full)
    with pytest.raises(Unusable, match=r"CLAUDE\.md.*No space.* take everything back with --rem"):
        desk.connect()
    assert desk.settings.exists()
    monkeypatch.undo()
    desk.remove()
    assert desk.everything() == {}


def test_settings_that_claudes_own_command_brings_up_to_date_are_edited_as_they_are_then(
    desk: Desk, tmp_path: Path
) -> None:
    claude = tmp_path / "claude-program"
    claude.write_text(f"#!/bin/sh\nprintf '{{}}' > {desk.settings}\n")
    claude.chmod(0o755)
    desk.settings.write_text('{ "model": "opus" }')
    apply(desk.plan(), desk.home, claude, desk.environ)
    assert list(json.loads(desk.settings.read_text())) == ["hooks", "permissions"]
    desk.remove()
    assert desk.settings.read_text() == "{}"


def test_a_refusal_by_claudes_own_command_leaves_everything_as_it_was(
    desk: Desk, tmp_path: Path
) -> None:
    claude = tmp_path / "claude-program"
    claude.write_text("#!/bin/sh\necho no >&2\nexit 1\n")
    claude.chmod(0o755)
    with pytest.raises(Unusable, match=r"add-json failed: no$"):
        apply(desk.plan(), desk.home, claude, desk.environ)
    assert desk.everything() == {}


def test_worktrees_share_one_server_that_is_removed_once(desk: Desk, tmp_path: Path) -> None:
    (desk.project / ".git" / "worktrees" / "w").mkdir(parents=True)
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / ".git").write_text(f"gitdir: {desk.project}/.git/worktrees/w\n")
    entry = server_entry(["/opt/bin/workers-tui"], desk.environ)
    for where in (tree, desk.project):
        plan = plan_connect(Scope.LOCAL, where, Wanted(entry), desk.environ)
        apply(plan, desk.home, None, desk.environ)
    plans = plan_remove_everywhere(tmp_path, desk.home, desk.environ)
    assert sum(plan.server.needed for plan in plans) == 1
    for plan in plans:
        undo(plan, desk.home, None, desk.environ)
    assert [path.name for path in tree.iterdir()] == [".git"]
    assert json.loads(desk.claude_json.read_text() if desk.claude_json.exists() else "{}") == {}


@pytest.mark.parametrize("changed", [True, False])
def test_the_server_of_a_project_that_is_gone_is_removed_too(
    desk: Desk, tmp_path: Path, changed: bool
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    entry = server_entry(["/opt/bin/workers-tui"], desk.environ)
    apply(
        plan_connect(Scope.LOCAL, gone, Wanted(entry), desk.environ), desk.home, None, desk.environ
    )
    shutil.rmtree(gone)
    if changed:
        state = json.loads(desk.claude_json.read_text())
        desk.claude_json.write_text(json.dumps({"numStartups": 3, **state}))
    claude = tmp_path / "never-started"
    for plan in plan_remove_everywhere(desk.project, desk.home, desk.environ):
        undo(plan, desk.home, claude, desk.environ)
    assert not desk.claude_json.exists() or "workers" not in desk.claude_json.read_text()
    assert not gone.exists()


def test_of_several_config_directories_the_first_is_used_and_named(
    desk: Desk, tmp_path: Path
) -> None:
    log, claude = tmp_path / "log", tmp_path / "claude-program"
    claude.write_text(f"#!/bin/sh\necho $CLAUDE_CONFIG_DIR >> {log}\n")
    claude.chmod(0o755)
    environ = {"CLAUDE_CONFIG_DIR": f"{desk.config}, {tmp_path / 'second'}"}
    entry = server_entry(["/opt/bin/workers-tui"], environ)
    plan = plan_connect(Scope.USER, desk.project, Wanted(entry), environ)
    assert any(str(desk.config) in note for note in plan.notes)
    apply(plan, desk.home, claude, environ)
    assert log.read_text() == f"{desk.config}\n"
    assert desk.settings.exists()


def test_what_stays_of_the_plugin_is_named_with_its_command(desk: Desk) -> None:
    desk.settings.write_text('{"enabledPlugins": {"workers@workers-tui": true}}')
    plans = plan_remove_everywhere(desk.project, desk.home, desk.environ)
    said = [note for plan in plans for note in plan.notes]
    assert said == [
        "the plugin is enabled: `claude plugin uninstall workers@workers-tui` takes it out"
    ]


@pytest.mark.parametrize(
    ("user", "project", "local", "found"),
    [
        (None, None, None, None),
        (True, None, None, Scope.USER),
        (None, True, None, Scope.PROJECT),
        (None, None, True, Scope.LOCAL),
        (True, None, False, None),
        (False, True, None, Scope.PROJECT),
        ("yes", None, None, None),
    ],
)
def test_the_plugin_is_found_in_every_scope_and_the_narrower_wins(
    desk: Desk, user: object, project: object, local: object, found: Scope | None
) -> None:
    for scope, on in zip(Scope, (user, project, local), strict=True):
        if on is not None:
            path = claude_places(scope, desk.project, desk.environ).settings
            path.parent.mkdir(exist_ok=True)
            enabled = {"workers@workers-tui": on, "workers-other@x": True}
            path.write_text(json.dumps({"enabledPlugins": enabled}))
    plugin = find_plugin(desk.project, desk.environ)
    assert (plugin.scope if plugin else None) == found


def test_a_plugin_of_one_project_keeps_nobody_from_connecting_everywhere(desk: Desk) -> None:
    settings = claude_places(Scope.LOCAL, desk.project, desk.environ).settings
    settings.parent.mkdir()
    settings.write_text('{"enabledPlugins": {"workers@workers-tui": true}}')
    plan = desk.plan()
    assert plan.server.needed
    assert any("uninstall --scope local workers@workers-tui" in note for note in plan.notes)
    assert not desk.plan(Scope.LOCAL).server.needed
