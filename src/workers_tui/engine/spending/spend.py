"""What today has cost, what is held and what is free: one value, computed in one place."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Literal
from zoneinfo import ZoneInfo

from workers_tui.engine.money import Pico
from workers_tui.engine.spending import day_sums, holds
from workers_tui.engine.store import days
from workers_tui.engine.usage import Usage

Mode = Literal["strict", "soft"]


@dataclass(frozen=True, slots=True)
class BudgetRules:
    """What the user's settings say about money."""

    cap_pico: Pico | None
    """Daily cap; None for no cap."""
    mode: Mode
    """Strict holds an upper bound, soft an estimate."""
    timezone: str | None
    """Zone that days are counted in; None leaves it to the store."""
    unknown_charge_pico: Pico
    """What a call of unknown cost counts against the cap when it has no estimate."""


@dataclass(frozen=True, slots=True)
class Spend:
    """Today's money. Spent, held and free are three numbers."""

    day: date
    timezone: str
    resets_at: datetime
    """When the next day begins, in UTC."""
    cap_pico: Pico | None
    """None: there is no cap."""
    spent_pico: Pico
    """What counts against the cap: known costs, and charges for calls without one."""
    cost_pico: Pico
    """The known part of it: reported + estimated."""
    reported_pico: Pico
    estimated_pico: Pico
    held_pico: Pico
    holds: int
    """Requests on their way."""
    free_pico: Pico | None
    """Cap - spent - held, never below 0; None without a cap."""
    calls: int
    usage: Usage
    pending_calls: int
    unknown_calls: int
    by_hour_pico: tuple[Pico, ...]
    """Spent in each local hour of the day, 24 numbers."""
    burn_pico_per_hour: Pico
    """Spent in the last 60 minutes, as far as whole hours tell."""
    reaches_cap_at: datetime | None
    """When the cap is reached at this rate, if that is today."""
    mode: Mode
    warning: str
    """One line when the clock and the books disagree; else empty."""


def today_of(conn: sqlite3.Connection, now: datetime, zone: ZoneInfo) -> days.Today:
    """The day that is booked on now."""
    limit = days.horizon(now, zone)
    booked = _later(day_sums.newest_day(conn, limit), holds.newest_day(conn, limit))
    newest = _later(day_sums.newest_day(conn), holds.newest_day(conn))
    return days.today(now, zone, booked, newest)


def look(conn: sqlite3.Connection, now: datetime, zone: ZoneInfo, rules: BudgetRules) -> Spend:
    """Today's money as this transaction sees it."""
    today = today_of(conn, now, zone)
    totals = day_sums.day_totals(conn, today.day)
    held, count = holds.held(conn, today.day)
    by_hour = day_sums.hours(conn, today.day)
    cap, spent = rules.cap_pico, totals.charged_pico
    burn = _burn(by_hour, now.astimezone(zone), today.day)
    return Spend(
        day=today.day,
        timezone=zone.key,
        resets_at=today.resets_at,
        cap_pico=cap,
        spent_pico=spent,
        cost_pico=totals.cost_pico,
        reported_pico=totals.reported_pico,
        estimated_pico=totals.estimated_pico,
        held_pico=held,
        holds=count,
        free_pico=None if cap is None else max(0, cap - spent - held),
        calls=totals.calls,
        usage=totals.usage,
        pending_calls=totals.pending_calls,
        unknown_calls=totals.unknown_calls,
        by_hour_pico=by_hour,
        burn_pico_per_hour=burn,
        reaches_cap_at=_reaches(cap, spent, burn, now, today.resets_at),
        mode=rules.mode,
        warning=today.warning,
    )


def _later(one: date | None, other: date | None) -> date | None:
    found = [day for day in (one, other) if day is not None]
    return max(found) if found else None


def _burn(by_hour: tuple[Pico, ...], local: datetime, day: date) -> Pico:
    """This hour's spend, and of the hour before the part that is not yet 60 minutes old."""
    if local.date() != day:
        return 0
    before = by_hour[local.hour - 1] if local.hour else 0
    return by_hour[local.hour] + before * (3600 - local.minute * 60 - local.second) // 3600


def _reaches(
    cap: Pico | None, spent: Pico, burn: Pico, now: datetime, resets_at: datetime
) -> datetime | None:
    if cap is None or burn <= 0 or spent >= cap:
        return None
    hours = (cap - spent) / burn
    if hours > 48:
        return None
    at = now + timedelta(hours=hours)
    return at if at < resets_at else None
