"""How much a call may cost before it is sent: what to hold, and what to say to the router.

Strict: an upper bound that no answer can pass. Soft: an honest estimate. The
cap itself is the budget's business.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from workers_tui.engine.calls.outcome import BYTES_PER_TOKEN
from workers_tui.engine.errors import BudgetRefused
from workers_tui.engine.money import Pico, from_usd
from workers_tui.engine.pricing.price import Price, Rates
from workers_tui.engine.settings.providers import Provider
from workers_tui.engine.settings.settings import Settings

MARGIN = Decimal("0.25")
"""Prices may rise by so much between the list and the bill."""
OVERHEAD = 64
"""Tokens that a chat template may add to a request."""
PER_MESSAGE = 16


@dataclass(frozen=True, slots=True)
class Weight:
    """The size of a request."""

    prompt_bytes: int
    messages: int
    output_cap: int
    params: Mapping[str, Any]
    """What the tier sends along; tools and schemas in it become tokens too."""

    @property
    def most_tokens(self) -> int:
        """No tokenizer makes more than one token of a byte."""
        extra = len(json.dumps(self.params)) if self.params else 0
        return self.prompt_bytes + extra + OVERHEAD + PER_MESSAGE * self.messages

    @property
    def likely_tokens(self) -> int:
        return -(-self.prompt_bytes // BYTES_PER_TOKEN)


@dataclass(frozen=True, slots=True)
class Bound:
    """What a request may cost."""

    hold_pico: Pico
    """To reserve under the cap."""
    estimate_pico: Pico
    """To book when nobody ever says what it cost."""
    highest: Rates | None = None
    """The most the router may charge, in USD per million tokens; None when nothing is held."""


def bound(
    settings: Settings,
    provider: Provider,
    priced: Sequence[tuple[str, Price | None]],
    weight: Weight,
) -> Bound:
    """What to hold for a request that any of these models may serve.

    Raises BudgetRefused in strict mode when a price is not known.
    """
    prices = [price for _, price in priced if price is not None]
    unknown = [model for model, price in priced if price is None]
    charge = from_usd(settings.unknown_charge_usd)
    likely = [
        price.bound_pico(weight.likely_tokens, weight.output_cap, Decimal(0)) for price in prices
    ]
    estimate = max([*likely, *([charge] if unknown else [])], default=charge)
    if provider.plan:
        return Bound(0, 0)
    if settings.daily_budget_usd is None:
        return Bound(0, estimate)
    if settings.budget_mode == "soft":
        return Bound(estimate, estimate)
    if unknown:
        raise BudgetRefused(
            f"the price of {unknown[0]} at {provider.name} is not known, so the cap could not "
            "hold; put it in models.json under `prices`, or set `budget_mode: soft`"
        )
    most = max(price.bound_pico(weight.most_tokens, weight.output_cap, MARGIN) for price in prices)
    return Bound(most, estimate, _highest(prices, weight.most_tokens))


def _highest(prices: Sequence[Price], tokens: int) -> Rates:
    rates = [price.highest(tokens) for price in prices]
    return Rates(
        max(rate.input for rate in rates) * (1 + MARGIN),
        max(rate.output for rate in rates) * (1 + MARGIN),
    )
