"""What Claude Code would have written before the demo began: the savings are counted from it.

Two sessions of Claude that delegate, and one in which a person worked with the agent
worker by hand.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Session:
    """One session, of which only the counts matter."""

    config: Path
    """Claude Code's configuration directory."""
    name: str
    model: str
    messages: int
    fresh: int
    """Tokens that each message adds to the context."""
    began: timedelta
    """How long ago."""


def write_transcript(session: Session, project: Path) -> None:
    """A message a minute, each with a longer context."""
    folder = session.config / "projects" / str(project).replace("/", "-")
    folder.mkdir(parents=True, exist_ok=True)
    start = datetime.now(UTC) - session.began
    lines = (_line(session, project, number, start) for number in range(session.messages))
    (folder / f"{session.name}.jsonl").write_text("".join(lines), encoding="utf-8")


def _line(session: Session, project: Path, number: int, start: datetime) -> str:
    usage = {
        "input_tokens": 40,
        "output_tokens": 350 + 10 * number,
        "cache_creation_input_tokens": session.fresh,
        "cache_read_input_tokens": 30_000 + session.fresh * number,
    }
    message = {
        "id": f"msg_{session.name}_{number}", "type": "message", "role": "assistant",
        "model": session.model, "content": [], "usage": usage,
    }  # fmt: skip
    line = {
        "type": "assistant", "uuid": f"{session.name}-{number}", "sessionId": session.name,
        "requestId": f"req_{session.name}_{number}", "cwd": str(project),
        "timestamp": (start + timedelta(minutes=number)).isoformat(), "message": message,
    }  # fmt: skip
    return json.dumps(line) + "\n"
