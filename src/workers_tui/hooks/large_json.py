"""Single members of a large JSON file, found by their lines, without reading the rest.

Claude Code's own state holds megabytes and is laid out with two blanks a level.
No string holds a line break, so what stands at a level is told by its blanks.
Any other layout is read as a whole.
"""

from __future__ import annotations

from workers_tui.hooks.plain_json import loads

TYPE_CHECKING = False  # typing costs 4 ms
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

LAID_OUT = b'{\n  "'


def member(raw: bytes, path: Sequence[str]) -> Any:
    """The member at this path; None when it is not there or the text makes no sense."""
    try:
        if not raw.startswith(LAID_OUT):
            return _inside(loads(raw), path)
        text = _section(raw, path)
        return None if text is None else loads(text)
    except (ValueError, RecursionError):
        return None


def _inside(value: Any, names: Sequence[str]) -> Any:
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _section(raw: bytes, names: Sequence[str]) -> bytes | None:
    """The text of the member."""
    start, end = 0, len(raw)
    for level, name in enumerate(names, 1):
        margin = b"\n" + b"  " * level
        found = raw.find(margin + _key(name), start, end)
        if found < 0:
            return None
        start = found + len(margin + _key(name))
        end = _end(raw, start, margin)
    return raw[start:end]


def _key(name: str) -> bytes:
    """A member's name as JSON.stringify writes it: only quotes and backslashes are escaped."""
    plain = name.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{plain}": '.encode()


def _end(raw: bytes, start: int, margin: bytes) -> int:
    """Where a value ends: with its own line, or with the bracket that closes it."""
    line_end = raw.find(b"\n", start)
    line_end = len(raw) if line_end < 0 else line_end
    if raw[line_end - 1 : line_end] in {b"{", b"["}:
        closing = {b"{": b"}", b"[": b"]"}[raw[line_end - 1 : line_end]]
        return raw.find(margin + closing, line_end) + len(margin) + 1
    return line_end - raw.endswith(b",", start, line_end)
