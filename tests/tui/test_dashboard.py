"""The first screen: what it says, and what every key does."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from tests.tui.conftest import Open
from tests.tui.fakes import NOON, FakeEngine, make_job, paid
from textual.widgets import Input

from workers_tui.engine.board import Key, Topic
from workers_tui.engine.errors import StoreUnusable
from workers_tui.engine.jobs.job import CallRequest, Job, JobKind, JobState
from workers_tui.engine.usage import Usage
from workers_tui.tui.panes.frame import Frame
from workers_tui.tui.panes.header import Header
from workers_tui.tui.panes.jobs import JobList
from workers_tui.tui.panes.output import Output
from workers_tui.tui.screens.dashboard import DashboardScreen
from workers_tui.tui.screens.detail import DetailScreen
from workers_tui.tui.screens.help import HelpScreen
from workers_tui.tui.screens.history import HistoryScreen
from workers_tui.tui.screens.pick import Picker


def header_text(app: object) -> str:
    header = app.screen.query_one(Header)  # type: ignore[attr-defined]
    return "".join(segment.text for segment in header.line())


async def test_the_first_look_answers_four_questions(desk: Open) -> None:
    async with desk((140, 45)) as d:
        header = header_text(d.app)
        assert "● 127.0.0.1:4747 · 2 clients" in header
        assert "spent $1.07" in header
        assert "held $0.12" in header
        assert "of $3.00" in header
        assert "reaches the cap" in header
        assert "3 running" in d.app.screen.query_one("#jobs", Frame).title
        assert "22 % of the work" in d.text("#savings-view")
        rows = d.text("#job-list")
        assert "▶ m2qx4  glm · turn 4" in rows
        assert "↻ r4t8w" in rows
        assert "again in 12s" in rows
        assert "◆ p9xt7" in rows
        assert "waits for you: $0.41, 3.1 MB leave" in rows
        assert "~.4100" in rows
        assert "✓ a31bc" in rows
        assert "? l0st1" in rows
        found = [line for line in rows.split("\n") if "k7f2q" in line]
        assert found[0].split()[-3:] == ["1.2k", "~.0004", "6s"]


async def test_the_selection_sticks_to_its_job_and_only_changed_rows_are_drawn(
    desk: Open, engine: FakeEngine
) -> None:
    async with desk() as d:
        await d.press("down", "down")
        jobs = d.app.screen.query_one(JobList)
        selected = jobs.selected
        assert selected is not None
        engine.put(make_job("newer", started_at=NOON - timedelta(minutes=9)))
        await d.until(lambda: "newer" in d.text("#job-list"))
        assert jobs.selected is not None
        assert jobs.selected.id == selected.id
        assert jobs.table.rows[jobs.cursor] == selected.id
        jobs.table.settle(float("inf"))  # nothing is left that moves by itself in a moment
        jobs.rows_moved()
        await d.settled()
        drawn: list[int] = []
        draw = jobs.draw_row
        jobs.draw_row = lambda index, width: drawn.append(index) or draw(index, width)  # type: ignore[method-assign,func-returns-value]
        job = engine.board.get(Key(Topic.JOB, "k7f2q"))
        engine.put(replace(job, usage=Usage(77_500, 1_900)))
        await d.until(lambda: jobs.table.index("k7f2q") in drawn)
        await d.settled()
        ticking = {active.id for active in jobs.table.active}
        still = {i for i, name in enumerate(jobs.table.rows) if name not in ticking}
        assert len(still) > 3
        assert set(drawn) & still == set()


async def test_output_follows_the_selected_job(desk: Open, engine: FakeEngine) -> None:
    async with desk() as d:
        d.app.screen.query_one(JobList).select("k7f2q")
        await d.until(lambda: "disk full" in d.text("#output-text"))
        engine.add_text("k7f2q", "the newest line")
        await d.until(lambda: "the newest line▌" in d.text("#output-text"))
        job = engine.board.get(Key(Topic.JOB, "k7f2q"))
        engine.put(replace(job, state=JobState.DONE, ms=7_000, ended_at=NOON))
        await d.until(lambda: "▌" not in d.text("#output-text"))
        assert "done" in d.app.screen.query_one("#output", Frame).title


async def test_scrolling_up_stops_following(desk: Open, engine: FakeEngine) -> None:
    async with desk() as d:
        engine.add_text("k7f2q", "\n".join(f"line {number}" for number in range(200)))
        d.app.screen.query_one(JobList).select("k7f2q")
        output = d.app.screen.query_one(Output)
        await d.until(lambda: "line 199" in d.text("#output-text"))
        output.focus()
        await d.press("pageup")
        assert not output.following
        engine.add_text("k7f2q", "\nline 200")
        await d.settled()
        assert "line 200" not in d.text("#output-text")
        await d.press("F")
        assert "line 200" in d.text("#output-text")


async def test_c_cancels_the_selected_job_unless_it_has_ended(
    desk: Open, engine: FakeEngine
) -> None:
    async with desk() as d:
        d.app.screen.query_one(JobList).select("a31bc")
        await d.press("c")
        await d.until(lambda: "has ended already" in d.footer)
        assert not engine.asked
        d.app.screen.query_one(JobList).select("k7f2q")
        await d.press("c")
        await d.until(lambda: ("cancel", "k7f2q") in engine.asked)


async def test_cancelling_all_asks_once_in_the_footer(desk: Open, engine: FakeEngine) -> None:
    async with desk() as d:
        for answer, cancelled in (("escape", 0), ("n", 0), ("y", 5)):
            await d.press("C")
            await d.until(lambda: d.app.screen.query_one("Footer").has_class("-asks"))
            await d.press(answer)
            await d.until(lambda: not d.app.screen.query_one("Footer").has_class("-asks"))
            assert sum(verb == "cancel" for verb, _ in engine.asked) == cancelled
            assert d.app.screen.query_one(JobList).has_focus


async def test_a_accepts_and_x_rejects_what_waits(desk: Open, engine: FakeEngine) -> None:
    async with desk() as d:
        d.app.screen.query_one(JobList).select("p9xt7")
        await d.until(lambda: "a accept" in d.footer)
        assert "AWS key" in d.text("#output-text")
        await d.press("a", "x")
        assert ("approve", "p9xt7") in engine.asked
        assert ("reject", "p9xt7") in engine.asked
        d.app.screen.query_one(JobList).select("k7f2q")
        await d.press("a")
        assert "asks nothing" in d.footer


async def test_b_edits_the_cap_where_it_stands(desk: Open, engine: FakeEngine) -> None:
    async with desk() as d:
        await d.press("b")
        await d.until(lambda: bool(d.app.screen.query("CellEditor")))
        await d.press("9", "escape")
        await d.until(lambda: not d.app.screen.query("CellEditor"))
        assert not engine.config.saved
        await d.press("b")
        await d.until(lambda: bool(d.app.screen.query("CellEditor")))
        editor = d.app.screen.query_one("CellEditor", Input)
        assert editor.value == "3.00"
        await d.press("x", "enter")
        assert d.app.screen.query("CellEditor"), "wrong input is not taken"
        await d.press("backspace", "5", "enter")
        await d.until(lambda: bool(engine.config.saved))
        assert engine.config.saved == [("cap", 5)]
        await d.until(lambda: "u undoes it" in d.footer)
        await d.press("u")
        await d.until(lambda: engine.config.saved[-1] == ("cap", 3))


async def test_e_chooses_a_model_at_its_price_and_t_tests_the_tier(
    desk: Open, engine: FakeEngine
) -> None:
    async with desk() as d:
        await d.press("2", "e")
        await d.until(lambda: isinstance(d.app.screen, Picker))
        await d.press("m", "i", "n", "i")
        assert "costs .30 / 1.2, now .11 / .21" in str(d.app.screen.query_one("#note").render())
        await d.press("enter")
        await d.until(lambda: bool(engine.config.saved))
        assert engine.config.saved == [("fast", {"model": "minimax/minimax-m3"})]
        await d.press("2", "down", "t")
        await d.until(lambda: "code works" in d.footer)
        request = next(asked for verb, asked in engine.asked if verb == "delegate")
        assert isinstance(request, CallRequest)
        assert request.tier == "code"


async def test_p_pauses_and_resumes_and_other_keys_harm_nothing(
    desk: Open, engine: FakeEngine
) -> None:
    async with desk() as d:
        await d.press("p")
        assert engine.queue.paused
        assert "paused" in header_text(d.app)
        await d.press("p")
        assert not engine.queue.paused
        await d.press("ctrl+l", "F", "u", "S", "escape")
        assert isinstance(d.app.screen, DashboardScreen)


async def test_slash_filters_while_typing_and_escape_shows_all(desk: Open) -> None:
    async with desk() as d:
        await d.press("slash")
        await d.until(lambda: d.app.screen.query_one("Footer").has_class("-prompts"))
        await d.press(*"tier:code", "enter")
        assert d.app.screen.query_one(JobList).table.rows == ["a31bc"]
        assert "1 shown" in d.app.screen.query_one("#jobs", Frame).title
        await d.press("escape")
        assert len(d.app.screen.query_one(JobList).table.rows) == 9
        await d.press("slash", *"zzz", "enter")
        assert "No job matches." in d.text("#job-list")


async def test_jobs_are_run_again_followed_up_and_made(desk: Open, engine: FakeEngine) -> None:
    async with desk() as d:
        d.app.screen.query_one(JobList).select("b02gh")
        await d.press("r")
        await d.until(lambda: ("rerun", ("b02gh", "reason")) in engine.asked)
        await d.press("R")
        await d.until(lambda: isinstance(d.app.screen, Picker))
        await d.press("down", "enter")
        await d.until(lambda: ("rerun", ("b02gh", "code")) in engine.asked)
        engine.put(
            make_job("ag3nt", JobState.DONE, kind=JobKind.AGENT, worker="glm", cost=paid("0.1"))
        )
        await d.until(lambda: "ag3nt" in d.text("#job-list"))
        d.app.screen.query_one(JobList).select("ag3nt")
        await d.press("f")
        await d.until(lambda: d.app.screen.query_one("Footer").has_class("-prompts"))
        await d.press(*"go", "enter")
        await d.until(lambda: any(verb == "follow_up" for verb, _ in engine.asked))
        request = next(asked for verb, asked in engine.asked if verb == "follow_up")
        assert (request.target, request.prompt) == ("ag3nt", "go")
        await d.press("n", *"count", "enter")
        await d.until(lambda: any(verb == "delegate" for verb, _ in engine.asked))


@pytest.mark.parametrize(
    ("key", "verb", "place"), [("n", "delegate", "engine"), ("f", "followup", "agents")]
)
async def test_a_task_that_was_refused_need_not_be_typed_again(
    desk: Open, engine: FakeEngine, monkeypatch: pytest.MonkeyPatch, key: str, verb: str, place: str
) -> None:
    async def full(*_: object) -> Job:
        raise StoreUnusable("cannot use store.db: the disk is full")

    async with desk() as d:
        agent = make_job("ag3nt", JobState.DONE, kind=JobKind.AGENT, worker="glm")
        engine.put(agent)
        await d.until(lambda: "ag3nt" in d.text("#job-list"))
        d.app.screen.query_one(JobList).select("ag3nt")
        with monkeypatch.context() as broken:
            broken.setattr(engine if place == "engine" else engine.agents, verb, full)
            await d.press(key, *"count")
            await d.until(lambda: d.app.screen.query_one("#prompt-input", Input).value == "count")
            await d.press("enter")
            await d.until(lambda: "the disk is full" in d.footer)
        await d.press(key, "s", "enter")
        await d.until(lambda: bool(engine.asked))
        request = engine.asked[-1][1]
        assert "counts" in {getattr(request, "task", ""), getattr(request, "prompt", "")}
        await d.press(key)
        await d.until(lambda: d.app.screen.query_one("Footer").has_class("-prompts"))
        assert d.app.screen.query_one("#prompt-input", Input).value == ""


async def test_the_output_is_copied_saved_and_paged(
    desk: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    async with desk() as d:
        d.app.screen.query_one(JobList).select("k7f2q")
        await d.press("y")
        await d.until(lambda: "Copied" in d.footer)
        assert "disk full" in d.app.clipboard
        await d.press("o")
        await d.until(lambda: "cannot step aside" in d.footer)
        await d.press("w")
        await d.until(lambda: d.app.screen.query_one("Footer").has_class("-prompts"))
        await d.press("enter")
        await d.until(lambda: "Saved" in d.footer)
    assert "disk full" in (tmp_path / "k7f2q.txt").read_text()


async def test_detail_help_palette_and_history_open_and_close(desk: Open) -> None:
    async with desk() as d:
        for key in ("question_mark", "f1"):
            await d.press(key)
            assert isinstance(d.app.screen, HelpScreen)
            await d.press("escape")
            assert isinstance(d.app.screen, DashboardScreen)
        await d.press("enter")
        assert isinstance(d.app.screen, DetailScreen)
        await d.press("escape")
        assert isinstance(d.app.screen, DashboardScreen)
        assert d.app.screen.query_one(JobList).has_focus
        await d.press("ctrl+p")
        await d.until(lambda: type(d.app.screen).__name__ == "Palette")
        await d.press("escape")
        await d.press("h")
        assert isinstance(d.app.screen, HistoryScreen)
        await d.until(lambda: "k7f2q" in d.text("HistoryList"))


async def test_a_theme_is_seen_while_moving_and_remembered(desk: Open) -> None:
    async with desk((80, 24)) as d:
        before = d.app.theme
        await d.press("T")
        await d.until(lambda: isinstance(d.app.screen, Picker))
        await d.press(*"nord")
        assert d.app.theme == "nord"
        await d.press("escape")
        assert d.app.theme == before
        await d.press("T", *"nord", "enter")
        assert d.app.theme == "nord"
        assert d.app.memory.theme == "nord"


async def test_going_round_by_tab_number_keys_and_mouse(desk: Open) -> None:
    async with desk() as d:
        seen = []
        for _ in range(6):
            seen.append(d.app.focused.id if d.app.focused else None)
            await d.press("tab")
        assert len(set(seen)) == 6
        assert d.app.focused is not None
        assert d.app.focused.id == "job-list"
        await d.press("shift+tab")
        assert d.app.focused.id == "event-list"
        panes = ("job-list", "tier-list", "budget-view", "savings-view", "event-list")
        for key, pane in enumerate(panes, start=1):
            await d.press(str(key))
            assert d.app.focused is not None
            assert d.app.focused.id == pane
        await d.press("1")
        jobs = d.app.screen.query_one(JobList)
        jobs.move_cursor(0)
        await d.press("j", "down", "k")
        assert jobs.cursor == 1
        await d.press("G")
        assert jobs.cursor == 8
        await d.press("g")
        assert jobs.cursor == 0
        await d.press("space")
        assert jobs.cursor == 8
        await d.press("pageup", "end", "home")
        assert jobs.cursor == 0
        await d.pilot.click("#job-list", offset=(10, 3))
        assert d.app.screen.query_one(JobList).cursor == 3
        await d.pilot.click("#job-list", offset=(10, 3), times=2)
        await d.pilot.pause()
        assert isinstance(d.app.screen, DetailScreen)


async def test_numbers_open_panes_in_full_at_every_size(desk: Open) -> None:
    screens = ("TiersScreen", "BudgetScreen", "SavingsScreen", "EventsScreen")
    async with desk((120, 30)) as d:
        for size in ((120, 30), (80, 24), (60, 15)):
            await d.pilot.resize_terminal(*size)
            await d.settled()
            lines = d.text("#job-list").split("\n")
            assert len({len(line) for line in lines}) == 1, "columns follow the width"
            for key, screen in enumerate(screens, start=2):
                await d.press(*[str(key)] * (2 if size == (120, 30) else 1))
                assert type(d.app.screen).__name__ == screen
                await d.press("escape", "1")
                assert isinstance(d.app.screen, DashboardScreen)


async def test_q_asks_while_jobs_run_and_leaves(desk: Open, engine: FakeEngine) -> None:
    async with desk() as d:
        await d.press("q")
        await d.until(lambda: d.app.screen.query_one("Footer").has_class("-asks"))
        await d.press("n")
        assert not engine.closed
        await d.press("q", "y")
        await d.until(lambda: engine.closed)


async def test_q_leaves_at_once_when_nothing_runs(desk: Open, engine: FakeEngine) -> None:
    async with desk(filled=False) as d:
        await d.press("q")
        await d.until(lambda: engine.closed)


async def test_keys_of_the_users_own(desk: Open, engine: FakeEngine) -> None:
    engine.home.keymap_json.write_text('{"pause": "z", "last": "L"}', encoding="utf-8")
    async with desk() as d:
        await d.press("p")
        assert not engine.queue.paused
        await d.press("z")
        assert engine.queue.paused
        assert "z pause" in d.footer or d.footer.startswith("No new call")


async def test_keys_of_the_users_own_move_the_cursor_and_free_the_arrows(
    desk: Open, engine: FakeEngine
) -> None:
    engine.home.keymap_json.write_text('{"down": "v", "pause": "down"}', encoding="utf-8")
    async with desk() as d:
        jobs = d.app.screen.query_one(JobList)
        before = jobs.cursor
        await d.press("down")
        assert engine.queue.paused
        assert jobs.cursor == before
        await d.press("v")
        assert jobs.cursor == before + 1


async def test_an_empty_day_says_what_to_do(desk: Open, engine: FakeEngine) -> None:
    async with desk(filled=False) as d:
        engine.put_server(clients=0)
        await d.settled()
        assert "workers-tui connect" in d.text("#job-list")


async def test_the_footer_offers_to_go_back_only_where_there_is_something_to_leave(
    desk: Open,
) -> None:
    async with desk(size=(240, 40)) as d:
        assert "esc back" not in d.footer
        await d.press("2")
        await d.until(lambda: "esc back" in d.footer)
        await d.press("escape")
        await d.until(lambda: "esc back" not in d.footer)
        await d.press("slash", *"tier:code", "enter")
        await d.until(lambda: "esc back" in d.footer)
        await d.press("escape")
        await d.until(lambda: "esc back" not in d.footer)
