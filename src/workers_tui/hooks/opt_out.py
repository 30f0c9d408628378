"""`hook opt-out SESSION`: the user said not to delegate, so large reads pass from now on."""

from __future__ import annotations

import os
import time

from workers_tui.hooks.state import State, is_session_id

TYPE_CHECKING = False  # typing costs 4 ms
if TYPE_CHECKING:
    from collections.abc import Mapping

KEPT_SECONDS = 30 * 86_400


def opt_out(arguments: list[str], environ: Mapping[str, str]) -> bytes:
    """Note the opt-out; the session is the argument or the environment's."""
    session = arguments[0] if arguments else environ.get("CLAUDE_CODE_SESSION_ID", "")
    if not is_session_id(session):
        return b"name the session: hook opt-out SESSION_ID\n"
    path = State(environ).opt_out_path(session)
    directory = os.path.dirname(path)
    for private in (os.path.dirname(directory), directory):  # the mode is for the last one only
        os.makedirs(private, mode=0o700, exist_ok=True)
    _forget_old(directory)
    os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))
    return b"Noted: nothing is delegated in this session unless the user asks again.\n"


def _forget_old(directory: str) -> None:
    for entry in os.scandir(directory):
        if entry.is_file() and time.time() - entry.stat().st_mtime > KEPT_SECONDS:
            os.unlink(entry.path)
