"""The real dashboard, driven by its keys and read off its rows."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from tests.contracts.program import PATIENCE, Program, Running, Serving
from textual.pilot import Pilot

from workers_tui.cli.common import Options
from workers_tui.cli.dashboard import Wiring
from workers_tui.home.files import prepare
from workers_tui.home.places import find_home
from workers_tui.tui.app import DashboardApp
from workers_tui.tui.lines import LineView


class Desk:
    """A dashboard that serves."""

    def __init__(self, app: DashboardApp, pilot: Pilot[int], program: Program) -> None:
        self.app = app
        self.pilot = pilot
        self._program = program

    def rows(self, selector: str) -> str:
        """Everything that a list or a text of the screen holds."""
        view = self.app.screen.query_one(selector, LineView)
        rows = (view.row_at(index) for index in range(view.row_count))
        return "\n".join("".join(text for text, _ in row) for row in rows)

    @property
    def output(self) -> str:
        """The text of the selected job."""
        return self.rows("#output-text")

    async def until(self, happened: Callable[[], bool], what: str) -> None:
        """Let the screen live until something is there to see."""
        async with asyncio.timeout(PATIENCE):
            while not happened():
                await self.pilot.pause(0.01)
        assert happened(), what

    async def press(self, *keys: str) -> None:
        """Press keys and let the screen follow each."""
        for key in keys:
            await self.pilot.press(key)
            await self.pilot.pause()

    async def serving(self) -> Serving:
        """Where it serves, as other programs learn it."""
        record = self._program.home / "server.json"
        await self.until(record.exists, "the server has started")
        await self.press("escape")  # the first steps of a new user
        url = json.loads(record.read_text())["url"]
        return Serving(NO_PROCESS, url, self._program.token)


NO_PROCESS: Running = None  # type: ignore[assignment]  # it serves in this very process


@asynccontextmanager
async def desk_of(program: Program, size: tuple[int, int] = (140, 45)) -> AsyncIterator[Desk]:
    """Open the dashboard of this user; leave it by its own key."""
    home = find_home(flat=program.home)
    prepare(home)
    options = Options(home=program.home, port=0, project=program.project)
    wiring = Wiring(options, home, program.environ)
    app = DashboardApp(home, wiring.start_engine, wiring.start_server, folder=program.project)
    try:
        async with app.run_test(size=size) as pilot:
            yield Desk(app, pilot, program)
            await pilot.press("q")
            await pilot.pause()
    finally:
        await app.shut_down("the test ended")
