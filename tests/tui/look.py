"""Draws the dashboard on the stand-in engine to an SVG: `python tests/tui/look.py 140x45 out.svg [keys…]`."""

from __future__ import annotations

import asyncio
import sys
import tempfile
from pathlib import Path

from tests.tui.fakes import FakeEngine, fill
from workers_tui.home.places import find_home
from workers_tui.tui.app import DashboardApp


async def look(size: str, out: Path, keys: list[str]) -> None:
    """Press the keys and save the picture."""
    width, _, height = size.partition("x")
    with tempfile.TemporaryDirectory() as folder:
        home = find_home(flat=folder)
        engine = FakeEngine(home)
        fill(engine)

        async def start() -> FakeEngine:
            return engine

        app = DashboardApp(home, start)  # type: ignore[arg-type]
        async with app.run_test(size=(int(width), int(height))) as pilot:
            await pilot.pause(0.3)
            for key in keys:
                await pilot.press(key)
                await pilot.pause(0.2)
            await pilot.pause(0.3)
            out.write_text(app.export_screenshot(title=""), encoding="utf-8")


if __name__ == "__main__":
    asyncio.run(look(sys.argv[1], Path(sys.argv[2]), sys.argv[3:]))
