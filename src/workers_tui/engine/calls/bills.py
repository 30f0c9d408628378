"""Asks OpenRouter what a request cost and what a key has spent, in the reconciler's terms."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import Any

from workers_tui.engine.calls.upstream import Upstream
from workers_tui.engine.errors import ConfigError, UpstreamFailed
from workers_tui.engine.money import MOST_USD, Cost, CostSource, Pico, from_usd
from workers_tui.engine.settings.providers import Provider, Providers
from workers_tui.engine.spending.reconcile import KeyUsage

NOT_FOUND = 404


class Bills:
    """The providers' side of the books."""

    def __init__(self, providers: Providers, upstream: Upstream) -> None:
        self._providers = providers
        self._upstream = upstream

    async def cost(self, name: str, generation_id: str) -> Cost | None:
        """What a generation cost; None while the provider does not know. Raises UpstreamFailed."""
        data = await self._get(name, "generation", {"id": generation_id})
        if data is None:
            return None
        cost = _usd(data.get("total_cost"))
        if data.get("is_byok") is True:
            upstream = _usd(data.get("upstream_inference_cost"))
            cost = upstream if cost is None else cost + (upstream or 0)
        return None if cost is None else Cost(cost, CostSource.RECONCILED)

    async def key(self, name: str) -> KeyUsage | None:
        """What the key has spent today; None where the provider cannot tell."""
        data = await self._get(name, "key")
        spent = None if data is None else _usd(data.get("usage_daily"))
        if data is None or spent is None:
            return None
        return KeyUsage(
            spent,
            _usd(data.get("limit")),
            _usd(data.get("limit_remaining")),
            str(data.get("label") or ""),
        )

    async def _get(
        self, name: str, what: str, params: Mapping[str, str] | None = None
    ) -> dict[str, Any] | None:
        provider = self._router(name)
        key = None if provider is None else self._providers.key_or_none(provider)
        if provider is None or (key is None and not provider.loopback):
            return None
        headers = {} if key is None else {"Authorization": f"Bearer {key}"}
        try:
            raw = await self._upstream.get_json(
                name, f"{provider.base_url}/{what}", headers, params
            )
        except UpstreamFailed as error:
            if error.status == NOT_FOUND:
                return None
            raise
        data = raw.get("data") if isinstance(raw, dict) else None
        return data if isinstance(data, dict) else None

    def _router(self, name: str) -> Provider | None:
        """The provider, if it keeps such books."""
        try:
            provider = self._providers.get(name)
        except ConfigError:
            return None
        return provider if provider.routes else None


def _usd(value: Any) -> Pico | None:
    if value is None or isinstance(value, bool):
        return None
    try:
        amount = Decimal(str(value))
    except InvalidOperation:
        return None
    return from_usd(amount) if amount.is_finite() and 0 <= amount <= MOST_USD else None
