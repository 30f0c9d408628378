"""Makes transcripts for tests: lines as Claude Code writes them, and trees with known truth."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from workers_tui.engine.transcripts.cells import Sums, total
from workers_tui.engine.transcripts.index_query import CellRow
from workers_tui.engine.transcripts.scan import Scanned, scan
from workers_tui.engine.transcripts.transcript_files import Source

ROOT = Path(__file__).parents[2]
DATA = ROOT / "tests" / "data" / "transcripts"
NOON = "2026-06-10T12:00:00.000Z"


def usage(output: int = 5, **more: Any) -> dict[str, Any]:
    """Counts of a small message."""
    return {
        "input_tokens": 10,
        "cache_creation_input_tokens": 100,
        "cache_read_input_tokens": 1000,
        "output_tokens": output,
        **more,
    }


def line(
    message: str | None = "msg_1",
    request: str | None = "req_1",
    *,
    counts: dict[str, Any] | None = None,
    **more: Any,
) -> dict[str, Any]:
    """One assistant line. `more` replaces or adds fields; `model`, `stop`, `content` go inside."""
    inner = {
        "id": message,
        "model": more.pop("model", "claude-opus-4-8"),
        "type": "message",
        "role": "assistant",
        "content": more.pop("content", [{"type": "text", "text": "hello"}]),
        "stop_reason": more.pop("stop", "end_turn"),
        "usage": usage() if counts is None else counts,
    }
    whole = {
        "type": "assistant",
        "sessionId": "s1",
        "cwd": "/home/dev/project",
        "timestamp": NOON,
        "message": inner,
    }
    if request is not None:
        whole["requestId"] = request
    return {**whole, **more}


def dump(value: dict[str, Any]) -> bytes:
    """A line as Claude Code writes it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


class Tree:
    """A configuration directory with transcripts in it."""

    def __init__(self, root: Path, owner: str = "") -> None:
        self.root = root
        self.source = Source(owner, str(root))

    def path(self, name: str = "s1", project: str = "-home-dev-project") -> Path:
        """Where a session's file lies; `name` may hold directories."""
        path = self.root / "projects" / project / f"{name}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def write(self, *lines: dict[str, Any] | bytes, name: str = "s1", **place: str) -> Path:
        """Write a file of these lines."""
        path = self.path(name, **place)
        path.write_bytes(b"".join(raw(one) for one in lines))
        return path

    def add(self, *lines: dict[str, Any] | bytes, name: str = "s1", **place: str) -> Path:
        """Append these lines to a file."""
        path = self.path(name, **place)
        with path.open("ab") as file:
            file.write(b"".join(raw(one) for one in lines))
        return path

    def scan(self) -> Scanned:
        """What the files say."""
        return scan([self.source])

    def sums(self) -> Sums:
        """All of it together."""
        return sums_of(self.scan().rows)


def raw(one: dict[str, Any] | bytes) -> bytes:
    """Bytes stay as they are."""
    return one if isinstance(one, bytes) else dump(one)


def sums_of(rows: list[CellRow]) -> Sums:
    """All cells together."""
    return total(row.sums for row in rows) if rows else Sums()


def make_tree(out: Path, *, seed: int, size: str = "2m", extra: tuple[str, ...] = ()) -> Any:
    """A generated tree with its truth."""
    command = [sys.executable, "-m", "benchmarks.gen_transcripts", "--out", str(out)]
    command += ["--bytes", size]
    command += ["--seed", str(seed), "--mean-file", "120k", *extra]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    return json.loads((out / "truth.json").read_text())


TRUTH = {
    "messages": "messages",
    "input": "input_tokens",
    "output": "output_tokens",
    "creation": "cache_creation_input_tokens",
    "creation_1h": "cache_creation_1h",
    "read": "cache_read_input_tokens",
}


def as_truth(sums: Sums) -> dict[str, int]:
    """Our sums in the names of truth.json."""
    return {name: getattr(sums, ours) for ours, name in TRUTH.items()}


def of_truth(row: dict[str, int]) -> dict[str, int]:
    """A row of truth.json as far as we keep it."""
    return {name: row[name] for name in TRUTH.values()}
