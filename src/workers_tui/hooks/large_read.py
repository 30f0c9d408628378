"""PreToolUse on Read, Bash and PowerShell: a large file goes to a worker, not into the context.

It denies only what a worker could really take over: anything unclear passes.
"""

from __future__ import annotations

import os
import stat

from workers_tui.hooks.plain_json import dumps
from workers_tui.hooks.registration import tool_prefix
from workers_tui.hooks.state import State

TYPE_CHECKING = False  # typing costs 4 ms
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

NO_TEXT = (
    ".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp", ".svg", ".ico", ".tif", ".tiff", ".heic",
    ".pdf", ".ipynb",
)  # fmt: skip
"""Claude Code shows these in its own way; a worker gets nothing out of them."""
SHOWN_FILES = 5


def large_read(given: dict[str, Any], environ: Mapping[str, str]) -> dict[str, Any] | None:
    """A denial with the way out, or None to let the tool run."""
    if given.get("agent_id"):
        return None  # a subagent keeps its own context, and may not have our tools
    cwd = str(given.get("cwd") or os.getcwd())
    files = [file for file in _wanted(given, cwd) if file[1] > 0]
    size = sum(size for _, size in files)
    state = State(environ)
    if size <= state.large_read_bytes or not _possible(state, given.get("session_id")):
        return None
    roots = _roots(cwd, environ)
    paths = [_below(path, roots, state.results) for path, _ in files]
    prefix = tool_prefix(cwd, environ)
    if not prefix or None in paths or any(_binary(path) for path, _ in files):
        return None
    return _denial([path for path in paths if path], size, prefix)


def _possible(state: State, session: object) -> bool:
    """Delegating would work, and is wanted."""
    return (
        state.mode == "auto"
        and bool(state.tiers)
        and not state.cap_reached
        and not state.opted_out(session)
    )


def _wanted(given: dict[str, Any], cwd: str) -> list[tuple[str, int]]:
    """The files that the tool would read whole, with their sizes."""
    asked = given.get("tool_input")
    if not isinstance(asked, dict):
        return []
    tool = given.get("tool_name")
    if tool == "Read":
        path = asked.get("file_path")
        part = any(asked.get(name) is not None for name in ("offset", "limit", "pages"))
        if not isinstance(path, str) or part:
            return []
        return [_sized(os.path.join(cwd, path))]
    command = asked.get("command")
    if tool not in ("Bash", "PowerShell") or not isinstance(command, str):
        return []
    from workers_tui.hooks.shell_reads import printed_files  # late: Read needs none of it

    return [_sized(path) for path in printed_files(command, cwd, powershell=tool == "PowerShell")]


def _sized(path: str) -> tuple[str, int]:
    """The size of a regular file that holds text; 0 for anything else."""
    if path.lower().endswith(NO_TEXT) or "\0" in path:
        return path, 0
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return path, 0
    return path, status.st_size if stat.S_ISREG(status.st_mode) else 0


def _binary(path: str) -> bool:
    """Workers take text only."""
    try:
        with open(path, "rb") as file:
            return b"\0" in file.read(1024)
    except OSError:
        return True


def _roots(cwd: str, environ: Mapping[str, str]) -> list[str]:
    """Where workers may read for this session: what the server will think, too."""
    more = environ.get("WORKERS_ALLOWED_ROOTS", "").replace(os.pathsep, ";").split(";")
    named = [environ.get("CLAUDE_PROJECT_DIR") or cwd, *(root.strip() for root in more)]
    return [os.path.realpath(os.path.expanduser(root)) for root in named if root]


def _below(path: str, roots: list[str], results: str) -> str | None:
    """The path as `files` takes it; None when workers may not read it or wrote it."""
    real = os.path.realpath(path)
    if real.startswith(os.path.realpath(results) + os.sep):
        return None
    for number, root in enumerate(roots):
        if root not in {os.sep, ""} and real.startswith(root + os.sep):
            return os.path.relpath(real, root) if number == 0 else real
    return None


def _denial(paths: list[str], size: int, prefix: str) -> dict[str, Any]:
    named = dumps(paths[:SHOWN_FILES])
    more = f" (and {len(paths) - SHOWN_FILES} more)" if len(paths) > SHOWN_FILES else ""
    what = paths[0] if len(paths) == 1 else f"{len(paths)} files"
    reason = (
        f"{what}: {size // 1024} KB, about {size // 4000}k tokens. Have a worker read it instead: "
        f'{prefix}delegate(task="what you need from it", files={named}{more}). The content goes '
        "to the worker and only its answer comes back. For exact lines read a part: Read with "
        "offset and limit, or sed -n, head, grep. If the user asked not to delegate, read in parts."
    )
    return {
        "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": "deny",
            "permissionDecisionReason": reason,
        },
        "systemMessage": f"workers-tui kept {what} ({size // 1024} KB) out of the context",
    }
