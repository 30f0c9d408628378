"""Runs the dashboard on the stand-in engine in this terminal, to look at it while changing it."""

from __future__ import annotations

import asyncio
import tempfile

from tests.tui.fakes import FakeEngine, fill

from workers_tui.home.places import find_home
from workers_tui.tui.app import DashboardApp
from workers_tui.tui.driver import Terminal


async def main() -> None:
    """Run until the user quits."""
    with tempfile.TemporaryDirectory() as folder:
        home = find_home(flat=folder)
        engine = FakeEngine(home)
        fill(engine)

        async def start() -> FakeEngine:
            return engine

        app = DashboardApp(home, start, demo=True, driver_class=Terminal)  # type: ignore[arg-type]
        await app.run_async()


if __name__ == "__main__":
    asyncio.run(main())
