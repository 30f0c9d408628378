"""Claude Code transcripts of a few messages, as they lie on disk."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def transcript(config: Path, name: str, **usage: int) -> Path:
    """One session of one assistant message below a Claude Code directory."""
    folder = config / "projects" / "-srv-app"
    folder.mkdir(parents=True, exist_ok=True)
    counts = {
        "input_tokens": usage.get("input", 0),
        "output_tokens": usage.get("output", 0),
        "cache_creation_input_tokens": usage.get("cache_creation", 0),
        "cache_read_input_tokens": usage.get("cache_read", 0),
    }
    message: dict[str, Any] = {
        "id": f"msg_{name}",
        "type": "message",
        "role": "assistant",
        "model": "claude-sonnet-4-5-20250929",
        "content": [{"type": "text", "text": "Done."}],
        "stop_reason": "end_turn",
        "usage": counts,
    }
    row = {
        "type": "assistant",
        "sessionId": f"session-{name}",
        "uuid": f"uuid-{name}",
        "requestId": f"req_{name}",
        "timestamp": "2026-11-02T10:00:00.000Z",
        "cwd": "/srv/app",
        "message": message,
    }
    path = folder / f"session-{name}.jsonl"
    path.write_text(json.dumps(row) + "\n")
    return path
