"""What the settings say about money, in the budget's terms."""

from __future__ import annotations

from workers_tui.engine.money import from_usd
from workers_tui.engine.settings.settings import Settings
from workers_tui.engine.spending.budget import BudgetRules


def budget_rules(settings: Settings) -> BudgetRules:
    """The cap and how it is kept."""
    cap = settings.daily_budget_usd
    return BudgetRules(
        cap_pico=None if cap is None else from_usd(cap),
        mode=settings.budget_mode,
        timezone=settings.budget_timezone,
        unknown_charge_pico=from_usd(settings.unknown_charge_usd),
    )
