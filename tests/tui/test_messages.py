"""What the footer says goes when it is no longer true or no longer looked at."""

from __future__ import annotations

from pathlib import Path

from tests.tui.conftest import Open
from tests.tui.fakes import FakeEngine

from workers_tui.engine.board import Key, Topic
from workers_tui.engine.settings.config import ConfigView
from workers_tui.tui.screens.dashboard import DashboardScreen
from workers_tui.tui.screens.history import HistoryScreen

WRONG = "models.json line 5: Expecting value"


def put_config(engine: FakeEngine, error: str | None) -> None:
    view = ConfigView(Path("models.json"), error, (), 1, engine.config.settings)
    engine.board.put(Key(Topic.CONFIG), view)


async def test_an_error_of_the_settings_goes_when_the_file_is_mended(
    desk: Open, engine: FakeEngine
) -> None:
    async with desk() as d:
        screen = d.app.screen
        assert isinstance(screen, DashboardScreen)
        put_config(engine, WRONG)
        await d.until(lambda: WRONG in screen.query_one("#tiers").title)  # type: ignore[attr-defined]
        screen.say(WRONG)
        d.app.tell(WRONG, "error")
        assert d.footer == WRONG
        put_config(engine, None)
        await d.until(lambda: d.footer != WRONG)
        await d.until(lambda: WRONG not in screen.query_one("#tiers").title)  # type: ignore[attr-defined]


async def test_a_message_does_not_wait_for_who_went_elsewhere(desk: Open) -> None:
    async with desk() as d:
        screen = d.app.screen
        assert isinstance(screen, DashboardScreen)
        screen.say("There is nothing to undo.")
        await d.press("h")
        await d.until(lambda: isinstance(d.app.screen, HistoryScreen))
        await d.press("escape")
        await d.until(lambda: d.app.screen is screen)
        assert "nothing to undo" not in d.footer
