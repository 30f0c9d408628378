"""genai-prices as one of the sources: the only module that knows its shapes.

The table takes 0.4 s to import, so it is loaded in a thread and asked for only
when the better sources are silent.
"""

from __future__ import annotations

import asyncio
from datetime import datetime
from decimal import Decimal
from typing import Any

from workers_tui.engine.pricing.price import Price, Rates

RATES = {
    "input": "input_mtok",
    "output": "output_mtok",
    "cache_read": "cache_read_mtok",
    "cache_write": "cache_write_mtok",
    "cache_write_1h": "cache_write_1h_mtok",
}


class PriceTable:
    """Prices that came with the installation."""

    def __init__(self) -> None:
        self._snapshot: Any = None
        self._loading = asyncio.Lock()
        self._found: dict[tuple[str, str], Price | None] = {}

    @property
    def loaded(self) -> bool:
        """True when `find` can answer."""
        return self._snapshot is not None

    async def load(self) -> None:
        """Import the table once, off the loop."""
        async with self._loading:
            if self._snapshot is None:
                self._snapshot = await asyncio.to_thread(_load)

    def find(self, provider: str, model: str, at: datetime) -> Price | None:
        """The price on that day, or None when the table does not know the model."""
        key = (provider, model)
        if self._snapshot is None:
            return None
        if key not in self._found:
            self._found[key] = _look_up(self._snapshot, provider, model, at)
        return self._found[key]


def _load() -> Any:
    from genai_prices.data_snapshot import get_snapshot

    return get_snapshot()


def _look_up(snapshot: Any, provider: str, model: str, at: datetime) -> Price | None:
    try:
        _, info = snapshot.find_provider_model(model, None, provider, None)
    except LookupError:
        return None
    prices = info.get_prices(at)
    return _price(prices, info.context_window)


def _price(prices: Any, context: int | None) -> Price | None:
    given = {name: getattr(prices, key, None) for name, key in RATES.items()}
    if given["input"] is None or given["output"] is None:
        return None
    base = {name: _base(value) for name, value in given.items() if value is not None}
    request = getattr(prices, "requests_kcount", None)
    return Price(
        **base,
        request=Decimal(0) if request is None else _base(request) / 1000,
        steps=_steps(given, base),
        source="genai-prices",
        context=context,
    )


def _base(value: Any) -> Decimal:
    return Decimal(getattr(value, "base", value))


def _steps(given: dict[str, Any], base: dict[str, Decimal]) -> tuple[Rates, ...]:
    """One set of rates per threshold at which any of the prices changes."""
    tiers = {name: getattr(value, "tiers", []) for name, value in given.items()}
    starts = sorted({tier.start for steps in tiers.values() for tier in steps})
    return tuple(_rates_above(start, tiers, base) for start in starts)


def _rates_above(start: int, tiers: dict[str, Any], base: dict[str, Decimal]) -> Rates:
    rates = dict(base)
    for name, steps in tiers.items():
        reached = [tier.price for tier in steps if tier.start <= start]
        if reached:
            rates[name] = Decimal(reached[-1])
    return Rates(**rates, above=start)
