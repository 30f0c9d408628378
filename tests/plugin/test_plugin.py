"""The plugin's files agree with the program and with each other."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

import workers_tui
from workers_tui.home.claude_settings import HOOKS, PLUGIN, SERVER
from workers_tui.hooks.registration import PLUGIN_PREFIX

REPOSITORY = Path(__file__).resolve().parents[2]
PLACE = REPOSITORY / "src" / "workers_tui" / "plugin"
TEXTS = sorted(path for path in PLACE.rglob("*.md"))


def load(*parts: str) -> Any:
    return json.loads(PLACE.joinpath(*parts).read_text(encoding="utf-8"))


def tool_names() -> set[str]:
    raw = (REPOSITORY / "src/workers_tui/forwarder/tools.json").read_text(encoding="utf-8")
    return {tool["name"] for tool in json.loads(raw)["tools"]["auto"]}


def front(path: Path) -> dict[str, str]:
    """The members of a file's front matter."""
    head = path.read_text(encoding="utf-8").split("---\n")[1]
    return dict(line.split(": ", 1) for line in head.splitlines())


def test_versions_and_names_agree() -> None:
    plugin = load(".claude-plugin", "plugin.json")
    market = json.loads((REPOSITORY / ".claude-plugin" / "marketplace.json").read_text())
    (entry,) = market["plugins"]
    assert plugin["version"] == workers_tui.__version__
    assert plugin["name"] == entry["name"] == PLUGIN
    assert (REPOSITORY / entry["source"]).resolve() == PLACE
    assert f"{entry['name']}@{market['name']}" == "workers@workers-tui", "as the README says"
    assert f"mcp__plugin_{plugin['name']}_{SERVER}__" == PLUGIN_PREFIX
    assert list(load(".mcp.json")["mcpServers"]) == [SERVER]


def test_the_server_is_never_deferred() -> None:
    assert load(".mcp.json")["mcpServers"][SERVER]["alwaysLoad"] is True


def test_the_hooks_are_those_that_connect_installs() -> None:
    hooks = load("hooks", "hooks.json")["hooks"]
    assert list(hooks) == [hook.event for hook in HOOKS]
    for hook in HOOKS:
        (group,) = hooks[hook.event]
        (one,) = group["hooks"]
        assert group["matcher"] == hook.matcher
        assert one["timeout"] == hook.timeout
        assert one["command"].endswith(f" hook {hook.run}")
        assert '"${CLAUDE_PLUGIN_ROOT}/bin/workers-tui"' in one["command"]


def test_the_dispatch_matcher_fits_both_prefixes_and_nothing_else() -> None:
    matcher = HOOKS[2].matcher
    assert re.fullmatch(matcher, "mcp__workers__delegate_batch")
    assert re.fullmatch(matcher, PLUGIN_PREFIX + "delegate")
    assert not re.fullmatch(matcher, "mcp__other__delegate")
    assert not re.fullmatch(matcher, "mcp__workers__worker_stats")


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.stem)
def test_every_text_has_a_description_and_names_only_tools_that_exist(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert 20 < len(front(path)["description"]) < 500
    named = set(re.findall(r"mcp__plugin_workers_workers__(\w+)", text))
    named |= set(re.findall(r"`(delegate_\w+|worker_\w+)", text))
    assert named <= tool_names()


def test_the_four_commands_and_the_skill_are_there() -> None:
    stems = {path.stem for path in (PLACE / "commands").iterdir()}
    assert stems == {"delegate", "savings", "setup-worker", "stats"}
    assert front(PLACE / "skills" / "delegating" / "SKILL.md")["name"] == "delegating"


def run(*arguments: str, path: str, home: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["/bin/sh", str(PLACE / "bin" / "workers-tui"), *arguments],
        env={"PATH": path, "HOME": str(home)}, capture_output=True, text=True, input="{}",
        check=False, timeout=20,
    )  # fmt: skip


def test_without_the_program_the_session_hears_how_to_install_it(tmp_path: Path) -> None:
    path = "/usr/bin:/bin"
    said = json.loads(run("hook", "session-start", path=path, home=tmp_path).stdout)
    assert "pipx install" in said["systemMessage"]
    assert "do not try" in said["hookSpecificOutput"]["additionalContext"]
    for event in ("large-read", "after-dispatch"):
        quiet = run("hook", event, path=path, home=tmp_path)
        assert (quiet.returncode, quiet.stdout) == (0, "")
    failed = run("mcp", path=path, home=tmp_path)
    assert failed.returncode == 1
    assert "install" in failed.stderr


def test_with_the_program_it_hands_over_every_argument(tmp_path: Path) -> None:
    program = tmp_path / "bin" / "workers-tui"
    program.parent.mkdir()
    program.write_text('#!/bin/sh\nprintf "%s|" "$@"\ncat\n')
    program.chmod(0o755)
    done = run("hook", "a b", path=f"{program.parent}:/usr/bin:/bin", home=tmp_path)
    assert done.stdout == "hook|a b|{}"


def test_a_hook_of_a_program_in_its_own_environment_skips_the_entry_point(tmp_path: Path) -> None:
    venv = tmp_path / "own place"
    script = venv / "lib" / "python3.11" / "site-packages" / "workers_tui" / "hooks" / "run.py"
    script.parent.mkdir(parents=True)
    script.touch()
    (venv / "bin").mkdir()
    python, program = venv / "bin" / "python", venv / "bin" / "workers-tui"
    python.write_text('#!/bin/sh\nprintf "%s|" "$@"\n')
    program.write_text(f"#!{python}\nno shell line\n")
    for file in (python, program):
        file.chmod(0o755)
    path = f"{venv / 'bin'}:/usr/bin:/bin"
    (venv / "pyvenv.cfg").touch()
    hook = run("hook", "opt-out", "a b", path=path, home=tmp_path)
    assert hook.stdout == f"-I|-S|{script}|opt-out|a b|"
    assert str(script) not in run("stats", path=path, home=tmp_path).stdout
    script.unlink()
    assert "-S" not in run("hook", "opt-out", path=path, home=tmp_path).stdout
