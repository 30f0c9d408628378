"""What every billed request cost. Only this module gives usage.jsonl its lines.

Booking itself is the budget's (it ends a hold in the same transaction); here
are corrections, sums, the projection and older files.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import date
from itertools import islice
from pathlib import Path
from typing import Literal
from zoneinfo import ZoneInfo

from workers_tui.engine import facts, ledger_rows, usage_log
from workers_tui.engine.clock import Clock
from workers_tui.engine.errors import WrongUse
from workers_tui.engine.ledger_rows import MIGRATIONS, Entry, Row, Totals
from workers_tui.engine.money import Cost, CostSource, Pico, from_usd
from workers_tui.engine.store import Store
from workers_tui.engine.usage import Usage
from workers_tui.engine.usage_check import count_bad
from workers_tui.engine.usage_lines import NAMELESS, Line, parse

__all__ = ["MIGRATIONS", "Entry", "Ledger", "LedgerHealth", "Totals", "add_costs", "job_sum"]

log = logging.getLogger(__name__)

Axis = Literal["tier", "model", "provider", "project", "session", "kind"]

IMPORT_BATCH = 2000
UNKNOWN_CHARGE = from_usd("0.05")
"""What an imported call of unknown cost counts against its day's cap."""


@dataclass(frozen=True, slots=True)
class LedgerHealth:
    """How the ledger and its file are."""

    path: Path
    rows: int
    bad_rows: int
    """Lines of usage.jsonl that make no sense; they count nowhere."""
    error: str = ""
    """Why usage.jsonl could not be brought up to date, if so."""


class Ledger:
    """Settled requests of all engines of the user."""

    def __init__(self, store: Store, clock: Clock, usage_jsonl: Path) -> None:
        self._store = store
        self._clock = clock
        self._path = usage_jsonl
        self._projecting = asyncio.Lock()
        self._projected = 0
        self._error = ""
        self._open_bells: list[Callable[[], None]] = []

    async def load(self) -> int:
        """Take in rows that usage.jsonl has and the store lacks; return how many.

        There are some when the store was lost, or when an older program wrote
        the file. Then bring the file up to date. Call once at start.
        """
        taken = 0
        if await self._store.read(lambda conn: _is_behind(conn, self._path)):
            taken, _bad = await self._take_in(self._path)
            await self._store.write(_note_projected)
        await self.project()
        return taken

    async def booked(self, row: Row) -> None:
        """A row was committed: put it in the file, and say when its cost is still open."""
        if row.entry.generation_id and row.entry.cost.source in ledger_rows.OPEN:
            for bell in self._open_bells:
                bell()
        await self.project(row.number)

    def on_open(self, bell: Callable[[], None]) -> None:
        """Be told when a call was booked whose cost can be asked for."""
        self._open_bells.append(bell)

    async def correct(self, call: str, cost: Cost) -> None:
        """Book what a call really cost, as a row with the difference."""
        at = self._clock.now()
        row = await self._store.write(
            lambda conn: ledger_rows.correct(conn, call, cost, at, facts.zone_of(conn))
        )
        if row is not None:
            await self.project(row.number)

    async def pending(self) -> list[Entry]:
        """Calls whose cost can still be asked for by generation id, oldest first."""
        rows = await self._store.read(ledger_rows.open_calls)
        return [row.entry for row in rows]

    async def of_job(self, job: str) -> tuple[Usage, Cost | None]:
        """Usage and cost of a job over all its requests; None when nothing was booked."""
        return await self._store.read(lambda conn: job_sum(conn, job))

    async def totals(self, day: date | None = None, *, by: Axis | None = None) -> dict[str, Totals]:
        """Sums of one day or of all days, by name; one sum under "" without `by`."""
        found = await self._store.read(lambda conn: ledger_rows.totals(conn, by or "", day))
        return found if by else {"": found.get("", Totals())}

    async def health(self) -> LedgerHealth:
        """Rows, bad lines and whether the file is up to date."""

        def count(conn: sqlite3.Connection) -> int:
            (rows,) = conn.execute("SELECT count(*) FROM ledger").fetchone()
            return int(rows)

        rows = await self._store.read(count)
        checked = await self._store.read(lambda conn: facts.get(conn, facts.CHECKED))
        bad, state = await asyncio.to_thread(count_bad, self._path, checked)
        if state is not None:
            await self._store.write(
                lambda conn: facts.put(conn, facts.CHECKED, state), durable=False
            )
        return LedgerHealth(self._path, rows, bad, self._error)

    async def project(self, number: int | None = None) -> None:
        """Bring usage.jsonl up to date, at least to the row `number`.

        A file that cannot be written does not stop the work: the store is the
        truth, and `health` tells.
        """
        async with self._projecting:
            if number is not None and number <= self._projected:
                return
            try:
                self._projected = await self._store.read(
                    lambda conn: usage_log.catch_up(conn, self._path)
                )
                self._error = ""
            except OSError as error:
                self._error = f"{self._path} is not up to date: {error.strerror or error}"
                log.warning("%s", self._error)

    async def import_file(self, path: Path) -> tuple[int, int]:
        """Take another usage.jsonl in; return (rows taken, bad lines).

        Rows that are there already are skipped, so it may be done twice.
        """
        if not await asyncio.to_thread(path.is_file):
            raise WrongUse(f"there is no file {path}")
        try:
            taken, bad = await self._take_in(path)
        except OSError as error:
            raise WrongUse(f"cannot read {path}: {error.strerror}") from error
        if await asyncio.to_thread(_same_file, path, self._path):
            await self._store.write(_note_projected)
        await self.project()
        return taken, bad

    async def _take_in(self, path: Path) -> tuple[int, int]:
        taken = bad = 0
        own = await asyncio.to_thread(_same_file, path, self._path)
        lines = _lines_of(path)
        while batch := await asyncio.to_thread(lambda: list(islice(lines, IMPORT_BATCH))):
            good = [found for found in batch if found is not None]
            bad += len(batch) - len(good)
            taken += await self._store.write(lambda conn, good=good: _take(conn, good, own=own))
        return taken, bad


def job_sum(conn: sqlite3.Connection, job: str) -> tuple[Usage, Cost | None]:
    """Usage and cost of a job over all its requests; None when nothing was booked."""
    rows = ledger_rows.of_job(conn, job)
    usage = sum((row.entry.usage for row in rows), Usage())
    return usage, add_costs(_now(rows))


def add_costs(costs: Iterable[Cost]) -> Cost | None:
    """One cost for several; its source is that of the least certain part."""
    all_ = list(costs)
    if not all_:
        return None
    known = [cost.pico for cost in all_ if cost.pico is not None]
    listed = [cost.list_pico for cost in all_ if cost.list_pico is not None]
    sources = {cost.source for cost in all_}
    return Cost(
        sum(known) if known else None,
        next(source for source in LEAST_CERTAIN_FIRST if source in sources),
        sum(listed) if listed else None,
    )


LEAST_CERTAIN_FIRST = (
    CostSource.PENDING,
    CostSource.UNKNOWN,
    CostSource.ESTIMATED,
    CostSource.RECONCILED,
    CostSource.REPORTED,
)


def _now(rows: list[Row]) -> list[Cost]:
    """What each call of these rows costs, corrections taken in."""
    costs: dict[str, Cost] = {}
    for row in rows:
        cost, was = row.entry.cost, costs.get(row.entry.call)
        if was is not None and row.entry.status == ledger_rows.CORRECTION:
            cost = replace(was, pico=(was.pico or 0) + (cost.pico or 0), source=cost.source)
        costs[row.entry.call] = cost
    return list(costs.values())


def _is_behind(conn: sqlite3.Connection, path: Path) -> bool:
    """True when the file has rows the store lacks: none is numbered, or the store was lost."""
    if not path.exists() or not path.stat().st_size:
        return False
    (newest,) = conn.execute("SELECT coalesce(max(number), 0) FROM ledger").fetchone()
    if newest == 0:
        return True
    with path.open("rb") as file:
        return usage_log.find_tail(file).number > int(newest)


def _note_projected(conn: sqlite3.Connection) -> None:
    (newest,) = conn.execute("SELECT coalesce(max(number), 0) FROM ledger").fetchone()
    facts.put(conn, facts.PROJECTED, str(newest))


def _lines_of(path: Path) -> Iterator[Line | None]:
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
            elif line is not None and line.entry.call.startswith(NAMELESS):
                seen[line.entry.call] += 1
                name = f"{line.entry.call}-{seen[line.entry.call]}"
                line = replace(line, entry=replace(line.entry, call=name))
            yield line


def _take(conn: sqlite3.Connection, lines: list[Line], *, own: bool) -> int:
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


def _same_file(one: Path, other: Path) -> bool:
    return one.exists() and other.exists() and one.samefile(other)
