"""The dashboard on a stand-in engine, driven by a pilot."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pytest
from tests.tui.fakes import FakeEngine, fill
from textual.pilot import Pilot

from workers_tui.home.places import Home
from workers_tui.tui.app import DashboardApp
from workers_tui.tui.lines import LineView
from workers_tui.tui.panes.hints import Hints


class Desk:
    """A running dashboard, its engine, and short words for what tests do with them."""

    def __init__(self, app: DashboardApp, engine: FakeEngine, pilot: Pilot[int]) -> None:
        self.app = app
        self.engine = engine
        self.pilot = pilot

    async def press(self, *keys: str) -> None:
        """Press keys and let the screen follow."""
        await self.pilot.press(*keys)
        await self.pilot.pause()

    async def settled(self) -> None:
        """Let the observing worker show what is on the board."""
        await self.pilot.pause(0.1)

    async def until(self, happened: Callable[[], bool]) -> None:
        """Wait for something that a worker does."""
        for _ in range(200):
            if happened():
                return
            await self.pilot.pause(0.01)
        raise AssertionError(f"never happened; the footer says {self.footer!r}")

    def text(self, selector: str) -> str:
        """What a list or a text shows, a line a row."""
        return lines_of(self.app.screen.query_one(selector, LineView))

    @property
    def footer(self) -> str:
        """The keys or the message in the last line."""
        # A screen that opens has a footer before the footer has its line.
        return "".join(hints.text for hints in self.app.screen.query(Hints))


def lines_of(view: LineView) -> str:
    """The rows in sight as text."""
    return "\n".join(
        "".join(segment.text for segment in view.render_line(y)).rstrip()
        for y in range(min(view.size.height, view.row_count))
    )


Open = Callable[..., AbstractAsyncContextManager[Desk]]


@pytest.fixture
def engine(home: Home) -> FakeEngine:
    return FakeEngine(home)


@pytest.fixture
def desk(home: Home, engine: FakeEngine) -> Open:
    """Opens a dashboard: `async with desk(size=(80, 24)) as d`."""

    @asynccontextmanager
    async def open_desk(
        size: tuple[int, int] = (124, 34), *, filled: bool = True, demo: bool = True
    ) -> AsyncIterator[Desk]:
        if filled:
            fill(engine)

        async def start() -> FakeEngine:
            return engine

        app = DashboardApp(home, start, demo=demo, folder=home.state)  # type: ignore[arg-type]
        async with app.run_test(size=size) as pilot:
            opened = Desk(app, engine, pilot)
            await opened.until(lambda: app.engine is not None)
            await opened.settled()
            yield opened

    return open_desk
