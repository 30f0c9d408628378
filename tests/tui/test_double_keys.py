"""Keys pressed twice, or ahead of the screen: nothing closes, acts or costs twice."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from types import SimpleNamespace

import pytest
from tests.tui.conftest import Desk, Open
from tests.tui.fakes import NOON, FakeEngine, make_job
from textual import events
from textual.widgets import Input

from workers_tui.engine.jobs.job import CallRequest, Job, JobState, Origin
from workers_tui.tui.key_queue import MOST, KeyQueue
from workers_tui.tui.lines import LineView
from workers_tui.tui.panes.editor import CellEditor
from workers_tui.tui.panes.footer import Footer
from workers_tui.tui.panes.jobs import JobList
from workers_tui.tui.panes.prompt import Question
from workers_tui.tui.screens.dashboard import DashboardScreen
from workers_tui.tui.screens.help import HelpScreen
from workers_tui.tui.screens.palette import Palette
from workers_tui.tui.screens.pick import Picker


def type_ahead(d: Desk, *keys: str) -> None:
    """Let keys arrive at once, before any of them is handled."""
    for key in keys:
        d.app.post_message(events.Key(key, key if len(key) == 1 else None))


def typed_in(d: Desk) -> str:
    """What the one input of the screen in front that holds text holds."""
    return "".join(one.value for one in d.app.screen.query(Input))


async def test_three_enters_in_the_palette_run_one_command(desk: Open) -> None:
    async with desk() as d:
        await d.press("ctrl+p")
        await d.until(lambda: isinstance(d.app.screen, Palette))
        palette = d.app.screen
        await d.until(lambda: palette.has_class("-ready"))
        await d.press("down")
        type_ahead(d, "enter", "enter", "enter", "enter")
        await d.until(lambda: not palette.is_attached)
        await d.settled()
        assert any(isinstance(screen, DashboardScreen) for screen in d.app.screen_stack)
        assert d.app.is_running


async def test_a_closed_palette_takes_no_screen_with_it(desk: Open) -> None:
    async with desk() as d:
        await d.press("ctrl+p")
        await d.until(lambda: isinstance(d.app.screen, Palette))
        palette = d.app.screen
        palette.dismiss()
        palette.dismiss()
        await d.settled()
        assert isinstance(d.app.screen, DashboardScreen)


async def test_a_palette_that_is_left_while_it_opens_searches_nothing(desk: Open) -> None:
    async with desk() as d:
        for turns in range(12):
            d.app.push_screen(Palette())
            for _ in range(turns):
                await asyncio.sleep(0)
            palette = d.app.screen
            assert isinstance(palette, Palette)
            palette.dismiss()
            await d.until(lambda screen=palette: not screen.is_attached)  # type: ignore[misc]
        await d.settled()
        assert isinstance(d.app.screen, DashboardScreen)


async def test_timers_of_a_palette_ring_only_while_it_is_in_front(desk: Open) -> None:
    async with desk() as d:
        await d.press("ctrl+p")
        palette = d.app.screen
        assert isinstance(palette, Palette)
        rung: list[str] = []
        palette.set_timer(0.001, lambda: rung.append("in front"))
        await d.until(lambda: rung == ["in front"])
        await d.app.push_screen(HelpScreen())
        palette.set_timer(0.001, lambda: rung.append("behind"))
        await d.settled()
        assert rung == ["in front"]


@pytest.mark.parametrize(("key", "kind"), [("T", Picker), ("question_mark", HelpScreen)])
@pytest.mark.parametrize("closes", ["escape", "enter"])
async def test_what_is_closed_twice_closes_once(
    desk: Open, key: str, kind: type[Picker | HelpScreen], closes: str
) -> None:
    async with desk() as d:
        await d.press("h", key)
        await d.until(lambda: isinstance(d.app.screen, kind))
        box, below = d.app.screen, d.app.screen_stack[-2]
        box.dismiss(None)
        box.dismiss(None)
        await d.settled()
        assert d.app.screen is below
        await d.press(key)
        await d.until(lambda: isinstance(d.app.screen, kind))
        type_ahead(d, closes, closes, closes)
        await d.until(lambda: not isinstance(d.app.screen, kind))
        await d.settled()
        assert isinstance(d.app.screen_stack[1], DashboardScreen)


async def test_letters_typed_ahead_of_a_prompt_are_no_keys(
    desk: Open, engine: FakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    monkeypatch.setattr(DashboardScreen, "action_pager", lambda _: opened.append("pager"))
    async with desk() as d:
        d.app.screen.query_one(JobList).select("a31bc")
        delegate, answered = engine.delegate, asyncio.Event()

        async def slow(request: CallRequest, origin: Origin) -> Job:
            await answered.wait()
            return await delegate(request, origin)

        monkeypatch.setattr(engine, "delegate", slow)
        await d.press("n", *"hi")
        type_ahead(d, "enter", *"njobor")
        await d.until(lambda: not d.app.screen.query_one(Footer).busy)
        await d.press(*"oro")
        answered.set()
        await d.until(lambda: bool(engine.asked))
        await d.settled()
        assert [verb for verb, _ in engine.asked] == ["delegate"]
        assert not opened
        assert isinstance(d.app.screen, DashboardScreen)
        await d.press("o")
        assert opened == ["pager"]


async def test_letters_that_overtake_an_opening_prompt_land_in_it(
    desk: Open, engine: FakeEngine
) -> None:
    async with desk() as d:
        d.app.screen.query_one(JobList).select("a31bc")
        type_ahead(d, *"nrror r", "backspace", "x")
        await d.until(lambda: typed_in(d) == "rror x")
        type_ahead(d, "enter")
        await d.until(lambda: bool(engine.asked))
        ((verb, request),) = engine.asked
        assert verb == "delegate"
        assert request.task == "rror x"


@pytest.mark.parametrize(
    ("keys", "typed"),
    [
        (("slash", *"state"), "state"),
        (("w",), "a31bc.txt"),
        (("b", "end"), "3.00"),
        (("h", "h", "slash", *"fast"), "fast"),
    ],
)
async def test_every_prompt_takes_what_was_typed_ahead(
    desk: Open, engine: FakeEngine, keys: tuple[str, ...], typed: str
) -> None:
    async with desk() as d:
        engine.add_text("a31bc", "done")
        d.app.screen.query_one(JobList).select("a31bc")
        type_ahead(d, *keys, "z")
        await d.until(lambda: typed_in(d) == f"{typed}z")


@pytest.mark.parametrize("keys", ["enord", "Tnord", "Rnord"])
async def test_every_search_takes_what_was_typed_ahead(desk: Open, keys: str) -> None:
    async with desk() as d:
        d.app.screen.query_one(JobList).select("a31bc")
        type_ahead(d, *keys)
        await d.until(lambda: isinstance(d.app.screen, Picker))
        await d.until(lambda: typed_in(d) == "nord")


async def test_keys_after_a_filter_are_keys(desk: Open, engine: FakeEngine) -> None:
    async with desk() as d:
        type_ahead(d, "slash", *"p9xt7", "enter", "g", "a")
        await d.until(lambda: bool(engine.asked))
        assert [verb for verb, _ in engine.asked] == ["approve"]


async def test_the_palette_takes_what_was_typed_ahead(desk: Open) -> None:
    async with desk() as d:
        type_ahead(d, "ctrl+p", *"theme")
        await d.until(lambda: isinstance(d.app.screen, Palette))
        await d.until(lambda: typed_in(d) == "theme")


async def test_the_palette_opens_again_while_it_still_closes(desk: Open) -> None:
    async with desk() as d:
        for _ in range(3):
            type_ahead(d, "ctrl+p", "escape")
        type_ahead(d, "ctrl+p", *"theme")
        await d.until(lambda: typed_in(d) == "theme")
        assert d.app.is_running


async def test_a_question_takes_the_answer_typed_ahead(desk: Open, engine: FakeEngine) -> None:
    async with desk() as d:
        type_ahead(d, "q", "y")
        await d.until(lambda: engine.closed)


async def test_what_was_typed_for_a_prompt_that_never_came_is_no_key(
    desk: Open, engine: FakeEngine
) -> None:
    async with desk() as d:
        d.app.screen.query_one(JobList).select("a31bc")
        type_ahead(d, *"frr")
        await d.until(lambda: "Only an agent" in d.footer)
        await d.settled()
        assert not engine.asked


async def test_a_screen_that_opens_takes_the_keys_typed_ahead(desk: Open) -> None:
    async with desk() as d:
        type_ahead(d, "h", "escape", "2", "2", "escape", "question_mark")
        await d.until(lambda: isinstance(d.app.screen, HelpScreen))
        assert isinstance(d.app.screen_stack[-2], DashboardScreen)


async def test_letters_typed_ahead_of_the_cap_are_no_keys(desk: Open, engine: FakeEngine) -> None:
    async with desk() as d:
        d.app.screen.query_one(JobList).select("a31bc")
        await d.press("b")
        await d.until(lambda: bool(d.app.screen.query(CellEditor)))
        await d.until(lambda: "save" in d.footer)
        assert "filter" not in d.footer
        assert d.footer.startswith("enter save   esc back")
        type_ahead(d, "escape", *"rrh")
        await d.until(lambda: not d.app.screen.query(CellEditor))
        await d.settled()
        assert not engine.asked
        assert "filter" in d.footer


async def test_the_question_before_quitting_follows_the_jobs(
    desk: Open, engine: FakeEngine
) -> None:
    async with desk(filled=False) as d:
        engine.put(make_job("first"))
        engine.put(make_job("other"))
        asked = d.app.screen.query_one(Question)
        await d.until(lambda: "first" in d.text("#job-list") and "other" in d.text("#job-list"))
        await d.press("q")
        await d.until(lambda: "2 jobs running" in str(asked.render()))
        engine.put(make_job("first", state=JobState.DONE, ms=1, ended_at=NOON))
        await d.until(lambda: "1 job running" in str(asked.render()))
        engine.put(make_job("other", state=JobState.DONE, ms=1, ended_at=NOON))
        await d.until(lambda: not d.app.screen.query_one(Footer).busy)
        assert "Nothing runs any more" in d.footer
        assert d.app.engine is not None


async def test_noise_on_a_list_is_not_worked_off_to_its_end() -> None:
    delivered: list[str] = []

    async def deliver(typed: events.Key | events.Paste) -> None:
        delivered.append(typed.key if isinstance(typed, events.Key) else "paste")

    screen = SimpleNamespace(
        is_mounted=True, focused=None, focus_chain=[], post_message=lambda _: True
    )
    app = SimpleNamespace(screen=screen, focused=None, is_running=True, set_timer=lambda *_: None)
    keys = KeyQueue(app, deliver)  # type: ignore[arg-type]
    for _ in range(5 * MOST):
        await keys.take(events.Key("z", "z"))
    for _ in range(5 * MOST):
        await keys.go_on()
    assert len(delivered) == MOST + 1


async def test_a_key_that_a_new_screen_overtakes_waits_until_that_one_is_open(
    desk: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    def overtake(screen: DashboardScreen, event: events.Key) -> None:
        if event.key == "G" and screen.app.screen is screen:
            screen.app.push_screen(HelpScreen())

    monkeypatch.setattr(DashboardScreen, "on_key", overtake)
    async with desk(size=(80, 15)) as d:
        type_ahead(d, "G")
        await d.until(lambda: isinstance(d.app.screen, HelpScreen))
        await d.until(lambda: any(view.scroll_y > 0 for view in d.app.screen.query(LineView)))


async def test_an_overtaken_key_goes_on_by_itself_before_those_typed_later() -> None:
    delivered: list[tuple[str, str]] = []
    timers: list[Callable[[], Awaitable[None]]] = []
    first, second = (
        SimpleNamespace(
            name=name, is_mounted=mounted, focused=None, focus_chain=[],
            post_message=lambda _, passes=mounted: not passes,
        )
        for name, mounted in (("closing", True), ("opening", False))
    )  # fmt: skip
    app = SimpleNamespace(
        screen=first, focused=None, is_running=True,
        set_timer=lambda _, work: timers.append(work),
    )  # fmt: skip

    async def deliver(typed: events.Key | events.Paste) -> None:
        assert isinstance(typed, events.Key)
        delivered.append((app.screen.name, typed.key))

    keys = KeyQueue(app, deliver)  # type: ignore[arg-type]
    key = events.Key("x", "x")
    await keys.take(key)
    assert not await keys.comes_back(key)
    app.screen = second
    assert await keys.comes_back(key)
    await keys.take(events.Key("y", "y"))
    assert delivered == [("closing", "x")]
    second.is_mounted = True
    while timers:
        await timers.pop(0)()
        await keys.go_on()
    assert delivered == [("closing", "x"), ("opening", "x"), ("opening", "y")]
