"""Detail, tiers, history, budget, first steps: what they show and do."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from tests.tui.conftest import Open
from tests.tui.fakes import FakeEngine, make_job, paid
from textual.screen import Screen

from workers_tui.engine.agents.agent_trace import StepKind, TraceStep
from workers_tui.engine.board import Key, Topic
from workers_tui.engine.checks.local_servers import LocalServer
from workers_tui.engine.errors import StoreUnusable
from workers_tui.engine.jobs.job import JobKind, JobState
from workers_tui.engine.settings.config import ConfigView
from workers_tui.engine.settings.settings import Settings
from workers_tui.engine.usage import Usage
from workers_tui.home.places import Home
from workers_tui.tui.app import DashboardApp
from workers_tui.tui.panes.frame import Frame
from workers_tui.tui.panes.jobs import JobList
from workers_tui.tui.panes.tier_table import read_field
from workers_tui.tui.screens import full
from workers_tui.tui.screens.detail import DetailScreen
from workers_tui.tui.screens.first_steps import FirstSteps
from workers_tui.tui.screens.help import HelpScreen
from workers_tui.tui.screens.history import HistoryScreen, wanted
from workers_tui.tui.screens.pick import Picker
from workers_tui.tui.screens.settings_verbs import read_cap
from workers_tui.tui.screens.workers import WorkersScreen


async def test_the_detail_tells_what_left_the_machine(desk: Open) -> None:
    async with desk() as d:
        d.app.screen.query_one(JobList).select("k7f2q")
        await d.press("enter")
        await d.until(lambda: "310 KB left this machine" in d.text("FactsView"))
        facts = d.text("FactsView")
        assert "because summary of 1 file" in facts
        assert "claude-code 2.1.197" in facts
        assert "estimated from tokens" in facts
        await d.until(lambda: "disk full" in d.text("Output"))


async def test_an_agents_steps_and_its_output(desk: Open, engine: FakeEngine) -> None:
    engine.agents.steps = [
        TraceStep(1, engine.clock.now(), StepKind.NOTE, "works in /shop", "start"),
        TraceStep(2, engine.clock.now(), StepKind.TOOL, "app/pages.py", "Edit"),
        TraceStep(
            3, engine.clock.now(), StepKind.REQUEST, "", "glm-5",
            usage=Usage(12_000, 340), cost=paid("0.0031"),
        ),
    ]  # fmt: skip
    async with desk() as d:
        d.app.screen.query_one(JobList).select("m2qx4")
        await d.until(
            lambda: (
                "glm · turn 4 · 7 tool calls · Edit"
                in d.app.screen.query_one("#output", Frame).title
            )
        )
        await d.press("enter")
        await d.until(lambda: "Edit app/pages.py" in d.text("Trace"))
        assert "note   start: works in /shop" in d.text("Trace")
        assert "glm-5 12k in, 340 out · .0031" in d.text("Trace")
        assert "an agent has your rights" in d.text("FactsView")
        assert "4, 7 tool calls" in d.text("FactsView")
        await d.press("s")
        assert "Output" in d.app.screen.query_one("#text", Frame).title


async def test_the_history_searches_the_store(desk: Open, engine: FakeEngine) -> None:
    async with desk() as d:
        await d.press("h")
        await d.until(lambda: "k7f2q" in d.text("HistoryList"))
        await d.press("slash", *"state:failed disk", "enter")
        await d.until(lambda: engine.asked[-1][1].get("text") == "disk")
        assert engine.asked[-1][1]["state"] == [JobState.FAILED]
        await d.press("escape")
        await d.until(lambda: "state" not in engine.asked[-1][1])


def test_a_typed_filter_in_the_stores_terms() -> None:
    assert wanted("") == {}
    assert wanted("tier:fast kind:agent id:k7f some words") == {
        "tier": "fast",
        "kind": JobKind.AGENT,
        "text": "k7f some words",
    }


async def test_the_budget_tells_where_the_money_went(desk: Open) -> None:
    async with desk() as d:
        await d.press("3", "3")
        await d.until(lambda: "By tier" in d.text("#tables"))
        tables = d.text("#tables")
        assert "fast" in tables
        assert "~.1700" in tables
        assert "+ 1 unknown" in tables
        assert "agents, on no tier" in tables


@pytest.mark.parametrize("width", [44, 80])
async def test_what_is_said_below_a_tiers_fields_is_said_whole(
    desk: Open, engine: FakeEngine, width: int
) -> None:
    async with desk(size=(width, 40)) as d:
        view = ConfigView(engine.home.models_json, None, (), 1, Settings())
        engine.board.put(Key(Topic.CONFIG), view)
        await d.app.push_screen(full.SCREENS["tiers"]())
        await d.until(lambda: "dollars a million" in d.text("#fields"))
        said = " ".join(d.text("#fields").split())
        assert "dollars a million tokens in and out, from models.json" in said


@pytest.mark.parametrize(
    ("typed", "wrong"), [("x", True), ("-1", True), ("3", False), ("$0.50", False), ("none", False)]
)
def test_caps_as_typed(typed: str, wrong: bool) -> None:
    try:
        read_cap(typed)
    except ValueError:
        assert wrong
    else:
        assert not wrong


@pytest.mark.parametrize(
    ("field", "typed", "value"),
    [
        ("max_tokens", "4,000", 4_000),
        ("max_tokens", "", None),
        ("params", '{"temperature": 0}', {"temperature": 0}),
        ("fallbacks", "a/b, c/d", ["a/b", "c/d"]),
        ("use", "tests", "tests"),
    ],
)
def test_fields_of_a_tier_as_typed(field: str, typed: str, value: object) -> None:
    assert read_field(field, typed) == value


@pytest.mark.parametrize(
    ("field", "typed"),
    [("max_tokens", "many"), ("max_tokens", "0"), ("params", "[1"), ("model", "")],
)
def test_wrong_fields_are_refused(field: str, typed: str) -> None:
    with pytest.raises(ValueError, match=r"type|needs"):
        read_field(field, typed)


async def test_the_first_steps_show_once(home: Home, engine: FakeEngine) -> None:
    async def start() -> FakeEngine:
        return engine

    app = DashboardApp(home, start)  # type: ignore[arg-type]
    async with app.run_test(size=(100, 30)) as pilot:
        for _ in range(200):
            if isinstance(app.screen, FirstSteps) and app.screen.ready:
                break
            await pilot.pause(0.01)
        assert isinstance(app.screen, FirstSteps)
    assert json.loads(home.ui_json.read_text())["first_steps_shown"] is True


async def test_an_engine_that_cannot_start_says_why_and_r_tries_again(home: Home) -> None:
    tries = []

    async def start() -> FakeEngine:
        tries.append(1)
        if len(tries) == 1:
            raise StoreUnusable("the disk is full: free some space")
        return FakeEngine(home)

    app = DashboardApp(home, start, demo=True)  # type: ignore[arg-type]
    async with app.run_test(size=(100, 30)) as pilot:
        for _ in range(300):
            if app.trouble:
                break
            await pilot.pause(0.01)
        await pilot.pause()
        jobs = app.screen.query_one(JobList)
        said = "\n".join(
            "".join(part for part, _ in jobs.row_at(row)) for row in range(jobs.row_count)
        )
        assert "the disk is full" in said
        await pilot.press("r")
        for _ in range(200):
            if app.engine is not None:
                break
            await pilot.pause(0.01)
        assert len(tries) == 2


async def test_a_job_put_while_another_screen_is_in_front_is_there_afterwards(
    desk: Open, engine: FakeEngine
) -> None:
    async with desk() as d:
        await d.press("h")
        engine.put(make_job("later"))
        await d.settled()
        await d.press("escape")
        await d.until(lambda: "later" in d.text("#job-list"))


SCREENS: dict[str, Callable[[], Screen[Any]]] = {
    **full.SCREENS,
    "detail": lambda: DetailScreen("k7f2q"),
    "history": HistoryScreen,
    "workers": WorkersScreen,
    "first steps": lambda: FirstSteps(no_servers),
    "help": HelpScreen,
    "picker": lambda: Picker("Theme", ()),
}


async def no_servers() -> Sequence[LocalServer]:
    return ()


@pytest.mark.parametrize("leaves", ["closed", "quit"])
@pytest.mark.parametrize("name", SCREENS)
async def test_a_screen_that_is_left_while_it_opens_harms_nothing(
    desk: Open, name: str, leaves: str
) -> None:
    async with desk() as d:
        d.app.push_screen(SCREENS[name]())
        if leaves == "quit":
            d.app.exit(0)
        else:
            d.app.pop_screen()
            await d.press("down")
            assert "detail" in d.footer
