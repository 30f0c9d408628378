"""Takes lines of usage.jsonl into the ledger: ours after a loss, those of older programs."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from zoneinfo import ZoneInfo

from workers_tui.engine.money import Cost, Pico, from_usd
from workers_tui.engine.spending import ledger_rows, usage_log
from workers_tui.engine.spending.usage_lines import Line, parse
from workers_tui.engine.store import facts

BATCH = 2000
"""Lines that are parsed before they are booked."""
UNKNOWN_CHARGE = from_usd("0.05")
"""What an imported call of unknown cost counts against its day's cap."""


def is_behind(conn: sqlite3.Connection, path: Path) -> bool:
    """True when the file has rows the store lacks: none is numbered, or the store was lost."""
    if not path.exists() or not path.stat().st_size:
        return False
    (newest,) = conn.execute("SELECT coalesce(max(number), 0) FROM ledger").fetchone()
    if newest == 0:
        return True
    with path.open("rb") as file:
        return usage_log.find_tail(file).number > int(newest)


def take_own(conn: sqlite3.Connection, path: Path) -> tuple[int, int]:
    """Take in what usage.jsonl itself has more than the store: (rows taken, bad lines).

    In one transaction with the note that these rows stand in the file already:
    a row of another engine in between would never be written there.
    """
    usage_log.catch_up(conn, path)
    taken = bad = 0
    lines = lines_of(path)
    while batch := list(islice(lines, BATCH)):
        good = [line for line in batch if line is not None]
        bad += len(batch) - len(good)
        taken += take(conn, good, own=True)
    (newest,) = conn.execute("SELECT coalesce(max(number), 0) FROM ledger").fetchone()
    facts.put(conn, facts.PROJECTED, str(newest))
    return taken, bad


def take_own_if_behind(conn: sqlite3.Connection, path: Path) -> int:
    """At the start: take in what the store lacks, unless another engine has done so."""
    return take_own(conn, path)[0] if is_behind(conn, path) else 0


def lines_of(path: Path) -> Iterator[Line | None]:
    """Lines of a file; corrections and lines without a call id get names that repeat."""
    seen: Counter[str] = Counter()
    with path.open("rb") as file:
        for text in file:
            if not text.strip():
                continue
            line = parse(text.rstrip(b"\r\n"))
            if line is not None and line.is_correction:
                seen[line.entry.call] += 1
                line = replace(line, ordinal=seen[line.entry.call])
            elif line is not None and line.nameless:
                seen[line.entry.call] += 1
                name = f"{line.entry.call}-{seen[line.entry.call]}"
                line = replace(line, entry=replace(line.entry, call=name))
            yield line


def take(conn: sqlite3.Connection, lines: list[Line], *, own: bool) -> int:
    """Book the lines that are not booked yet; return how many. Our own keep their numbers."""
    zone = facts.zone_of(conn)
    taken = 0
    for line in lines:
        number = line.number if own else None
        if number is not None and _number_taken(conn, number):
            number = None
        if line.is_correction:
            taken += _take_correction(conn, line, number, zone)
        elif ledger_rows.get(conn, line.entry.call) is None:
            day = line.day or line.entry.at.astimezone(zone).date()
            ledger_rows.add(conn, line.entry, day, _charge(line), zone, number)
            taken += 1
    return taken


def _take_correction(
    conn: sqlite3.Connection, line: Line, number: int | None, zone: ZoneInfo
) -> bool:
    """Book a correction of another file, once."""
    call, more = line.entry.call, line.entry.cost
    first = ledger_rows.get(conn, call)
    if first is None or line.ordinal <= ledger_rows.corrections(conn, call):
        return False
    booked, _source, _charge = ledger_rows.booked(conn, first)
    cost = Cost((booked or 0) + (more.pico or 0), more.source)
    return ledger_rows.correct(conn, call, cost, line.entry.at, zone, number) is not None


def _number_taken(conn: sqlite3.Connection, number: int) -> bool:
    return conn.execute("SELECT 1 FROM ledger WHERE number=?", (number,)).fetchone() is not None


def _charge(line: Line) -> Pico:
    if line.charge_pico is not None:
        return line.charge_pico
    return UNKNOWN_CHARGE if line.entry.cost.pico is None else line.entry.cost.pico


def same_file(one: Path, other: Path) -> bool:
    """True when both names lead to one file."""
    return one.exists() and other.exists() and one.samefile(other)
