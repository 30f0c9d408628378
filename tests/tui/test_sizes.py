"""Small terminals: what is needed fits, nothing is cut in silence, nothing is covered."""

from __future__ import annotations

import pytest
from tests.tui.conftest import Desk, Open, lines_of
from tests.tui.fakes import FakeEngine
from textual.widgets import Input

from workers_tui.tui.lines import LineView, row
from workers_tui.tui.panes.footer import Footer
from workers_tui.tui.panes.hints import Hints
from workers_tui.tui.panes.one_line import ListHead
from workers_tui.tui.screens.detail import DetailScreen
from workers_tui.tui.screens.face import Face
from workers_tui.tui.screens.help import HelpScreen
from workers_tui.tui.screens.history import HistoryScreen
from workers_tui.tui.screens.palette import Palette
from workers_tui.tui.screens.pick import ChoiceList, Picker
from workers_tui.tui.screens.tiers import TiersScreen

SIZES = [(60, 15), (80, 24), (100, 30)]
LONG = "fast does not work: openrouter refuses the key; type another one with k in the first steps"


def face(d: Desk) -> Face:
    """The screen in front."""
    assert isinstance(d.app.screen, Face)
    return d.app.screen


def last_lines(d: Desk) -> list[str]:
    """What the footer shows, a line a row."""
    hints = d.app.screen.query_one(Hints)
    return [
        "".join(segment.text for segment in hints.render_line(y)).strip()
        for y in range(hints.size.height)
    ]


@pytest.mark.parametrize("size", SIZES)
async def test_a_long_message_is_whole_and_pushes_instead_of_covering(
    desk: Open, size: tuple[int, int]
) -> None:
    async with desk(size=size) as d:
        screen = face(d)
        screen.say(LONG)
        await d.until(lambda: " ".join(last_lines(d)) == LONG)
        footer = screen.query_one(Footer)
        assert footer.region.bottom == size[1]
        assert screen.query_one("#columns").region.bottom == footer.region.y
        screen.hush()
        await d.until(lambda: footer.size.height == 1)


async def test_a_message_that_is_too_long_even_so_says_that_it_is_cut(desk: Open) -> None:
    async with desk(size=(60, 15)) as d:
        face(d).say(" ".join([LONG] * 4))
        await d.until(lambda: len(last_lines(d)) == 3)
        assert last_lines(d)[-1].endswith("…")


@pytest.mark.parametrize("size", [(60, 15), (140, 45)])
async def test_news_wait_until_the_prompt_is_answered(desk: Open, size: tuple[int, int]) -> None:
    async with desk(size=size) as d:
        await d.press("n")
        d.app.tell("The server is gone.", "error")
        await d.settled()
        assert "The server" not in d.footer
        await d.press("escape")
        await d.until(lambda: d.footer == "The server is gone.")
        d.app.tell("It is back.", "information")
        face(d).hush()
        assert d.footer == "It is back."


async def test_news_wait_until_the_box_in_front_is_closed(desk: Open) -> None:
    async with desk(size=(60, 15)) as d:
        await d.press("question_mark")
        await d.until(lambda: isinstance(d.app.screen, HelpScreen))
        d.app.tell("The server is gone.", "error")
        await d.press("escape")
        await d.until(lambda: d.footer == "The server is gone.")


@pytest.mark.parametrize("size", SIZES)
async def test_the_model_picker_shows_price_and_context(desk: Open, size: tuple[int, int]) -> None:
    async with desk(size=size) as d:
        await d.press("e")
        await d.until(lambda: isinstance(d.app.screen, Picker))
        await d.until(lambda: bool(d.app.screen.query_one(ChoiceList).row_width))
        shown = lines_of(d.app.screen.query_one(ChoiceList)).splitlines()
        assert shown
        for line in shown:
            assert line.endswith(("k", "M", "?")), line


@pytest.mark.parametrize("size", SIZES)
async def test_the_history_shows_cost_and_time(desk: Open, size: tuple[int, int]) -> None:
    async with desk(size=size) as d:
        await d.press("h")
        await d.until(lambda: isinstance(d.app.screen, HistoryScreen))
        await d.until(lambda: "a31bc" in d.text("HistoryList"))
        (shown,) = [line for line in d.text("HistoryList").splitlines() if "a31bc" in line]
        assert shown.endswith("11s")
        assert ".0017" in shown


@pytest.mark.parametrize("size", SIZES)
async def test_no_list_draws_beyond_its_width(desk: Open, size: tuple[int, int]) -> None:
    async with desk(size=size) as d:
        for key in ("W", "h", "2", "3", "4", "5"):
            await d.press(*((key,) if size[0] < 120 else (key, key)))
            await d.settled()
            for view in d.app.screen.query(LineView):
                for index in range(view.row_count):
                    used = sum(len(text) for text, _ in view.row_at(index))
                    assert used <= max(view.row_width, 20), (key, view, view.row_at(index))
            await d.press("escape")
            await d.settled()


async def test_rows_laid_out_before_their_width_is_known_are_not_shown(desk: Open) -> None:
    async with desk():
        view = LineView()
        view.show_rows([row("laid out for no width")])
        assert not view.render_line(0).text.strip()


async def test_the_names_of_columns_stand_over_them(desk: Open, engine: FakeEngine) -> None:
    async with desk(size=(140, 45)) as d:
        await d.press("2", "2")
        await d.until(lambda: isinstance(d.app.screen, TiersScreen))
        for width in (140, 100, 60, 140):
            await d.pilot.resize_terminal(width, 45)
            await d.settled()
            head = d.app.screen.query_one(ListHead).line().text
            rows = d.text("TierTable").splitlines()
            assert head.rindex("price") + 5 == rows[0].index(".21") + 3


async def test_a_filter_is_typed_with_room_for_it(desk: Open) -> None:
    async with desk(size=(60, 15)) as d:
        await d.press("slash")
        await d.until(lambda: d.app.screen.query_one(Footer).busy)
        assert d.app.screen.query_one("#prompt-input", Input).size.width >= 20


async def test_the_events_say_that_they_are_filtered(desk: Open, engine: FakeEngine) -> None:
    async with desk(size=(140, 45)) as d:
        await d.press("5", "slash", *"zzz", "enter")
        await d.until(lambda: "/zzz" in d.app.screen.query_one("#events").title)  # type: ignore[attr-defined]
        await d.press("escape")
        await d.until(lambda: "/zzz" not in d.app.screen.query_one("#events").title)  # type: ignore[attr-defined]


@pytest.mark.parametrize("size", [*SIZES, (140, 45)])
async def test_a_screen_is_laid_out_for_its_size_at_once(
    desk: Open, size: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    laid_out: dict[str, set[tuple[int, int]]] = {}
    resized = LineView.on_resize

    def note(view: LineView) -> None:
        laid_out.setdefault(type(view).__name__, set()).add((view.size.width, view.size.height))
        resized(view)

    async with desk(size=size) as d:
        monkeypatch.setattr(LineView, "on_resize", note)
        for screen in (DetailScreen("k7f2q"), TiersScreen(), HelpScreen()):
            laid_out.clear()
            await d.app.push_screen(screen)
            await d.settled()
            assert laid_out
            assert {name: sizes for name, sizes in laid_out.items() if len(sizes) > 1} == {}


async def test_the_palette_opens_in_the_narrowest_terminal(desk: Open) -> None:
    async with desk() as d:
        for width in range(1, 16):
            await d.pilot.resize_terminal(width, 12)
            await d.press("ctrl+p", "s")
            await d.until(lambda: isinstance(d.app.screen, Palette))
            await d.pilot.resize_terminal(width, 3)
            await d.press("escape")
            await d.until(lambda: not isinstance(d.app.screen, Palette))
        assert d.app.is_running
