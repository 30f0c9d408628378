"""The right column of the first screen: tiers, budget, savings, events, and their titles."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from workers_tui.engine.board import Key, Topic
from workers_tui.tui import safe, words
from workers_tui.tui.lines import Part
from workers_tui.tui.panes import budget, savings, tiers
from workers_tui.tui.panes.budget import BudgetView
from workers_tui.tui.panes.events import EventList
from workers_tui.tui.panes.frame import Frame
from workers_tui.tui.panes.savings import SavingsView
from workers_tui.tui.panes.tiers import TierList
from workers_tui.tui.screens.face import Face

if TYPE_CHECKING:
    from workers_tui.engine.calls.tiers import TierView
    from workers_tui.engine.spending.spend import Spend
    from workers_tui.engine.transcripts.savings_view import SavingsView as Savings


class RightColumn(Face):
    """A face with the four small panes."""

    def show_tiers(self) -> None:
        """Show the tiers and what their title says."""
        board = self.board
        if board is None:
            return
        listed: list[TierView] = [
            board.get(Key(Topic.TIER, name)) for name in board.names(Topic.TIER)
        ]
        self.query_one(TierList).show(listed)
        config = board.get(Key(Topic.CONFIG))
        picks = tiers.picks(listed)
        frame = self.query_one("#tiers", Frame)
        if config is not None and config.error:
            frame.tell((safe.one_line(config.error), "bad"))
        elif self.narrow:
            frame.tell(tiers.summary(listed), note=[picks, "  ", ("2", "key")])
        else:
            frame.tell(note=[picks])

    def show_budget(self) -> None:
        """Show the budget and what their title says."""
        spend: Spend | None = self.board.get(Key(Topic.SPEND)) if self.board else None
        if spend is None:
            return
        self.query_one(BudgetView).show(spend, self.now)
        frame = self.query_one("#budget", Frame)
        if self.narrow:
            frame.tell(budget.summary(spend), note=[("3", "key")])
        else:
            frame.tell(note=[budget.burn(spend) or "today"])

    def show_savings(self) -> None:
        """Show the savings and what their title says."""
        view: Savings | None = self.board.get(Key(Topic.SAVINGS)) if self.board else None
        self.query_one(SavingsView).show(view)
        frame = self.query_one("#savings", Frame)
        if self.narrow:
            frame.tell(savings.summary(view), note=[("4", "key")])
        else:
            frame.tell(note=[savings.span(view)])

    def show_events(self) -> None:
        """Show the events and what their title says."""
        if self.engine is None:
            return
        events = self.query_one(EventList)
        events.add(self.engine.events.since(events.newest))
        warnings, errors = events.counts
        said = [(words.plural(errors, "error"), "bad")] if errors else []
        said += [(words.plural(warnings, "warning"), "warn")] if warnings else []
        said += [(f"/{events.typed}", "")] if events.typed else []
        self.query_one("#events", Frame).tell(note=joined(said))

    async def type_event_filter(self) -> None:
        """Filter the events while it is typed."""
        before = self.query_one(EventList).typed
        if await self.prompt("filter events:", before, changed=self.filter_events) is None:
            self.filter_events(before)

    def filter_events(self, typed: str) -> None:
        """Show only the events that hold these words."""
        self.query_one(EventList).filter(typed)
        self.show_events()


def joined(said: Iterable[Part]) -> list[Part]:
    """Parts with dots between them."""
    return [part for pair in said for part in ((" · ", ""), pair)][1:]
