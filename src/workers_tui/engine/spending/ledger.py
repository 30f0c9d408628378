"""What every billed request cost. Only this module gives usage.jsonl its lines.

Booking itself is the budget's (it ends a hold in the same transaction); here
are corrections, sums, the projection and older files.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from datetime import date
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Literal

from workers_tui.engine.clock import Clock
from workers_tui.engine.errors import StoreError, WrongUse
from workers_tui.engine.money import Cost
from workers_tui.engine.spending import day_sums, ledger_rows, usage_log
from workers_tui.engine.spending.day_sums import Totals
from workers_tui.engine.spending.entry import OPEN, Entry, Row
from workers_tui.engine.spending.job_costs import add_costs, job_sum
from workers_tui.engine.spending.ledger_rows import MIGRATIONS
from workers_tui.engine.spending.usage_check import count_bad
from workers_tui.engine.spending.usage_import import (
    BATCH,
    is_behind,
    lines_of,
    same_file,
    take,
    take_own,
    take_own_if_behind,
)
from workers_tui.engine.store import facts
from workers_tui.engine.store.store import Store
from workers_tui.engine.usage import Usage

__all__ = ["MIGRATIONS", "Entry", "Ledger", "LedgerHealth", "Totals", "add_costs", "job_sum"]

log = logging.getLogger(__name__)

Axis = Literal["tier", "model", "provider", "project", "session", "kind"]


PATIENCE = 1.0
"""Seconds to wait for lines under way, at the end; the next start writes the others."""


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
        self._behind = False
        """Lines are missing that nobody is writing."""
        self._writing: set[asyncio.Future[None]] = set()
        self._open_bells: list[Callable[[], None]] = []

    async def load(self) -> int:
        """Take in rows that usage.jsonl has and the store lacks; return how many.

        There are some when the store was lost, or when an older program wrote
        the file. Then bring the file up to date. Call once at start.
        """
        taken = 0
        try:
            if await self._store.read(lambda conn: is_behind(conn, self._path)):
                taken = await self._store.write(partial(take_own_if_behind, path=self._path))
        except OSError as error:
            self._complain(error)
        await self.project()
        return taken

    def booked(self, row: Row) -> None:
        """A row was committed: its line follows, and who asks for open costs hears of it.

        Booking does not wait for the line: the store is the truth, and a line that
        the end of the process cuts off is written at the next start.
        """
        if row.entry.generation_id and row.entry.cost.source in OPEN:
            for bell in self._open_bells:
                bell()
        self._write(self._follow(row.number, self._begin()))

    def _write(self, lines: Coroutine[Any, Any, None]) -> None:
        writing = asyncio.ensure_future(lines)
        self._writing.add(writing)
        writing.add_done_callback(self._writing.discard)

    def _begin(self) -> asyncio.Future[int] | None:
        """Start to write before the loop does anything else: replies wait for their line.

        Not where a line is being written: one reader of the store is always left for others.
        """
        if self._writing or self._projecting.locked():
            return None
        try:
            return self._store.begin_read(self._catch_up)
        except StoreError:  # it is closed, but the row is booked: nobody may take it as refused
            return None

    async def _follow(self, number: int | None, begun: asyncio.Future[int] | None = None) -> None:
        try:
            await self.project(number, begun)
        except StoreError as error:
            self._behind = True
            log.warning("usage.jsonl is not up to date: %s", error)

    def write_late(self) -> None:
        """Begin to write what could not be written when it was booked, if there is any."""
        if self._behind:
            self._write(self._follow(None))

    async def written(self, patience: float = PATIENCE) -> None:
        """Wait for the lines under way; a file with much to catch up keeps nobody for long."""
        if self._writing:
            await asyncio.wait(set(self._writing), timeout=patience)

    async def close(self) -> None:
        """Write the lines that anything kept from being written till now."""
        self._write(self._follow(None))
        await self.written()

    def on_open(self, bell: Callable[[], None]) -> None:
        """Be told when a call was booked whose cost can be asked for."""
        self._open_bells.append(bell)

    async def correct(
        self, call: str, cost: Cost, also: Callable[[sqlite3.Connection], object] | None = None
    ) -> None:
        """Book what a call really cost, as a row with the difference.

        `also` is written in the same transaction, after it.
        """
        at = self._clock.now()

        def work(conn: sqlite3.Connection) -> Row | None:
            row = ledger_rows.correct(conn, call, cost, at, facts.zone_of(conn))
            if also is not None:
                also(conn)
            return row

        row = await self._store.write(work)
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
        found = await self._store.read(lambda conn: day_sums.totals(conn, by or "", day))
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

    async def project(
        self, number: int | None = None, begun: asyncio.Future[int] | None = None
    ) -> None:
        """Bring usage.jsonl up to date, at least to the row `number`.

        A file that cannot be written does not stop the work: the store is the
        truth, and `health` tells. `begun` is the work where it goes on already.
        """
        async with self._projecting:
            if begun is None and number is not None and number <= self._projected:
                return
            try:
                self._projected = await (begun or self._store.begin_read(self._catch_up))
                self._error, self._behind = "", False
            except OSError as error:
                self._complain(error)

    def _catch_up(self, conn: sqlite3.Connection) -> int:
        return usage_log.catch_up(conn, self._path)

    async def import_file(self, path: Path) -> tuple[int, int]:
        """Take another usage.jsonl in; return (rows taken, bad lines).

        Rows that are there already are skipped, so it may be done twice.
        """
        if not await asyncio.to_thread(path.is_file):
            raise WrongUse(f"there is no file {path}")
        try:
            if await asyncio.to_thread(same_file, path, self._path):
                return await self._store.write(partial(take_own, path=path))
            taken, bad = await self._take_in(path)
        except OSError as error:
            raise WrongUse(f"cannot read {path}: {error.strerror or error}") from error
        await self.project()
        return taken, bad

    async def _take_in(self, path: Path) -> tuple[int, int]:
        """Book the lines of another file, in batches, so that others may book in between."""
        taken = bad = 0
        lines = lines_of(path)
        while batch := await asyncio.to_thread(lambda: list(islice(lines, BATCH))):
            good = [line for line in batch if line is not None]
            bad += len(batch) - len(good)
            taken += await self._store.write(partial(take, lines=good, own=False))
        return taken, bad

    def _complain(self, error: OSError) -> None:
        self._behind = True
        self._error = f"{self._path} is not up to date: {error.strerror or error}"
        log.warning("%s", self._error)
