"""The savings in full, with the formula and what it is made of."""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from textual.app import ComposeResult

from workers_tui.engine.board import Key, Topic
from workers_tui.tui.keymap import bindings
from workers_tui.tui.panes import savings
from workers_tui.tui.panes.frame import Frame
from workers_tui.tui.panes.prose import Prose
from workers_tui.tui.screens.moves import Moves


class SavingsScreen(Moves):
    """One text."""

    BINDINGS = bindings("back")

    def body(self) -> ComposeResult:
        """The text."""
        yield Frame("Savings", Prose(id="explained"), id="full", corners=("top", "top"))

    def on_mount(self) -> None:
        """It scrolls."""
        self.query_one("#explained").focus()

    def show(self, keys: AbstractSet[Key]) -> None:
        """Show the newest figures."""
        self.show_spend(keys)
        view = self.board.get(Key(Topic.SAVINGS)) if self.board else None
        self.query_one("#explained", Prose).say(savings.explained(view))
        self.query_one(Frame).tell(savings.summary(view))
