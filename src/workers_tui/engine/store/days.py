"""Which day a moment belongs to, for every engine of the user alike.

A call belongs to the day its hold was made. Today never falls behind the
newest booked day, so a clock that moves back does not open the cap twice.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

LOCALTIME = Path("/etc/localtime")


@dataclass(frozen=True, slots=True)
class Today:
    """The day that is booked on now."""

    day: date
    zone: ZoneInfo
    warning: str = ""
    """One line when the clock and the books disagree by more than a day."""

    @property
    def resets_at(self) -> datetime:
        """When the next day begins, in UTC."""
        return day_start(self.day + timedelta(days=1), self.zone)


def today(now: datetime, zone: ZoneInfo, booked: date | None, newest: date | None) -> Today:
    """Today's day.

    `booked` is the newest booked day up to tomorrow's date (see `horizon`),
    `newest` the newest one of all: days beyond the horizon only warn.
    """
    clock_day = now.astimezone(zone).date()
    limit = clock_day + timedelta(days=1)
    day = max(clock_day, booked) if booked is not None and booked <= limit else clock_day
    if newest is not None and newest > limit:
        return Today(
            day, zone, f"calls are booked on {newest}, but the clock says {clock_day}: look at it"
        )
    return Today(day, zone)


def horizon(now: datetime, zone: ZoneInfo) -> date:
    """The latest day that may count as today: one day ahead of the clock."""
    return now.astimezone(zone).date() + timedelta(days=1)


def day_start(day: date, zone: ZoneInfo) -> datetime:
    """The first moment of a day, in UTC."""
    return datetime.combine(day, time.min, zone).astimezone(UTC)


def hour_of(at: datetime, day: date, zone: ZoneInfo) -> int:
    """The local hour under which a call of `day` is shown, 0 to 23."""
    local = at.astimezone(zone)
    if local.date() == day:
        return local.hour
    return 23 if local.date() > day else 0


def find_zone(name: str | None) -> ZoneInfo | None:
    """The zone of this name, or None when there is none."""
    if not name:
        return None
    try:
        return ZoneInfo(name)
    except (KeyError, OSError, ValueError):  # not found is a KeyError
        return None


def local_zone_name() -> str:
    """The machine's zone as a name; UTC when the machine does not tell one."""
    named = os.environ.get("TZ", "").lstrip(":")
    if find_zone(named):
        return named
    parts = LOCALTIME.resolve().parts
    if "zoneinfo" in parts:
        name = "/".join(parts[parts.index("zoneinfo") + 1 :])
        if find_zone(name):
            return name
    return "UTC"
