"""All events of this run, with a filter."""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from textual import on
from textual.app import ComposeResult

from workers_tui.engine.board import Key, Topic
from workers_tui.tui import words
from workers_tui.tui.deeds import asks
from workers_tui.tui.keymap import bindings
from workers_tui.tui.lines import LineView
from workers_tui.tui.panes.events import EventList
from workers_tui.tui.panes.frame import Frame
from workers_tui.tui.screens.moves import Moves


class EventsScreen(Moves):
    """One list."""

    BINDINGS = bindings("back", "filter", "open")

    def __init__(self) -> None:
        super().__init__()
        self._typed = ""

    def body(self) -> ComposeResult:
        """The list."""
        yield Frame("Events", EventList(), id="full", corners=("top", "top"))

    def opened(self) -> None:
        """It has the focus."""
        self.query_one(EventList).focus()

    def show(self, keys: AbstractSet[Key]) -> None:
        """Take newer events."""
        self.show_spend(keys)
        if self.engine is None or not any(key.topic is Topic.EVENT for key in keys):
            return
        events = self.query_one(EventList)
        events.add(self.engine.events.since(events.newest))
        self._tell()

    def _tell(self) -> None:
        warnings, errors = self.query_one(EventList).counts
        said = f"{words.plural(errors, 'error')} · {words.plural(warnings, 'warning')}"
        self.query_one(Frame).tell(said, note=[f"/{self._typed}"] if self._typed else [])

    @asks
    async def action_filter(self) -> None:
        """Filter while it is typed."""
        events, before = self.query_one(EventList), self._typed
        typed = await self.prompt("filter:", before, changed=events.filter)
        self._typed = before if typed is None else typed.strip()
        events.filter(self._typed)
        self._tell()

    def action_back(self) -> None:
        """Drop the filter, then leave."""
        if self._typed:
            self._typed = ""
            self.query_one(EventList).filter("")
            self._tell()
        else:
            super().action_back()

    @on(LineView.Chosen)
    def action_open(self) -> None:
        """Open the job that the event is about."""
        event = self.query_one(EventList).selected
        if event is not None and event.job:
            from workers_tui.tui.screens.detail import DetailScreen  # loaded when first wanted

            self.app.push_screen(DetailScreen(event.job))
