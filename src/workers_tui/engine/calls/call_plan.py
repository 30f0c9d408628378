"""Everything about a call that is settled before it is sent, and that its attempts share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from workers_tui.engine.calls.answer import Answer
from workers_tui.engine.calls.bounds import Bound, Weight, bound
from workers_tui.engine.calls.prompt import Prompt
from workers_tui.engine.calls.request import build_body
from workers_tui.engine.errors import BudgetRefused, WorkersError
from workers_tui.engine.pricing.price import FREE, Price
from workers_tui.engine.pricing.prices import PriceBook
from workers_tui.engine.settings.providers import Provider
from workers_tui.engine.settings.settings import Settings, Tier


@dataclass(frozen=True, slots=True)
class Plan:
    """A call that is ready to be sent."""

    settings: Settings
    tier_name: str
    tier: Tier
    provider: Provider
    prompt: Prompt
    output_cap: int
    prices: Mapping[str, Price | None]
    """Of every model that may serve."""
    unlisted: str = ""
    """Which of them the provider does not list, with the nearest names."""

    def explain(self, error: WorkersError) -> str:
        """The error, and that a model's name may be wrong where it may."""
        return f"{error}; {self.unlisted}" if self.unlisted else str(error)

    def bound(self) -> Bound:
        """What one attempt may cost. Raises BudgetRefused when that cannot be known."""
        weight = Weight(
            self.prompt.bytes, len(self.prompt.messages), self.output_cap, self.tier.params
        )
        try:
            return bound(self.settings, self.provider, list(self.prices.items()), weight)
        except BudgetRefused as error:
            raise BudgetRefused(self.explain(error)) from None

    def body(self, most: Bound) -> dict[str, Any]:
        """The request as it is sent."""
        return build_body(
            self.settings, self.tier, self.provider, self.prompt, self.output_cap, most
        )

    def served_price(self, answer: Answer, book: PriceBook) -> Price | None:
        """The price of the model that served, which need not be the one asked for."""
        asked = self.tier.model
        served = answer.model or asked
        if served in self.prices:
            return self.prices[served]
        found = book.find(self.provider.name, served)
        if found is FREE:
            return self.prices[asked]  # servers of this machine name files, not models
        if found is None and served.startswith(asked):
            return self.prices[asked]  # the same model with its date
        return found
