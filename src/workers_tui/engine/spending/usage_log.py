"""usage.jsonl: the ledger as lines that other programs read (contract 4.6).

The store is the truth and this file its projection: appended in order under a
file lock, after the commit. Each line carries the number of its row, so the
file itself says how far it is; a torn last line of ours is cut and written anew.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import sqlite3
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from workers_tui.engine.money import json_usd
from workers_tui.engine.spending import ledger_rows
from workers_tui.engine.spending.entry import Row
from workers_tui.engine.spending.usage_lines import OURS
from workers_tui.engine.store import facts

BLOCK = 16 * 1024
BATCH = 2000
PATIENCE = 2.0
"""Seconds to wait for another process that appends."""


@dataclass(frozen=True, slots=True)
class Tail:
    """Where a file stands."""

    number: int
    """Row number of its last line of ours; 0 when there is none."""
    size: int
    """Where the next line goes."""
    missing_newline: bool = False
    """The last line is whole but for its end."""


def catch_up(conn: sqlite3.Connection, path: Path) -> int:
    """Append every row that the file lacks; return the number of the newest row in it.

    Raises OSError when the file cannot be written.
    """
    with locked(path) as file:
        tail = find_tail(file)
        done = tail.number
        if tail.size:
            done = max(done, int(facts.get(conn, facts.PROJECTED) or 0))
        file.truncate(tail.size)
        file.seek(tail.size)
        if tail.missing_newline:
            file.write(b"\n")
        while rows := ledger_rows.after(conn, done, BATCH):
            file.write(b"".join(line(row) for row in rows))
            file.flush()
            done = rows[-1].number
        file.flush()
    return done


def line(row: Row) -> bytes:
    """One row as a line of the file."""
    entry, usage = row.entry, row.entry.usage
    fields: dict[str, object] = {
        "seq": row.number,
        "ts": entry.at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "call": entry.call,
        "job": entry.job,
        "kind": entry.kind.value,
        "tier": entry.tier,
        "model": entry.model,
        "in": usage.input,
        "out": usage.output,
        "cost": json_usd(entry.cost.pico),
        "ms": entry.ms,
        "task": entry.task,
        "provider": entry.provider,
        "cached": usage.cached,
        "reasoning": usage.reasoning,
        "cost_source": entry.cost.source.value,
        "status": entry.status,
        "finish_reason": entry.finish_reason,
        "project": entry.project,
        "session": entry.session,
        "day": row.day.isoformat(),
    }
    extra = {
        "cache_write": usage.cache_write,
        "cache_write_1h": usage.cache_write_1h,
        "generation": entry.generation_id,
        "list_usd": json_usd(entry.cost.list_pico),
        "charge_usd": None if row.charge_pico == entry.cost.pico else json_usd(row.charge_pico),
    }
    fields.update({name: value for name, value in extra.items() if value})
    return json.dumps(fields, separators=(",", ":")).encode() + b"\n"


@contextlib.contextmanager
def locked(path: Path) -> Iterator[BinaryIO]:
    """The file, made if it is missing, while nobody else of ours writes to it."""
    end = time.monotonic() + PATIENCE
    while True:
        file = os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o600), "r+b")
        try:
            if _lock(file, end) and _is_at(path, file):
                yield file
                return
        finally:
            file.close()


def _lock(file: BinaryIO, end: float) -> bool:
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            if time.monotonic() > end:
                raise TimeoutError("another program keeps usage.jsonl locked") from None
            time.sleep(0.0005)


def _is_at(path: Path, file: BinaryIO) -> bool:
    """False when somebody put another file in its place while we waited."""
    with contextlib.suppress(FileNotFoundError):
        return os.path.samestat(path.stat(), os.fstat(file.fileno()))
    return False


def find_tail(file: BinaryIO) -> Tail:
    """Look backwards for the last line of ours, and judge the end of the file."""
    size = file.seek(0, os.SEEK_END)
    data, start = b"", size
    while True:
        lines = data.split(b"\n")
        whole = lines if start == 0 else lines[1:]
        number = next((n for text in reversed(whole) if (n := _number(text)) is not None), None)
        if number is not None or start == 0:
            break
        step = min(start, max(BLOCK, len(data)))
        start -= step
        file.seek(start)
        data = file.read(step) + data
    torn = data.rpartition(b"\n")[2]
    if not torn:
        return Tail(number or 0, size)
    if torn.startswith(OURS[: len(torn)]) and _number(torn) is None:
        return Tail(number or 0, size - len(torn))
    return Tail(number or 0, size, missing_newline=True)


def _number(text: bytes) -> int | None:
    """The row number of a line of ours; None for every other line and for torn ones."""
    if not text.startswith(OURS):
        return None
    try:
        fields = json.loads(text)
    except (ValueError, RecursionError):
        return None
    number = fields.get("seq")
    return number if type(number) is int and number > 0 else None
