"""The models and prices that a provider itself lists, kept on disk with their date."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from workers_tui.engine.clock import Clock
from workers_tui.engine.money import MOST_USD
from workers_tui.engine.pricing.price import MILLION, Price, Rates
from workers_tui.home.files import make_private_dir, read_json, write_atomic

log = logging.getLogger(__name__)

FRESH = timedelta(hours=24)
"""A list older than this is asked for again."""

PRICES = {
    "input": "prompt",
    "output": "completion",
    "cache_read": "input_cache_read",
    "cache_write": "input_cache_write",
    "cache_write_1h": "input_cache_write_1h",
}

Fetch = Callable[[str], Awaitable[list[Any]]]
"""Gets the `data` of a provider's /models by the provider's name."""


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """A model as its provider lists it."""

    id: str
    name: str
    price: Price | None
    """None when the provider names no price, or one that depends on its choice."""
    context: int | None


@dataclass(frozen=True, slots=True)
class ModelList:
    """What one provider offered at one time."""

    at: datetime
    source: str
    """The address it came from: another address means another list."""
    models: dict[str, ModelInfo]


class ModelLists:
    """The lists of all providers, from disk at first, then from the providers."""

    def __init__(self, folder: Path, clock: Clock, fetch: Fetch) -> None:
        self._folder = folder
        self._clock = clock
        self._fetch = fetch
        self._lists: dict[str, ModelList] = {}
        self._asking: dict[str, asyncio.Lock] = {}

    def get(self, provider: str) -> ModelList | None:
        """The list as last known."""
        return self._lists.get(provider)

    async def load(self, provider: str, address: str) -> None:
        """Take the list from disk, if it came from the same address."""
        raw = await asyncio.to_thread(read_json, self._path(provider))
        if isinstance(raw, dict) and raw.get("source") == address:
            try:
                at = datetime.fromisoformat(raw["at"]).astimezone(UTC)
            except (KeyError, TypeError, ValueError):
                return
            self._take(provider, address, at, raw.get("data"))

    async def refresh(self, provider: str, address: str, *, force: bool = False) -> None:
        """Ask the provider when the list is missing or old. Raises what the asking raises."""
        async with self._asking.setdefault(provider, asyncio.Lock()):
            if not force and self._is_fresh(provider, address):
                return
            data = await self._fetch(provider)
            at = self._clock.now()
            self._take(provider, address, at, data)
            saved = {"source": address, "at": at.isoformat(), "data": data}
            try:
                await asyncio.to_thread(_save, self._path(provider), saved)
            except OSError as error:  # it is known all the same, until the end of the program
                log.warning("the list of models of %s cannot be kept: %s", provider, error)

    def _is_fresh(self, provider: str, address: str) -> bool:
        """Not too old; one that a wrong clock dated far ahead would stay new for ever."""
        known = self._lists.get(provider)
        if known is None or known.source != address:
            return False
        return abs(self._clock.now() - known.at) < FRESH

    def _take(self, provider: str, address: str, at: datetime, data: Any) -> None:
        source = f"{provider} list {at.date().isoformat()}"
        models = {info.id: info for info in read_models(data, source)}
        self._lists[provider] = ModelList(at, address, models)

    def _path(self, provider: str) -> Path:
        safe = "".join(char if char.isalnum() or char in "-_" else "_" for char in provider)
        return self._folder / f"{safe}.json"


def _save(path: Path, value: object) -> None:
    make_private_dir(path.parent)
    write_atomic(path, json.dumps(value, default=str))  # numbers with a point are decimals here


def read_models(data: Any, source: str) -> Iterator[ModelInfo]:
    """The models in a provider's answer; entries that make no sense are passed over."""
    for entry in data if isinstance(data, list) else ():
        if isinstance(entry, dict) and isinstance(entry.get("id"), str):
            context = _count(entry.get("context_length"))
            name = entry.get("name")
            yield ModelInfo(
                entry["id"],
                name if isinstance(name, str) else entry["id"],
                _price(entry.get("pricing"), source, context),
                context,
            )


def _price(pricing: Any, source: str, context: int | None) -> Price | None:
    if not isinstance(pricing, dict):
        return None
    rates = _rates(pricing)
    if "input" not in rates or "output" not in rates:
        return None
    return Price(
        **rates,
        request=_usd(pricing.get("request")) or Decimal(0),
        steps=tuple(_steps(pricing.get("overrides"), rates)),
        source=source,
        context=context,
    )


def _rates(pricing: dict[str, Any]) -> dict[str, Decimal]:
    found = {name: _usd(pricing.get(key)) for name, key in PRICES.items()}
    return {name: value * MILLION for name, value in found.items() if value is not None}


def _steps(overrides: Any, base: dict[str, Decimal]) -> Iterable[Rates]:
    """Rates of long prompts. One that depends on something else is taken to hold always."""
    steps = []
    for entry in overrides if isinstance(overrides, list) else ():
        if isinstance(entry, dict):
            above = _count(entry.get("min_prompt_tokens")) or 1
            steps.append(Rates(**{**base, **_rates(entry)}, above=above))
    return sorted(steps, key=lambda rates: rates.above)


def _usd(value: Any) -> Decimal | None:
    """USD per token; routers list -1 for `depends`, which is no price."""
    if value is None or isinstance(value, bool):
        return None
    try:
        amount = Decimal(str(value))
    except InvalidOperation:
        return None
    return amount if amount.is_finite() and 0 <= amount <= MOST_USD else None


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None
