"""Counts the lines of usage.jsonl that make no sense, reading only what is new since last time."""

from __future__ import annotations

import json
from pathlib import Path

from workers_tui.engine.spending.usage_lines import is_bad

WORTH_KEEPING = 1024 * 1024
"""Bytes read beyond the last state from which the new one is worth a write."""


def count_bad(path: Path, state: str | None) -> tuple[int, str | None]:
    """Bad lines in the file, and how far that goes when it is worth keeping.

    `state` is what an earlier count gave; it is void when the file was replaced.
    """
    try:
        file = path.open("rb")
    except OSError:  # missing, or of no use: the ledger tells when it cannot write it
        return 0, None
    with file:
        inode = path.stat().st_ino
        start, bad = _usable(state, inode, path.stat().st_size)
        file.seek(start)
        at = start
        for line in file:
            if not line.endswith(b"\n"):
                return bad + is_bad(line), _state(inode, at, bad, start)
            at += len(line)
            bad += is_bad(line)
        return bad, _state(inode, at, bad, start)


def _usable(state: str | None, inode: int, size: int) -> tuple[int, int]:
    fields = json.loads(state) if state else {}
    if fields.get("inode") == inode and fields["at"] <= size:
        return fields["at"], fields["bad"]
    return 0, 0


def _state(inode: int, at: int, bad: int, start: int) -> str | None:
    if at - start < WORTH_KEEPING:
        return None
    return json.dumps({"inode": inode, "at": at, "bad": bad})
