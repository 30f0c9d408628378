"""What the models in transcripts cost on which day, kept in the index.

models.json wins; then the price table that came with the installation, whose
prices change with the day. Loading that table takes half a second, so what it
said is kept, also that it does not know a model.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from datetime import UTC, date, datetime, time
from decimal import Decimal, InvalidOperation
from sqlite3 import Connection
from typing import Any

from workers_tui.engine.pricing.price import Price, Rates

NOON = time(12, tzinfo=UTC)
DEAREST = Decimal(1_000_000)
"""USD per million tokens, as the settings allow them; their classes load too slowly for here."""
RATES = ("input", "output", "cache_read", "cache_write", "cache_write_1h")
MAKERS = {
    "claude": "anthropic",
    "deepseek": "deepseek",
    "kimi": "moonshotai",
    "glm": "zhipuai",
    "minimax": "minimax",
    "gpt": "openai",
    "gemini": "google",
}
"""Who makes the models whose names begin so; their list price stands for a relay's."""

ModelDay = tuple[str, int]


class ManagerPrices:
    """Prices by model and day (an ordinal); None where no source knows one."""

    def __init__(self, own: Mapping[str, Price] | None = None) -> None:
        self._own = dict(own or {})
        self._table: dict[ModelDay, Price | None] = {}
        self.looked_up = ""
        """The day when the price table was last asked, as ISO."""

    def use(self, own: Mapping[str, Price]) -> bool:
        """Take other prices of the user's own; whether they are others."""
        differs = own != self._own
        self._own = dict(own)
        return differs

    def find(self, model: str, day: int) -> Price | None:
        """The price of a model on a day, of what was loaded."""
        return self._own.get(model) or self._table.get((model, day))

    def known(self, model: str, day: int) -> bool:
        """Whether it was looked up, found or not."""
        return model in self._own or (model, day) in self._table

    @property
    def source(self) -> str:
        """Who said the prices."""
        said = {price.source for price in self._table.values() if price is not None}
        return ", ".join([*(["models.json"] if self._own else []), *sorted(said)])

    def missing(self, conn: Connection, wanted: Iterable[ModelDay]) -> set[ModelDay]:
        """Take what the index knows; returns what the price table must be asked for."""
        rest = {key for key in wanted if key not in self._table and key[0] not in self._own}
        if not rest:
            return rest
        decoded: dict[str | None, Price | None] = {}
        for model, day, text in conn.execute("SELECT model, day, price FROM price"):
            if text not in decoded:
                decoded[text] = price_from_text(text)
            self._table[model, day] = decoded[text]
        row = conn.execute("SELECT value FROM note WHERE name = 'prices looked up'").fetchone()
        self.looked_up = row[0] if row else ""
        return rest - self._table.keys()

    def learn(self, conn: Connection, found: Mapping[ModelDay, Price | None], today: date) -> None:
        """Keep what the price table said."""
        conn.executemany(
            "INSERT OR REPLACE INTO price VALUES (?, ?, ?)",
            [(model, day, price_as_text(price)) for (model, day), price in found.items()],
        )
        self.looked_up = today.isoformat()
        conn.execute(
            "INSERT OR REPLACE INTO note VALUES ('prices looked up', ?)", (self.looked_up,)
        )
        self._table.update(found)


def forget_prices(conn: Connection, version: str) -> None:
    """Ask the table anew when another version of it is installed."""
    row = conn.execute("SELECT value FROM note WHERE name = 'price table'").fetchone()
    if row != (version,):
        conn.execute("DELETE FROM price")
        conn.execute("INSERT OR REPLACE INTO note VALUES ('price table', ?)", (version,))


def ask_table(wanted: Collection[ModelDay]) -> dict[ModelDay, Price | None]:
    """What the installed price table says. For a thread without a loop: it takes half a second."""
    # Late: a command whose prices are all known needs no loop and no table.
    import asyncio

    from workers_tui.engine.pricing.price_table import PriceTable

    async def ask() -> dict[ModelDay, Price | None]:
        tables = {day: PriceTable() for _, day in wanted}
        for table in tables.values():
            await table.load()
        return {
            (model, day): tables[day].find(_maker(model), _bare(model), _noon(day))
            for model, day in wanted
        }

    return asyncio.run(ask())


def _noon(day: int) -> datetime:
    return datetime.combine(date.fromordinal(day), NOON)


def _maker(model: str) -> str:
    if "/" in model:
        return "openrouter"
    lower = model.lower()
    return next((maker for name, maker in MAKERS.items() if lower.startswith(name)), "anthropic")


def _bare(model: str) -> str:
    """The name without a suffix such as `[1m]`."""
    return model.partition("[")[0]


def own_prices(settings: Any) -> dict[str, Price]:
    """The `prices` of a models.json as read; entries that make no sense are left out."""
    given = settings.get("prices") if isinstance(settings, dict) else None
    found = {}
    for model, rates in (given if isinstance(given, dict) else {}).items():
        price = _own_price(rates) if isinstance(rates, dict) else None
        if price is not None:
            found[str(model)] = price
    return found


def _own_price(rates: Mapping[str, Any]) -> Price | None:
    try:
        given = {name: Decimal(str(rates[name])) for name in RATES if rates.get(name) is not None}
        known = all(rate.is_finite() and 0 <= rate <= DEAREST for rate in given.values())
        return _price(given, "models.json") if known else None
    except (InvalidOperation, KeyError):
        return None


def price_as_text(price: Price | None) -> str | None:
    """A price as the index keeps it."""
    if price is None:
        return None
    steps = [{**_texts(step), "above": step.above} for step in price.steps]
    return json.dumps({**_texts(price.base), "steps": steps, "source": price.source})


def _texts(rates: Rates) -> dict[str, str]:
    values = {name: getattr(rates, name) for name in RATES}
    return {name: str(value) for name, value in values.items() if value is not None}


def price_from_text(text: str | None) -> Price | None:
    """What `price_as_text` wrote."""
    if text is None:
        return None
    raw = json.loads(text)
    steps = tuple(Rates(**_numbers(step), above=step["above"]) for step in raw["steps"])
    return replace(_price(_numbers(raw), raw["source"]), steps=steps)


def _price(rates: Mapping[str, Decimal], source: str) -> Price:
    return Price(
        rates["input"],
        rates["output"],
        rates.get("cache_read"),
        rates.get("cache_write"),
        rates.get("cache_write_1h"),
        source=source,
    )


def _numbers(raw: Mapping[str, Any]) -> dict[str, Decimal]:
    return {name: Decimal(raw[name]) for name in RATES if name in raw}
