"""How long an attempt may take: until it begins, between events, and in all.

Clocks of our own, because comments that keep a connection alive also keep a
read timeout from ever firing.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from workers_tui.engine.errors import UpstreamFailed


@dataclass(frozen=True, slots=True)
class Limits:
    """How long an attempt may take, in seconds."""

    first: float = 180.0
    """Until the first event with data; comments do not count."""
    idle: float = 120.0
    """Between events with data."""
    total: float = 1800.0
    """For all of it."""


class Deadline:
    """When an attempt has taken too long, and which limit that was."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._now = asyncio.get_running_loop().time
        self._start = self._armed = self._now()
        self._last: float | None = None
        self._grain = min(1.0, limits.idle / 20)

    def at(self) -> float:
        """The loop's time at which the next event must have come."""
        total = self._start + self._limits.total
        if self._last is None:
            return min(total, self._start + self._limits.first)
        return min(total, self._last + self._limits.idle)

    def moved(self, timer: asyncio.Timeout) -> None:
        """An event with data came. Timers cost: the clock is set anew once in a while only."""
        first = self._last is None
        self._last = now = self._now()
        if first or now - self._armed > self._grain:
            self._armed = now
            timer.reschedule(self.at())

    def ran_out(self, provider: str) -> UpstreamFailed:
        """The error for the limit that was met."""
        if self._now() >= self._start + self._limits.total:
            return UpstreamFailed(
                f"{provider} was not finished after {self._limits.total:g} s; what came is kept"
            )
        if self._last is None:
            return UpstreamFailed(f"{provider} sent no answer within {self._limits.first:g} s")
        return UpstreamFailed(
            f"{provider} sent nothing for {self._limits.idle:g} s; what came is kept"
        )
