"""Gathers the numbers of `stats` and `budget show` (contract 4.7)."""

from __future__ import annotations

from typing import Any

from workers_tui.engine.settings.config import ConfigFile
from workers_tui.engine.shapes import stats_json, today_json
from workers_tui.engine.spending.budget import Budget
from workers_tui.engine.spending.ledger import Ledger, Totals


class Stats:
    """Reads the ledger's sums."""

    def __init__(self, budget: Budget, ledger: Ledger, config: ConfigFile) -> None:
        self._budget = budget
        self._ledger = ledger
        self._config = config

    async def all(self) -> dict[str, Any]:
        """Everything."""
        spend = await self._budget.refresh()
        today = await self._ledger.totals(spend.day)
        ever = await self._ledger.totals()
        by_day = await self._ledger.totals(spend.day, by="tier")
        by_tier = await self._ledger.totals(by="tier")
        names = list(dict.fromkeys([*self._config.settings.tiers, *by_tier]))
        tiers = {name: (by_day.get(name, Totals()), by_tier.get(name, Totals())) for name in names}
        return stats_json(spend, today[""], ever[""], tiers, await self._ledger.health())

    async def today(self) -> dict[str, Any]:
        """The `today` object alone."""
        spend = await self._budget.refresh()
        totals = await self._ledger.totals(spend.day)
        return today_json(totals[""], spend)
