"""PostToolUse on our tools: one line about this session's split, for the user's eyes only."""

from __future__ import annotations

from workers_tui.home.switches import savings_shown
from workers_tui.hooks.state import State

TYPE_CHECKING = False  # typing costs 4 ms
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


def after_dispatch(given: dict[str, Any], environ: Mapping[str, str]) -> dict[str, Any] | None:
    """The line the engine wrote for this session, if there is one."""
    if not savings_shown(environ):
        return None
    sessions = State(environ).notices().get("sessions")
    session = given.get("session_id")
    if not isinstance(sessions, dict) or not isinstance(session, str):
        return None
    line = sessions.get(session)
    return {"systemMessage": line} if isinstance(line, str) and line else None
