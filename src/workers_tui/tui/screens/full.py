"""The right panes opened in full: tiers, budget, savings, events."""

from __future__ import annotations

from collections.abc import Callable

from workers_tui.tui.screens.budget import BudgetScreen
from workers_tui.tui.screens.events import EventsScreen
from workers_tui.tui.screens.face import Face
from workers_tui.tui.screens.savings import SavingsScreen
from workers_tui.tui.screens.tiers import TiersScreen

SCREENS: dict[str, Callable[[], Face]] = {
    "tiers": TiersScreen,
    "budget": BudgetScreen,
    "savings": SavingsScreen,
    "events": EventsScreen,
}


def screen(name: str) -> Face | None:
    """The screen of a pane, None for one that has none."""
    made = SCREENS.get(name)
    return made() if made else None
