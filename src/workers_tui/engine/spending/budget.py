"""The daily cap: reserve, settle, release. Only here is it decided what has room under it.

A hold is on disk before any byte of a request leaves. Booking a request, its
sums and the end of its hold are one transaction, so a crash at any point
leaves either the hold or the bill.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from zoneinfo import ZoneInfo

from workers_tui.engine.board import Board, Key, Topic
from workers_tui.engine.clock import Clock
from workers_tui.engine.errors import BudgetRefused, StoreError, WorkersError
from workers_tui.engine.money import Pico
from workers_tui.engine.spending import holds
from workers_tui.engine.spending.booking import book
from workers_tui.engine.spending.cap_words import why_it_waits, why_refused
from workers_tui.engine.spending.entry import MOST_PICO, Row
from workers_tui.engine.spending.holds import MIGRATIONS, Ask, Hold
from workers_tui.engine.spending.ledger import Entry, Ledger
from workers_tui.engine.spending.spend import BudgetRules, Spend, look
from workers_tui.engine.spending.waiting_line import WaitingLine
from workers_tui.engine.store import facts
from workers_tui.engine.store.store import Store

__all__ = ["MIGRATIONS", "Ask", "Budget", "BudgetRules", "Hold", "Spend"]

log = logging.getLogger(__name__)

OnWait = Callable[[str], Awaitable[None]]
Also = Callable[[sqlite3.Connection], object]
"""What is written in the same transaction, such as the job's next state."""

REFRESH_EVERY = 60.0


@dataclass(frozen=True, slots=True)
class _NoRoom:
    """There will be room only when holds settle."""

    spend: Spend


class Budget:
    """Money set aside and booked, against one cap for all engines of the user."""

    def __init__(
        self,
        store: Store,
        board: Board,
        clock: Clock,
        rules: Callable[[], BudgetRules],
        ledger: Ledger,
        *,
        engine_id: str,
    ) -> None:
        self._store = store
        self._board = board
        self._clock = clock
        self._rules = rules
        self._ledger = ledger
        self._engine = engine_id
        self._zone_setting: str | None = None
        self._line = WaitingLine(clock)
        self._rung: tuple[object, ...] | None = None
        self._turn = 0
        self._closed = False
        self._owed: dict[str, tuple[Hold, Entry] | None] = {}
        """What the store did not take: a bill to book, or None for a hold to let go."""
        self._tasks: set[asyncio.Task[object]] = set()
        store.on_foreign_commit(self._refresh_soon)

    async def reserve(
        self, ask: Ask, on_wait: OnWait | None = None, also: Also | None = None
    ) -> Hold:
        """Set money aside; on return the hold, and what `also` wrote, are on disk.

        Waits while only other holds stand in the way, telling `on_wait` why.
        Raises BudgetRefused when the cap has no room, and what `also` raises.

        Who waits stands in line, so that small requests cannot keep a large one
        waiting for ever: whoever asks this engine after the first was told to
        wait gets no room before it, even where it would fit. Only what holds
        nothing passes. Whoever cannot fit any more is refused at once, wherever
        in line, and holds nobody up.
        """
        told, me = "", object()
        try:
            while True:
                bell = self._line.bell
                answer = await self._try(ask, also, first=self._line.is_first(me))
                if isinstance(answer, Hold):
                    return answer
                self._line.join(me)
                why = why_it_waits(ask.hold_pico, answer.spend)
                if on_wait is not None and why != told:
                    told = why
                    await on_wait(why)
                await self._for_room(bell, answer.spend)
        finally:
            self._line.leave(me)

    async def settle(self, hold: Hold, entry: Entry, also: Also | None = None) -> None:
        """Book what a request cost and end its hold, in one transaction.

        A request that was booked as an estimate before (its engine seemed
        dead) is corrected. On return the row is on disk; its line in
        usage.jsonl follows at once. A WorkersError of `also` is raised when
        the bill is booked: nothing keeps that from happening. A bill that the
        store does not take is offered again each minute.
        """
        try:
            refused = await self._settle(hold, entry, also)
        except StoreError:
            self._owed[hold.call] = (hold, entry)
            raise
        if refused is not None:
            raise refused

    async def _settle(self, hold: Hold, entry: Entry, also: Also | None) -> WorkersError | None:
        rules, now = self._rules(), self._clock.now()

        def work(conn: sqlite3.Connection) -> tuple[Row | None, Spend, WorkersError | None]:
            kept = holds.get(conn, hold.call) or hold
            holds.drop(conn, hold.call)
            zone = self._zone(conn, rules)
            row = book(conn, kept, entry, rules, zone)
            refused = None if also is None else _refusal(conn, also)
            return row, look(conn, now, zone, rules), refused

        row, spend, refused = await self._store.write(work)
        if row is not None:
            self._ledger.booked(row)
        self._show(spend)
        return refused

    async def release(self, hold: Hold) -> None:
        """Let go of money: nothing was sent."""
        await self._let_go(hold.call)

    async def _let_go(self, call: str) -> None:
        try:
            await self._write_and_look(lambda conn: holds.drop(conn, call))
        except StoreError:
            self._owed[call] = None
            raise

    async def note_generation(self, hold: Hold, generation_id: str) -> None:
        """Remember with what a request's bill can be asked for, should we die now."""
        await self._store.write(
            lambda conn: holds.note_generation(conn, hold.call, generation_id), durable=False
        )

    async def refresh(self) -> Spend:
        """Compute today's money anew, show it, and let waiting requests look again."""
        rules = self._rules()
        if rules.timezone != self._zone_setting:
            return await self._write_and_look(lambda _conn: None)
        while True:
            turn, now = self._turn, self._clock.now()
            spend = await self._store.read(partial(_look_only, now=now, rules=rules))
            if turn == self._turn:
                self._show(spend)
                return spend

    async def keep_fresh(self) -> None:
        """Refresh at midnight and every minute, until cancelled; a store may fail meanwhile."""
        while True:
            left = REFRESH_EVERY
            try:
                await self._book_owed()
                self._ledger.write_late()
                spend = await self.refresh()
                left = (spend.resets_at - self._clock.now()).total_seconds()
            except StoreError as error:
                log.warning("cannot look at the day's spend: %s", error)
            await self._clock.sleep(min(REFRESH_EVERY, max(0.5, left)))

    async def _book_owed(self) -> None:
        for call, owed in list(self._owed.items()):
            await (self._let_go(call) if owed is None else self.settle(*owed))
            self._owed.pop(call, None)  # not before: we may be cancelled meanwhile

    async def close(self) -> None:
        """End what runs in the background here; offer the store once more what it did not take."""
        self._closed = True
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        with suppress(StoreError):  # the next engine finds the holds and books estimates
            await self._book_owed()

    async def _try(self, ask: Ask, also: Also | None, *, first: bool) -> Hold | _NoRoom:
        rules, now = self._rules(), self._clock.now()

        def work(conn: sqlite3.Connection) -> tuple[Hold | _NoRoom, Spend]:
            zone = self._zone(conn, rules)
            spend = look(conn, now, zone, rules)
            pico = 0 if rules.cap_pico is None else max(0, ask.hold_pico)
            if not _fits(pico, spend) or (pico and not first):
                return _NoRoom(spend), spend
            hold = Hold(
                ask.call, ask.job, ask.kind, ask.provider, ask.model, spend.day, pico,
                min(max(0, ask.estimate_pico), MOST_PICO), now, self._engine,
            )  # fmt: skip
            holds.add(conn, hold)
            if also is not None:
                also(conn)
            return hold, _with_hold(spend, pico)

        try:
            answer, spend = await self._store.write(work)
        except (asyncio.CancelledError, StoreError):
            # The work may be done all the same: take the hold back behind it.
            self._store.post(
                lambda conn: holds.drop(conn, ask.call),
                on_failure=lambda: self._owed.setdefault(ask.call, None),
            )
            self._refresh_soon()
            raise
        self._show(spend, ring=False)
        return answer

    async def _for_room(self, bell: asyncio.Event, spend: Spend) -> None:
        """Until a hold ends, the cap or the day changes, here or in another process."""
        left = (spend.resets_at - self._clock.now()).total_seconds()
        if left > 0:
            await self._line.wait(bell, left)

    async def _write_and_look(self, change: Callable[[sqlite3.Connection], object]) -> Spend:
        rules, now = self._rules(), self._clock.now()

        def work(conn: sqlite3.Connection) -> Spend:
            change(conn)
            return look(conn, now, self._zone(conn, rules), rules)

        spend = await self._store.write(work)
        self._zone_setting = rules.timezone
        self._show(spend)
        return spend

    def _zone(self, conn: sqlite3.Connection, rules: BudgetRules) -> ZoneInfo:
        """A setting that is new here wins; otherwise what the engines agreed on."""
        changed = rules.timezone if rules.timezone != self._zone_setting else None
        return facts.settle_zone(conn, changed)

    def _show(self, spend: Spend, *, ring: bool = True) -> None:
        self._turn += 1
        self._board.put(Key(Topic.SPEND), spend)
        rung, self._rung = self._rung, _room(spend) if ring else None
        if ring and rung != self._rung:
            self._line.ring()

    async def _refresh_quietly(self) -> None:
        try:
            await self.refresh()
        except StoreError as error:
            log.warning("cannot look at the day's spend: %s", error)

    def _refresh_soon(self) -> None:
        if self._closed:
            return
        loop = asyncio.get_running_loop()
        task: asyncio.Task[object] = loop.create_task(self._refresh_quietly())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _refusal(conn: sqlite3.Connection, also: Also) -> WorkersError | None:
    try:
        also(conn)
    except WorkersError as error:
        return error
    return None


def _look_only(conn: sqlite3.Connection, now: datetime, rules: BudgetRules) -> Spend:
    return look(conn, now, facts.zone_of(conn), rules)


def _room(spend: Spend) -> tuple[object, ...]:
    """What decides whether a waiting request may go."""
    return spend.day, spend.cap_pico, spend.spent_pico, spend.held_pico


def _fits(pico: Pico, spend: Spend) -> bool:
    """True when a hold fits now, False when it may later; raises when it cannot."""
    cap = spend.cap_pico
    if cap is None or pico == 0:
        return True
    if spend.spent_pico + pico > cap:
        raise BudgetRefused(why_refused(pico, spend))
    return spend.spent_pico + spend.held_pico + pico <= cap


def _with_hold(spend: Spend, pico: Pico) -> Spend:
    free = None if spend.free_pico is None else spend.free_pico - pico
    return replace(spend, held_pico=spend.held_pico + pico, holds=spend.holds + 1, free_pico=free)
