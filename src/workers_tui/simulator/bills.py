"""What the simulator billed, to the token and the pico-dollar, and when it tells.

Tests hold a client's ledger against this book. GET /generation answers 404 a
few times first, as the original does.
"""

from __future__ import annotations

import asyncio
import itertools
import secrets
import time
from dataclasses import asdict, dataclass, field, replace
from decimal import Decimal
from typing import Any


@dataclass(frozen=True, slots=True)
class Bill:
    """One billed request."""

    id: str
    """Generation or request id."""
    api: str
    """`chat` or `messages`."""
    asked: str
    """Model asked for."""
    model: str
    """Model that served, and whose price counts."""
    provider: str
    prompt: int
    """All prompt tokens, cached and written ones included."""
    completion: int
    cached: int = 0
    written: int = 0
    reasoning: int = 0
    cost: Decimal = Decimal(0)
    """USD."""
    cancelled: bool = False
    """The client hung up."""
    told: bool = True
    """Whether usage was sent to the client."""
    finish: str | None = None
    streamed: bool = True
    session: str | None = None
    agent: str | None = None
    """Claude Code's subagent id."""
    byok_cost: Decimal | None = None
    ms: int = 0
    at: float = field(default_factory=time.time)


class BillBook:
    """Bills in order of their making."""

    def __init__(self) -> None:
        self._bills: dict[str, Bill] = {}
        self._misses: dict[str, int] = {}
        self._numbers = itertools.count(1)
        self._bell = asyncio.Event()

    def new_id(self, prefix: str = "gen") -> str:
        """A fresh id in the style of the original."""
        return f"{prefix}-{int(time.time())}-{secrets.token_hex(8)}{next(self._numbers):04d}"

    def add(self, bill: Bill, misses: int = 1) -> None:
        """Book it; /generation will say 404 `misses` times first."""
        self._bills[bill.id] = replace(bill, cost=bill.cost.normalize())
        self._misses[bill.id] = misses
        self._bell.set()

    async def wait_for(self, count: int) -> list[Bill]:
        """Wait until the book holds so many bills; returns all of them."""
        while len(self._bills) < count:
            self._bell.clear()
            await self._bell.wait()
        return self.all()

    def all(self) -> list[Bill]:
        """Every bill, oldest first."""
        return list(self._bills.values())

    @property
    def cost(self) -> Decimal:
        """Sum in USD."""
        return sum((bill.cost for bill in self._bills.values()), Decimal(0))

    def ask(self, generation: str) -> Bill | None:
        """The bill, once it is told: None for a while, and for unknown ids."""
        bill = self._bills.get(generation)
        if bill is None:
            return None
        if self._misses[generation] > 0:
            self._misses[generation] -= 1
            return None
        return bill

    def clear(self) -> None:
        """Start a new book."""
        self._bills.clear()
        self._misses.clear()


def bill_json(bill: Bill) -> dict[str, Any]:
    """A bill as GET /sim/bills shows it; money as exact decimal text."""
    raw = asdict(bill)
    raw["cost"] = format(bill.cost, "f")
    raw["byok_cost"] = None if bill.byok_cost is None else format(bill.byok_cost, "f")
    return raw
