"""Lets most tool calls pass after one glance at the raw input, before json is even imported.

It only ever lets pass: what it cannot judge from the bytes goes on to `large_read`.
"""

from __future__ import annotations

import os

PRINTERS = (b"cat", b"type", b"get-content", b"gc", b"more", b"less")


def passes_at_a_glance(raw: bytes, limit: int) -> bool:
    """True when this input surely reads no file larger than `limit` whole."""
    path = _value(raw, b"file_path")
    if path is None:
        low = raw.lower()
        return b'"command"' in low and not any(word in low for word in PRINTERS)
    if b"\\" in path or raw.count(b'"file_path"') > 1:
        return False  # escapes need a real parser
    try:
        return os.stat(path).st_size <= limit
    except (OSError, ValueError):
        return True  # the tool itself will say that there is no such file


def large_read_limit(gate: str) -> int | None:
    """`large_read_bytes` of the gate file; None without a gate: no engine ever ran here."""
    try:
        with open(gate, "rb") as file:
            raw = file.read(65536)
    except OSError:
        return None
    _, _, tail = raw.partition(b'"large_read_bytes":')
    number = tail.lstrip().split(b",")[0].split(b"}")[0].strip()
    return int(number) if number.isdigit() else 0


def _value(raw: bytes, name: bytes) -> bytes | None:
    """The first string member of this name, as it stands between its quotes."""
    _, found, tail = raw.partition(b'"' + name + b'"')
    if not found:
        return None
    _, _, tail = tail.partition(b'"')
    return tail.partition(b'"')[0]
