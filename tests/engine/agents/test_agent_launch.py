"""What a process is started with: an allow list, and settings that nothing can override."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from workers_tui.engine.agents.agent_launch import (
    Launch,
    arguments,
    ask_version,
    check_version,
    claude_program,
    environment,
    overrides,
    prepare,
    settings,
)
from workers_tui.engine.agents.agent_sessions import Session
from workers_tui.engine.errors import WrongUse

SESSION = Session(
    id="6f1c1f0e-0000-4000-8000-000000000001",
    worker="glm",
    cwd="/home/dev/project",
    model="big",
    small_model="small",
    tools=("Read", "Bash"),
    allowed=("Bash(git log:*)",),
    disallowed=("Write",),
    permission_mode="acceptEdits",
    max_turns=7,
    add_dirs=("/home/dev/other",),
    append_system_prompt="be brief",
)


@pytest.fixture
def launch(tmp_path: Path) -> Launch:
    return Launch(
        program="/usr/bin/claude",
        session=SESSION,
        resume=False,
        directory=tmp_path / "agents" / SESSION.id,
        gateway="http://127.0.0.1:4747/gateway",
        token="job-token",
        private=(Path("/home/dev/.config/workers-tui"),),
    )


FOREIGN = {
    "PATH": "/usr/bin",
    "HOME": "/home/dev",
    "LANG": "C.UTF-8",
    **{
        f"{vendor}_ANYTHING": "leak"
        for vendor in (
            "ANTHROPIC", "CLAUDE", "AWS", "GOOGLE", "AZURE", "OPENAI", "OPENROUTER", "BEDROCK",
            "VERTEX", "WORKERS", "GITHUB", "SSH",
        )
    },
    "HTTPS_PROXY": "http://user:secret@proxy",
    "LD_PRELOAD": "/tmp/evil.so",
    "NODE_OPTIONS": "--require /tmp/evil.js",
}  # fmt: skip


def test_only_named_variables_pass(launch: Launch) -> None:
    seen = environment(launch, FOREIGN)
    assert "leak" not in seen.values()
    assert {"LD_PRELOAD", "NODE_OPTIONS"}.isdisjoint(seen)
    assert "secret" not in json.dumps(seen)
    assert (seen["PATH"], seen["HOME"], seen["LANG"]) == ("/usr/bin", "/home/dev", "C.UTF-8")
    assert seen["CLAUDE_CONFIG_DIR"] == str(launch.config)


def test_no_shell_below_it_reads_the_users_start_up_files(launch: Launch) -> None:
    seen = environment(launch, {**FOREIGN, "SHLVL": "0", "ZDOTDIR": "/home/dev"})
    assert int(seen["SHLVL"]) >= 2
    assert seen["ZDOTDIR"] == str(launch.config)


def test_the_token_is_neither_in_the_environment_nor_in_the_arguments(launch: Launch) -> None:
    said = json.dumps([environment(launch, FOREIGN), arguments(launch), settings(launch)])
    assert launch.token not in said


def test_settings_say_again_what_the_environment_says(launch: Launch) -> None:
    """Settings given on the command line win over those of projects and users."""
    assert settings(launch)["env"] == overrides(launch)
    assert overrides(launch).items() <= environment(launch, FOREIGN).items()


def test_every_model_slot_is_filled(launch: Launch) -> None:
    env = overrides(launch)
    big = ("MODEL", "DEFAULT_OPUS_MODEL", "DEFAULT_SONNET_MODEL")
    assert {env[f"ANTHROPIC_{slot}"] for slot in big} == {"big"}
    assert env["ANTHROPIC_DEFAULT_HAIKU_MODEL"] == "small"
    assert env["CLAUDE_CODE_SUBAGENT_MODEL"] == "big"


def test_the_arguments_are_those_of_the_session(launch: Launch) -> None:
    line = arguments(launch)
    wanted = {
        "--session-id": SESSION.id,
        "--model": "big",
        "--max-turns": "7",
        "--permission-mode": "acceptEdits",
        "--tools": "Read,Bash",
        "--allowedTools": "Bash(git log:*)",
        "--disallowedTools": "Write",
        "--add-dir": "/home/dev/other",
        "--append-system-prompt-file": str(launch.more_system_prompt),
        "--setting-sources": "user",
    }
    assert {flag: line[line.index(flag) + 1] for flag in wanted} == wanted
    assert "--strict-mcp-config" in line
    assert "--mcp-config" not in line


def test_files_are_private_and_the_helper_tells_the_token(launch: Launch) -> None:
    prepare(launch)
    for path in (launch.directory, launch.config):
        assert stat.S_IMODE(path.stat().st_mode) == 0o700
    assert launch.more_system_prompt.read_text() == "be brief"
    for path in (launch.token_file, launch.settings_file, launch.more_system_prompt):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert launch.token_file.read_text() == "job-token"
    assert launch.token not in launch.settings_file.read_text()
    assert str(launch.token_file) in settings(launch)["apiKeyHelper"]
    assert launch.config not in launch.token_file.parents


def test_directories_with_keys_are_closed_to_its_file_tools(launch: Launch) -> None:
    closed = settings(launch)["permissions"]["deny"]
    assert "Read(//home/dev/.config/workers-tui/**)" in closed
    assert "Read(~/.claude-workers/**)" in closed


@pytest.mark.parametrize("text", ["1.9.9 (Claude Code)", "0.2.1"])
def test_an_old_version_is_refused(text: str) -> None:
    with pytest.raises(WrongUse, match="too old"):
        check_version(text)


@pytest.mark.parametrize("text", ["2.0.0", "2.1.197 (Claude Code)", "3.0.0-beta", "", "what?"])
def test_a_new_or_strange_version_passes(text: str) -> None:
    check_version(text)


async def test_a_missing_program_is_told() -> None:
    with pytest.raises(WrongUse, match="WORKERS_CLAUDE_BIN"):
        claude_program({"PATH": "/nowhere"})
    with pytest.raises(WrongUse, match="/nowhere/claude"):
        claude_program({"WORKERS_CLAUDE_BIN": "/nowhere/claude"})
    assert await ask_version("/nowhere/claude", {}) == ""


def test_a_program_in_its_usual_place_is_found_as_doctor_finds_it() -> None:
    usual = Path.home() / ".local" / "bin" / "claude"
    usual.parent.mkdir(parents=True)
    usual.write_text("#!/bin/sh\n")
    usual.chmod(0o755)
    assert claude_program({"PATH": "/nowhere"}) == str(usual)
