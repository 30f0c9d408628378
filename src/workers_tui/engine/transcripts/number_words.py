"""Tokens and dollars as the commands and notices say them, in one way."""

from __future__ import annotations

from workers_tui.engine.money import Pico, to_usd


def count(number: int) -> str:
    """Tokens: 840, 1.2k, 35k, 363k, 1.2M."""
    for unit, size in (("G", 10**9), ("M", 10**6), ("k", 10**3)):
        if abs(number) >= size:
            value = number / size
            words = f"{value:.1f}".removesuffix(".0") if abs(value) < 100 else f"{value:.0f}"
            return words + unit
    return str(number)


def plural(number: int, noun: str) -> str:
    """A number and what it counts: 1 job, 2 jobs, 1,200 searches."""
    ending = "" if number == 1 else "es" if noun.endswith(("s", "ch")) else "s"
    return f"{number:,} {noun}{ending}"


def money(pico: Pico | None) -> str:
    """Dollars with cents, below a cent with four digits; `?` when nobody knows."""
    if pico is None:
        return "?"
    usd = to_usd(abs(pico))
    sign = "-" if pico < 0 else ""
    return f"{sign}${usd:.4f}" if 0 < usd < 1 and usd * 100 % 1 else f"{sign}${usd:,.2f}"


def signed(pico: Pico | None) -> str:
    """Dollars that are gained or lost."""
    return money(pico) if pico is None or pico < 0 else f"+{money(pico)}"
