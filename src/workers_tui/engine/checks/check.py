"""One line of `doctor`: what was looked at, how it is, and the command that mends it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Check:
    """A finding (contract 4.1)."""

    name: str
    ok: bool
    detail: str
    fix: str | None = None
    """What to do; None when there is nothing to do."""
