"""notices.json: savings lines that the engine writes and Claude Code's hooks print.

The shape is `{"schema": 1, "all_time": line, "sessions": {session id: line}}`.
Hooks read it in a process of their own, so this is standard library only.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field

from workers_tui.home.files import read_json, write_atomic
from workers_tui.home.places import Home

SCHEMA = 1


@dataclass(frozen=True, slots=True)
class Notices:
    """The lines worth printing; an empty one is not printed."""

    all_time: str = ""
    """What delegation saved since the first transcript."""
    sessions: dict[str, str] = field(default_factory=dict)
    """What it saved in each of the newest sessions that delegated."""

    def line(self, session: str | None) -> str:
        """The line for a session, or nothing."""
        return self.sessions.get(session or "", "")


def read_notices(home: Home) -> Notices:
    """What the file says; empty when it is missing or makes no sense."""
    raw = read_json(home.notices_json)
    if not isinstance(raw, dict):
        return Notices()
    all_time, sessions = raw.get("all_time"), raw.get("sessions")
    return Notices(
        all_time if isinstance(all_time, str) else "",
        {str(key): line for key, line in sessions.items() if isinstance(line, str)}
        if isinstance(sessions, dict)
        else {},
    )


def write_notices(home: Home, notices: Notices) -> None:
    """Replace the file. Raises OSError."""
    value = {"schema": SCHEMA, "all_time": notices.all_time, "sessions": notices.sessions}
    write_atomic(home.notices_json, json.dumps(value, ensure_ascii=False) + "\n", mode=0o600)
