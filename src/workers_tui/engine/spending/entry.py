"""One billed request as a value, and its bounds: much of it is what a provider sent."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, date, datetime

from workers_tui.engine.jobs.job import JobKind
from workers_tui.engine.money import Cost, CostSource, Pico
from workers_tui.engine.usage import MOST_TOKENS, Usage

CORRECTION = "correction"
TASK_SHOWN = 120
MOST_PICO = 10**16
"""What one request may cost at most (10,000 dollars); more is a fault of the provider."""
USAGE_PARTS = ("input", "output", "cached", "cache_write", "cache_write_1h", "reasoning")
OPEN = frozenset({CostSource.PENDING, CostSource.ESTIMATED, CostSource.UNKNOWN})
"""Sources that a provider's bill may still replace."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One billed request: each attempt of a call, each request of an agent."""

    call: str
    """Unique id of the request."""
    job: str
    kind: JobKind
    tier: str | None
    """None for agents."""
    model: str
    """The model that served."""
    provider: str
    usage: Usage
    cost: Cost
    ms: int
    task: str
    """Its first 120 characters, on one line."""
    status: str
    """`ok`, `cancelled`, `failed`, `lost`; `correction` for a difference."""
    finish_reason: str | None = None
    project: str | None = None
    session: str | None = None
    generation_id: str | None = None
    """What to ask the provider's bill with."""
    at: datetime = datetime(1970, 1, 1, tzinfo=UTC)
    """When it was booked."""


@dataclass(frozen=True, slots=True)
class Row:
    """An entry as it stands in the table."""

    number: int
    """Order of booking; also in usage.jsonl."""
    entry: Entry
    day: date
    charge_pico: Pico


def plausible(cost: Cost) -> Cost:
    """The cost, or unknown where the amount cannot be one."""
    if cost.pico is None or 0 <= cost.pico <= MOST_PICO:
        return cost
    return Cost(None, CostSource.UNKNOWN, cost.list_pico)


def fit(entry: Entry) -> Entry:
    """The entry as columns can hold it; much of it is what a provider sent."""
    texts = {
        name: text.encode("utf-8", errors="replace").decode()
        for name in _TEXTS
        if (text := getattr(entry, name)) is not None
    }
    texts["task"] = " ".join(texts["task"].split())[:TASK_SHOWN]
    return replace(
        entry,
        usage=_clamped(entry.usage),
        cost=plausible(entry.cost),
        ms=min(max(0, entry.ms), MOST_TOKENS),
        **texts,
    )


_TEXTS = ("call", "job", "tier", "model", "provider", "task", "status", "finish_reason",
          "project", "session", "generation_id")  # fmt: skip


def _clamped(usage: Usage) -> Usage:
    """Counts that a column can hold; a provider may send anything."""
    return Usage(*(min(max(0, getattr(usage, name)), MOST_TOKENS) for name in USAGE_PARTS))
