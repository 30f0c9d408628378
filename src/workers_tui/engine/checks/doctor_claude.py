"""Doctor's look at Claude Code: the program, our registration, our hooks."""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from workers_tui.engine.agents.agent_launch import version_of
from workers_tui.engine.checks.check import Check
from workers_tui.home.claude_places import ClaudePlaces, Scope, claude_places, find_claude
from workers_tui.home.claude_plugin import find_plugin
from workers_tui.home.claude_settings import HOOKS, SERVER, is_our_command
from workers_tui.home.files import read_json, read_whole
from workers_tui.home.json_surgery import JsonText, NotJson

CONNECT = "workers-tui connect"
INSTALL = "install Claude Code (npm install -g @anthropic-ai/claude-code) or set WORKERS_CLAUDE_BIN"


async def check_claude(project: Path, environ: Mapping[str, str]) -> list[Check]:
    """The program with its version, who registers us, and whether the hooks can run."""
    places = [claude_places(scope, project, environ) for scope in Scope]
    plugin = find_plugin(project, environ) is not None
    return [
        await _program(environ),
        _registration(places, plugin=plugin),
        _hooks(places, plugin=plugin),
    ]


async def _program(environ: Mapping[str, str]) -> Check:
    program = find_claude(environ)
    if program is None:
        return _no_program(environ.get("WORKERS_CLAUDE_BIN"))
    try:
        version = await version_of(str(program), environ)
    except TimeoutError:
        said = f"{program} --version never ends"
        return Check("claude", ok=False, detail=said, fix=INSTALL)
    except OSError as error:
        return Check("claude", ok=False, detail=f"{program} does not start: {error}", fix=INSTALL)
    ok = bool(version)
    return Check("claude", ok, f"{version or 'no version'} at {program}", None if ok else INSTALL)


def _no_program(named: str | None) -> Check:
    """A wrong name hides every program that is there: installing one would not help."""
    if named:
        said = f"WORKERS_CLAUDE_BIN names {named}, which is no program"
        return Check("claude", ok=False, detail=said, fix="correct or unset WORKERS_CLAUDE_BIN")
    return Check("claude", ok=False, detail="Claude Code was not found", fix=INSTALL)


def _registration(places: list[ClaudePlaces], *, plugin: bool) -> Check:
    broken = [fault for one in places if (fault := _fault(one.servers))]
    if broken:
        return Check("registration", ok=False, detail=broken[0], fix="mend that line")
    found = [
        (one.scope, entry) for one in places if (entry := _entry(one)) is not None
    ]  # in the order that Claude Code itself asks last to first
    if not found and not plugin:
        return Check("registration", ok=False, detail="Claude Code does not know us", fix=CONNECT)
    said = [f"scope {scope.value}: {_how(entry)}" for scope, entry in found]
    said += ["by the plugin"] if plugin else []
    broken = [problem for _, entry in found if (problem := _broken(entry))]
    if broken:
        return Check("registration", ok=False, detail=broken[0], fix=CONNECT)
    if plugin and found:
        scope = found[0][0].value
        return Check(
            "registration",
            ok=False,
            detail=f"registered twice: {'; '.join(said)}",
            fix=f"{CONNECT} --scope {scope} --remove",
        )
    return Check("registration", ok=True, detail="; ".join(said))


def _entry(places: ClaudePlaces) -> dict[str, Any] | None:
    value = read_json(places.servers)
    for name in (*places.servers_path, SERVER):
        value = value.get(name) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else None


def _how(entry: dict[str, Any]) -> str:
    command = [entry.get("command"), *(entry.get("args") or [])]
    return str(entry.get("url") or shlex.join(str(word) for word in command))


def _broken(entry: dict[str, Any]) -> str:
    command = entry.get("command")
    if not isinstance(command, str) or not os.path.isabs(command):  # noqa: PTH117 - a shell's word
        return ""
    return "" if os.access(command, os.X_OK) else f"{command} is registered and is not there"


def _fault(path: Path) -> str:
    """What keeps Claude Code from reading this file of its own; empty when nothing does."""
    try:
        text = read_whole(path).decode("utf-8-sig")
    except FileNotFoundError:
        return ""
    except (OSError, ValueError) as error:
        return f"{path} cannot be read: {error}"
    try:
        JsonText(text) if text.strip() else None
    except NotJson as error:
        return f"{path}, line {error.line}: {error}"
    return ""


def _hooks(places: list[ClaudePlaces], *, plugin: bool) -> Check:
    broken = [fault for one in places if (fault := _fault(one.settings))]
    if broken:
        return Check("hooks", ok=False, detail=broken[0], fix="mend that line")
    if plugin:
        return Check("hooks", ok=True, detail="by the plugin")
    commands = [command for one in places for command in _commands(read_json(one.settings))]
    if not commands:
        return Check("hooks", ok=True, detail=f"not installed; `{CONNECT}` offers them")
    gone = [word for command in commands for word in _gone(command)]
    if gone:
        return Check("hooks", ok=False, detail=f"{gone[0]} is not there any more", fix=CONNECT)
    events = {hook.run for hook in HOOKS if any(hook.run in command for command in commands)}
    missing = {hook.run for hook in HOOKS} - events
    if missing:
        said = f"missing: {', '.join(sorted(missing))}"
        return Check("hooks", ok=False, detail=said, fix=CONNECT)
    return Check("hooks", ok=True, detail=", ".join(sorted(events)))


def _commands(settings: Any) -> list[str]:
    hooks = settings.get("hooks") if isinstance(settings, dict) else None
    text = json.dumps(hooks) if isinstance(hooks, dict) else "{}"
    found: list[str] = []

    def note(value: dict[str, Any]) -> dict[str, Any]:
        command = value.get("command")
        if is_our_command(command):
            found.append(str(command))
        return value

    json.loads(text, object_hook=note)
    return found


def _gone(command: str) -> list[str]:
    """Absolute paths in the command that no longer exist."""
    try:
        words = shlex.split(command, posix=sys.platform != "win32")
    except ValueError:
        return [command]
    return [word for word in words if word.startswith("/") and not Path(word).exists()]
