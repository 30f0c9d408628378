"""Time as an argument: UTC now, a monotonic reading and a sleep that tests can hold."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """What the engine asks of time."""

    def now(self) -> datetime:
        """The present moment, aware, in UTC."""
        ...

    def monotonic(self) -> float:
        """Seconds that never run backwards, for durations."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait; a test's clock may return at once."""
        ...


class SystemClock:
    """The machine's own clock."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
