"""Tokens, bytes and dollars in words: one language for commands, notices and the screen.

The screen has more words than these; it takes these from here.
"""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal

from workers_tui.engine.money import Pico, to_usd

STEPS = (("k", 10**3), ("M", 10**6), ("G", 10**9))


def count(number: int) -> str:
    """Tokens: 840, 1.2k, 35k, 363k, 1.2M."""
    if number < 0:
        return f"-{count(-number)}"
    return str(number) if number < 1000 else _scaled(number)


def size(number: int) -> str:
    """Bytes: 840 B, 310 KB, 1.1 GB."""
    if number < 1000:
        return f"{number} B"
    words = _scaled(number).upper()
    return f"{words[:-1]} {words[-1]}B"


def _scaled(number: int) -> str:
    """With the unit in which it has two or three digits."""
    for unit, one in STEPS:
        if number < one * 9_950 // 1000:
            return f"{number / one:.1f}{unit}"
        if number < one * 999_500 // 1000:
            return f"{number / one:.0f}{unit}"
    return f"{number / 10**12:.1f}T"


def plural(number: int, noun: str) -> str:
    """A number and what it counts: 1 job, 2 jobs, 1,200 searches."""
    ending = "" if number == 1 else "es" if noun.endswith(("s", "ch")) else "s"
    return f"{number:,} {noun}{ending}"


def money(pico: Pico | None) -> str:
    """Dollars: $1.07, below a cent .0004, nothing $0.00; `?` when nobody knows."""
    if pico is None:
        return "?"
    usd = to_usd(abs(pico))
    sign = "-" if pico < 0 else ""
    if not usd or usd >= Decimal("0.01"):
        return f"{sign}${usd.quantize(Decimal('0.01'), ROUND_HALF_UP):,}"
    shown = usd.quantize(Decimal("0.0001"), ROUND_HALF_UP)
    if usd and not shown:
        shown = Decimal("0.0001")  # what is not nothing is never shown as nothing
    return sign + f"{shown:f}".removeprefix("0")


def signed(pico: Pico | None) -> str:
    """Dollars that are gained or lost."""
    return money(pico) if pico is None or pico < 0 else f"+{money(pico)}"
