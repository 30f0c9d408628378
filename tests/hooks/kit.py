"""Runs hooks as Claude Code does, with input as Claude Code writes it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from workers_tui import hooks
from workers_tui.home.gate import Gate, GateTier

RUN = Path(hooks.__file__).with_name("run.py")
SESSION = "0a1b2c3d-1111-2222-3333-444455556666"
GATE = Gate(tiers=(GateTier("fast", "summaries"),), workers=("zai",))


def run(event: str, given: object, environ: dict[str, str]) -> dict[str, Any] | None:
    """The hook's answer, from a real process."""
    raw = given if isinstance(given, bytes) else json.dumps(given).encode()
    done = subprocess.run(
        [sys.executable, "-I", "-S", str(RUN), event], input=raw, capture_output=True,
        env=environ, timeout=20, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] | None = json.loads(done.stdout) if done.stdout else None
    return answer


def reading(project: Path, name: str = "big.log", **more: Any) -> dict[str, Any]:
    return {
        "session_id": SESSION,
        "cwd": str(project),
        "hook_event_name": "PreToolUse",
        "tool_name": "Read",
        "tool_input": {"file_path": str(project / name), **more},
    }


def shell(project: Path, command: str, tool: str = "Bash") -> dict[str, Any]:
    return {**reading(project), "tool_name": tool, "tool_input": {"command": command}}


def start(project: Path) -> dict[str, Any]:
    return {"session_id": SESSION, "cwd": str(project), "hook_event_name": "SessionStart"}


def context(answer: dict[str, Any] | None) -> str:
    assert answer is not None
    text: str = answer["hookSpecificOutput"]["additionalContext"]
    return text
