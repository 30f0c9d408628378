"""The savings in full, the formula one key away."""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from textual.app import ComposeResult

from workers_tui.engine.board import Key, Topic
from workers_tui.tui.keymap import bindings
from workers_tui.tui.panes import savings
from workers_tui.tui.panes.frame import Frame
from workers_tui.tui.panes.savings_full import SavingsFull
from workers_tui.tui.screens.moves import Moves


class SavingsScreen(Moves):
    """Tables, and how they are counted."""

    BINDINGS = bindings("formula", "back")

    def body(self) -> ComposeResult:
        """One list of both."""
        yield Frame("Savings", SavingsFull(), id="full", corners=("top", "top"))

    def opened(self) -> None:
        """It scrolls."""
        self.query_one(SavingsFull).focus()

    def show(self, keys: AbstractSet[Key]) -> None:
        """Show the newest figures."""
        self.show_spend(keys)
        view = self.board.get(Key(Topic.SAVINGS)) if self.board else None
        if not keys or Key(Topic.SAVINGS) in keys:
            self.query_one(SavingsFull).show(view)
            self._tell()

    def _tell(self) -> None:
        view = self.board.get(Key(Topic.SAVINGS)) if self.board else None
        note = " shows the figures" if self.query_one(SavingsFull).explains else " explains"
        self.query_one(Frame).tell(savings.basis(view), note=[("i", "key"), note])

    def action_formula(self) -> None:
        """How the figures are counted, or the figures again."""
        full = self.query_one(SavingsFull)
        full.explain(not full.explains)
        self._tell()

    def action_back(self) -> None:
        """From the formula to the figures, then leave."""
        if self.query_one(SavingsFull).explains:
            self.action_formula()
        else:
            super().action_back()
