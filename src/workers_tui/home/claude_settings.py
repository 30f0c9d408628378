"""Our parts of Claude Code's files: how they are put in and how they are found again.

Pure text to text. What belongs to the user stays byte for byte as it is.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workers_tui.home.json_surgery import JsonText
from workers_tui.home.places import find_home

SERVER = "workers"
PLUGIN = "workers"
PERMISSIONS = ("mcp__workers", "mcp__plugin_workers_workers", "Bash(workers-tui hook opt-out:*)")
"""All our tools, under the name of `connect` and of the plugin, and one harmless command."""

BEGIN = "<!-- workers-tui:begin -->"
END = "<!-- workers-tui:end -->"
RULES = """\
## Delegating to worker models

The `workers` MCP server hands bulk work to cheap models. Split each task before you start:

- Workers (`delegate`, several at once `delegate_batch`): reading large files, summaries,
  extraction, first drafts, tests, boilerplate, translations, second opinions. Name paths in
  `files` and do not read them first: their content never enters this context.
- Agent workers (`delegate_start`): longer jobs with file tools in a directory.
- Sonnet subagents: work that needs this session's tools. Haiku subagents: mechanical work.
- Yourself: architecture, unclear requirements, security, the last review.

Give a worker everything it needs (goal, constraints, format of the answer, what counts as done)
and check what comes back. "Don't delegate", in any language, holds for the rest of the session.
"""


@dataclass(frozen=True, slots=True)
class HookEntry:
    """One of our hooks as settings.json wants it."""

    event: str
    """Claude Code's name of the moment."""
    matcher: str
    run: str
    """Our name of it: `hook RUN`."""
    timeout: int
    """Seconds after which Claude Code goes on without an answer."""


HOOKS = (
    HookEntry("SessionStart", "startup|resume|clear|compact", "session-start", 5),
    HookEntry("PreToolUse", "Read|Bash|PowerShell", "large-read", 3),
    HookEntry("PostToolUse", "mcp__(plugin_workers_)?workers__delegate.*", "after-dispatch", 3),
)


def own_program() -> list[str]:
    """The command that starts this program, by absolute path."""
    started = Path(sys.argv[0]).absolute()  # links stay: an upgrade moves what they point to
    if started.name.startswith("workers-tui") and os.access(started, os.X_OK):
        return [str(started)]
    found = shutil.which("workers-tui")
    return [found] if found else [sys.executable, "-m", "workers_tui"]


def hook_command(run: str, environ: Mapping[str, str]) -> str:
    """The shell command of a hook: this Python, without its site, and our script."""
    script = Path(__file__).resolve().parents[1] / "hooks" / "run.py"
    words = [sys.executable, "-I", "-S", str(script), run]
    flat = _flat_home(environ)
    prefix = f"WORKERS_HOME={shlex.quote(flat)} " if flat else ""
    return prefix + " ".join(map(shlex.quote, words))


def _flat_home(environ: Mapping[str, str]) -> str:
    """WORKERS_HOME, absolute: Claude Code starts us in another directory. Empty when not set."""
    return str(find_home(environ).state) if environ.get("WORKERS_HOME") else ""


def is_our_command(command: object) -> bool:
    """Written by any version of `connect`, or pasted from our examples."""
    if not isinstance(command, str):
        return False
    ours = ("workers_tui/hooks/run.py", "workers_tui\\hooks\\run.py", "workers-tui hook ")
    return any(sign in command for sign in ours)


def with_hooks(text: JsonText, environ: Mapping[str, str]) -> JsonText:
    """With our hooks, each once, and nothing of an older version."""
    for hook in HOOKS:
        command = hook_command(hook.run, environ)
        entry = {
            "matcher": hook.matcher,
            "hooks": [{"type": "command", "command": command, "timeout": hook.timeout}],
        }
        groups = text.get(["hooks", hook.event])
        if isinstance(groups, list) and entry in groups:
            continue
        text = _without_event(text, hook.event)
        text = text.add(["hooks", hook.event, -1], entry)
    return text


def without_hooks(text: JsonText) -> JsonText:
    """Without any hook of ours."""
    hooks = text.get(["hooks"])
    for event in list(hooks) if isinstance(hooks, dict) else []:
        text = _without_event(text, event)
    return text


def _without_event(text: JsonText, event: str) -> JsonText:
    changed = text
    for group, command in reversed(list(_our_hooks(text.get(["hooks", event])))):
        changed = changed.remove(["hooks", event, group, "hooks", command])
        if changed.get(["hooks", event, group, "hooks"]) == []:
            changed = changed.remove(["hooks", event, group])
    if changed is not text:
        changed = changed.remove_empty(["hooks", event]).remove_empty(["hooks"])
    return changed


def _our_hooks(groups: Any) -> Iterator[tuple[int, int]]:
    """Group and number of each hook of ours."""
    for number, group in enumerate(groups if isinstance(groups, list) else []):
        hooks = group.get("hooks") if isinstance(group, dict) else None
        for place, hook in enumerate(hooks if isinstance(hooks, list) else []):
            if isinstance(hook, dict) and is_our_command(hook.get("command")):
                yield number, place


def with_permissions(text: JsonText) -> JsonText:
    """With every rule of ours in the allow list."""
    allowed = text.get(["permissions", "allow"])
    for rule in PERMISSIONS:
        if not isinstance(allowed, list) or rule not in allowed:
            text = text.add(["permissions", "allow", -1], rule)
    return text


def without_permissions(text: JsonText) -> JsonText:
    """Without our rules."""
    changed = text
    allowed = text.get(["permissions", "allow"])
    for number, rule in reversed(list(enumerate(allowed if isinstance(allowed, list) else []))):
        if rule in PERMISSIONS:
            changed = changed.remove(["permissions", "allow", number])
    if changed is not text:
        changed = changed.remove_empty(["permissions", "allow"]).remove_empty(["permissions"])
    return changed


def with_rules(text: str) -> str:
    """CLAUDE.md with our marked block at its end, or the block brought up to date."""
    line = "\r\n" if "\r\n" in text else "\n"
    block = line.join([BEGIN, *RULES.splitlines(), END])
    found = _block(text)
    if found:
        return text[: found[0]] + block + text[found[1] :]
    if not text.strip("\ufeff"):
        return text + block + line
    gap = line if text.endswith("\n") else line * 2
    return text + gap + block + line


def without_rules(text: str) -> str:
    """CLAUDE.md without our block, however often it is there, and the empty line before it."""
    line = "\r\n" if "\r\n" in text else "\n"
    while found := _block(text):
        before, after = text[: found[0]], text[found[1] :]
        before = before.removesuffix(line) if before.endswith(line * 2) else before
        text = before + after.removeprefix(line)
    return text


def _block(text: str) -> tuple[int, int] | None:
    """The first whole one: a mark that lost its other half takes no text of the user's along."""
    end = text.find(END)
    while end >= 0:
        start = text.rfind(BEGIN, 0, end)
        if start >= 0:
            return start, end + len(END)
        end = text.find(END, end + 1)
    return None


def with_server(text: JsonText, path: Sequence[str], entry: Any) -> JsonText:
    """With this entry at the path, whatever stood there."""
    there = text.get(path[:-1])
    known = isinstance(there, dict) and path[-1] in there
    return text.replace(path, entry) if known else text.add(path, entry)


def server_entry(command: Sequence[str], environ: Mapping[str, str]) -> dict[str, Any]:
    """The stdio server as Claude Code's configuration wants it."""
    entry: dict[str, Any] = {"type": "stdio", "command": command[0], "args": [*command[1:], "mcp"]}
    if flat := _flat_home(environ):
        entry["env"] = {"WORKERS_HOME": flat}
    return entry | {"alwaysLoad": True}


def http_entry(url: str, environ: Mapping[str, str]) -> dict[str, Any]:
    """The dashboard's own address; the token comes from a helper, never from this file."""
    return {
        "type": "http",
        "url": url,
        "headersHelper": hook_command("headers", environ),
        "alwaysLoad": True,
    }


def is_our_server(entry: Any) -> bool:
    """Made by `connect` or pasted from our examples."""
    said = json.dumps(entry, ensure_ascii=False)
    return "workers-tui" in said or "workers_tui" in said
