"""What Claude Code's hooks run. Standard library only, fail open always.

A hook is a process of its own that Claude Code waits for, so what is not needed
by an event is not imported for it: no pathlib, no dataclasses, no argparse.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # typing costs 4 ms
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    Answer = dict[str, Any] | None
    Hook = Callable[[dict[str, Any], Mapping[str, str]], Answer]

INPUT_LIMIT = 4_000_000
"""Bytes of hook input; Claude Code's own are far smaller."""


def main(arguments: list[str]) -> int:
    """Run one event. Whatever happens, the exit code is 0 and Claude Code goes on."""
    try:
        answer = _run(arguments)
        if answer:
            os.write(1, answer)
    except Exception as error:  # noqa: BLE001 - a hook must never stand in the user's way
        _confess(error)
    return 0


def _run(arguments: list[str]) -> bytes:
    event = arguments[0] if arguments else ""
    if event == "opt-out":
        from workers_tui.hooks.opt_out import opt_out

        return opt_out(arguments[1:], os.environ)
    if event == "headers":
        from workers_tui.hooks.headers import headers

        return headers(os.environ)
    raw = sys.stdin.buffer.read(INPUT_LIMIT + 1)
    if len(raw) > INPUT_LIMIT or (event == "large-read" and _passes(raw)):
        return b""
    hook = _hook(event)
    if hook is None:
        return b""
    from workers_tui.hooks.plain_json import dumps, loads

    given = loads(raw)
    answer = hook(given, os.environ) if isinstance(given, dict) else None
    return dumps(answer).encode() if answer else b""


def _passes(raw: bytes) -> bool:
    from workers_tui.home.where import state_dir
    from workers_tui.hooks.glance import large_read_limit, passes_at_a_glance

    limit = large_read_limit(os.path.join(state_dir(os.environ), "gate.json"))
    return limit is None or passes_at_a_glance(raw, limit)


def _hook(event: str) -> Hook | None:
    """The event's own module, and no other."""
    if event == "large-read":
        from workers_tui.hooks.large_read import large_read

        return large_read
    if event == "session-start":
        from workers_tui.hooks.session_start import session_start

        return session_start
    if event == "after-dispatch":
        from workers_tui.hooks.after_dispatch import after_dispatch

        return after_dispatch
    return None


def _confess(error: Exception) -> None:
    """One line for Claude Code's debug log."""
    try:
        os.write(2, f"workers-tui hook: {type(error).__name__}: {error}\n".encode()[:500])
    except OSError:
        return  # nobody listens
