"""What a token costs, and who says so: models.json, the provider's list, genai-prices.

Nothing here guesses: a model that no source knows has no price. Every price
carries the name of its source.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal

from workers_tui.engine.clock import Clock
from workers_tui.engine.errors import WorkersError
from workers_tui.engine.pricing.model_lists import ModelInfo, ModelLists
from workers_tui.engine.pricing.price import FREE, Price, Rates
from workers_tui.engine.pricing.price_table import PriceTable
from workers_tui.engine.settings.names import nearest_words
from workers_tui.engine.settings.providers import Provider, Providers
from workers_tui.engine.settings.settings import ModelPrice, Settings

__all__ = ["FREE", "ModelInfo", "Price", "PriceBook", "Rates"]

log = logging.getLogger(__name__)

PATIENCE = 5.0
"""A call waits no longer than this for a list of prices."""
ASK_AGAIN = 600.0
"""Seconds after which a provider that gave no list is asked once more."""
VARIANTS = (":nitro", ":floor", ":exacto")
"""Endings that choose among the endpoints of the same model."""
DATE = re.compile(r"[-@:]\d{4}[\d-]*$")
"""Providers often name the model that served with its date."""


class PriceBook:
    """The one answer to what a model costs."""

    def __init__(
        self,
        settings: Callable[[], Settings],
        providers: Providers,
        lists: ModelLists,
        clock: Clock,
    ) -> None:
        self._settings = settings
        self._providers = providers
        self._lists = lists
        self._clock = clock
        self._table = PriceTable()
        self._asked: dict[str, float] = {}
        self._asking: dict[str, asyncio.Lock] = {}

    def find(self, provider: str, model: str) -> Price | None:
        """The price of a model, or None when no source knows it.

        `provider` is a key of `providers`, or a name that genai-prices knows
        (`anthropic`, `openrouter`).
        """
        own = self._own(model)
        if own is not None:
            return replace(_from_settings(own), context=self._listed_context(provider, model))
        endpoint = self._providers.find(provider)
        listed = self._listed(provider, model)
        if listed is not None or (endpoint and endpoint.free_unless_priced):
            return listed or FREE
        if model.endswith(":free"):
            return Price(Decimal(0), Decimal(0), source="free variant")
        found = self._table.find(_table_name(provider, endpoint), _bare(model), self._clock.now())
        if found is None and endpoint is not None and endpoint.loopback:
            return FREE
        return found

    async def ready(self, provider: str, model: str) -> Price | None:
        """The price, after asking the better sources first if that was not done lately.

        Never raises: a source that does not answer is a source that is silent.
        """
        if self._own(model) is not None:
            return self.find(provider, model)
        await self.freshen(provider)
        if self._listed(provider, model) is None:
            await self._table.load()
        return self.find(provider, model)

    async def freshen(self, provider: str) -> None:
        """Ask the provider for its list if ours is old, but not again and again.

        A remote provider without a key is not in use: it is not bothered.
        """
        endpoint = self._providers.find(provider)
        if endpoint is None or not (endpoint.loopback or self._providers.key_or_none(endpoint)):
            return
        async with self._asking.setdefault(provider, asyncio.Lock()):  # the others wait for it
            now = self._clock.monotonic()
            if now - self._asked.get(provider, -ASK_AGAIN) < ASK_AGAIN:
                return
            try:
                async with asyncio.timeout(PATIENCE):
                    await self.refresh(provider)
            except (WorkersError, TimeoutError) as error:
                log.info("no list of models from %s: %s", provider, error or "it took too long")
            self._asked[provider] = now

    async def load_table(self) -> None:
        """Make genai-prices answer; it takes half a second in a thread, and 7 MiB for good."""
        await self._table.load()

    async def refresh(self, provider: str, *, force: bool = False) -> None:
        """Ask the provider for its list if ours is old. Raises UpstreamFailed."""
        endpoint = self._providers.get(provider)
        if self._lists.get(provider) is None:
            await self._lists.load(provider, endpoint.base_url)
        await self._lists.refresh(provider, endpoint.base_url, force=force)

    async def load_lists(self) -> None:
        """Take what is on disk for every provider, without asking anyone."""
        for endpoint in self._providers.all():
            await self._lists.load(endpoint.name, endpoint.base_url)

    def models(self, provider: str) -> list[ModelInfo]:
        """What the provider lists, as last known."""
        known = self._lists.get(provider)
        return list(known.models.values()) if known else []

    def nearest(self, provider: str, model: str, count: int = 3) -> list[str]:
        """The listed models whose names are most like this one; none when it is listed."""
        known = self._lists.get(provider)
        if known is None or model in known.models or not known.models:
            return []
        return nearest_words(model, known.models, count)

    def _own(self, model: str) -> ModelPrice | None:
        """The user's own price; one without a date holds for the dated model too."""
        prices = self._settings().prices
        return prices.get(model) or prices.get(DATE.sub("", model))

    def unlisted(self, provider: str, model: str) -> str:
        """That the provider's list lacks a model, and the names like it; empty when it may not."""
        near = self.nearest(provider, model)
        return f"{provider} does not list {model}; nearest: {', '.join(near)}" if near else ""

    def _listed(self, provider: str, model: str) -> Price | None:
        known = self._lists.get(provider)
        if known is None:
            return None
        info = known.models.get(model) or known.models.get(_bare(model))
        return info.price if info else None

    def _listed_context(self, provider: str, model: str) -> int | None:
        known = self._lists.get(provider)
        info = known.models.get(model) if known else None
        return info.context if info else None


def _from_settings(own: ModelPrice) -> Price:
    return Price(
        own.input,
        own.output,
        own.cache_read,
        own.cache_write,
        own.cache_write_1h,
        source="models.json",
    )


def _bare(model: str) -> str:
    """The model without an ending that only chooses among its endpoints."""
    for ending in VARIANTS:
        if model.endswith(ending):
            return model.removesuffix(ending)
    return model


def _table_name(provider: str, endpoint: Provider | None) -> str:
    return "openrouter" if endpoint is not None and endpoint.kind == "openrouter" else provider
