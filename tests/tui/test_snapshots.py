"""A few pictures for the layout; what the panes say is asserted elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from tests.tui.fakes import FakeEngine, fill
from textual.pilot import Pilot

from workers_tui.home.places import Home
from workers_tui.tui.app import DashboardApp

Compare = Callable[..., bool]


@pytest.fixture(autouse=True)
def utc(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()


async def filled(pilot: Pilot[int]) -> None:
    """Until the board is shown."""
    app = pilot.app
    assert isinstance(app, DashboardApp)
    for _ in range(300):
        if app.observer is not None and len(app.observer.jobs) == 9:
            break
        await pilot.pause(0.01)
    await pilot.pause(0.1)


def dashboard(home: Home) -> DashboardApp:
    async def start() -> FakeEngine:
        engine = FakeEngine(home)
        fill(engine)
        return engine

    return DashboardApp(home, start, demo=True)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "size", [(200, 50), (140, 45), (100, 30), (80, 24), (60, 15)], ids=lambda size: f"{size[0]}"
)
def test_the_first_screen(snap_compare: Compare, home: Home, size: tuple[int, int]) -> None:
    assert snap_compare(dashboard(home), terminal_size=size, run_before=filled)


@pytest.mark.parametrize(
    ("name", "keys"), [("detail", ["enter"]), ("budget", ["3", "3"]), ("help", ["f1"])]
)
def test_a_screen(snap_compare: Compare, home: Home, name: str, keys: list[str]) -> None:
    async def opened(pilot: Pilot[int]) -> None:
        await filled(pilot)
        for key in keys:
            await pilot.press(key)
            await pilot.pause()
        await pilot.pause(0.2)

    assert snap_compare(dashboard(home), terminal_size=(120, 32), run_before=opened)
