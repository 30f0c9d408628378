"""Amounts of money as whole pico-dollars (1e-12 USD). Only this module rounds.

A price of $0.105 per million tokens is 105,000 pico-dollars a token, so every
list price in the field is a whole number here and sums are exact. What is not
whole is rounded up: a bill is never booked below its worth.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal, InvalidOperation
from enum import StrEnum

Pico = int
"""Pico-dollars: 10**12 of them are one US dollar."""
MOST_DIGITS = 30
"""Of whole dollars: with some more, decimals overflow."""

PER_USD = 10**12

MOST_USD = 10**9
"""A larger amount in an answer or a list says nothing."""


def from_usd(amount: Decimal | str | float) -> Pico:
    """US dollars to pico-dollars, rounded up.

    A float is read by its shortest decimal form, so 0.1 means a tenth exactly.
    Raises ValueError for what is not a finite number, or beyond all reason.
    """
    try:
        value = amount if isinstance(amount, Decimal) else Decimal(str(amount))
    except InvalidOperation:
        raise ValueError(f"not an amount of money: {amount!r}") from None
    if not value.is_finite() or value.adjusted() > MOST_DIGITS:
        raise ValueError(f"not an amount of money: {amount!r}")
    return int((value * PER_USD).to_integral_value(ROUND_CEILING))


def to_usd(pico: Pico) -> Decimal:
    """Pico-dollars to US dollars, exact."""
    return Decimal(pico) / PER_USD


def json_usd(pico: Pico | None) -> float | None:
    """Pico-dollars as the number that JSON outputs carry; None stays None."""
    return None if pico is None else float(to_usd(pico))


class CostSource(StrEnum):
    """Where an amount comes from (contract 4.6)."""

    REPORTED = "reported"
    """The provider said so in the answer."""
    RECONCILED = "reconciled"
    """The provider said so when asked later."""
    ESTIMATED = "estimated"
    """Computed here from tokens and a price, or from what was received."""
    PENDING = "pending"
    """Not known yet; a generation id is there to ask with."""
    UNKNOWN = "unknown"
    """Not known and nobody to ask. Never 0."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What one request or one job cost."""

    pico: Pico | None
    """Pico-dollars; None while nobody knows."""
    source: CostSource
    list_pico: Pico | None = None
    """What it would have cost at list price, where a flat-rate plan paid (marginal cost 0)."""


def text_usd(pico: Pico) -> str:
    """Pico-dollars for people: `$1.07`, `$0.0042`; small amounts keep three digits that count."""
    amount = to_usd(abs(pico))
    places = 2 if amount >= 1 or not amount else max(2, 2 - amount.adjusted())
    text = f"{amount:.{min(places, 12)}f}"
    whole, _, part = text.partition(".")
    return f"{'-' if pico < 0 else ''}${whole}.{part.rstrip('0'):0<2}"


def said(usd: float) -> str:
    """An amount of a JSON output for people, with the digits that count."""
    return text_usd(from_usd(usd))
