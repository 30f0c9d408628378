"""Time zones in which no day ends while a test runs."""

from __future__ import annotations

from datetime import UTC, datetime

NOON = 12


def noon() -> str:
    """A zone where it is about noon."""
    return _zone(NOON - _hour())


def two_days() -> tuple[str, str]:
    """A zone, and one where it is still the day before."""
    ahead = NOON - _hour()
    return (_zone(ahead + 13), _zone(ahead)) if ahead <= 1 else (_zone(ahead), _zone(ahead - 13))


def _hour() -> int:
    return datetime.now(UTC).hour


def _zone(east: int) -> str:
    """The zone so many hours east of Greenwich; its name counts the other way."""
    return f"Etc/GMT{-east:+d}"
