"""The list of jobs keeps the place that somebody chose, and shows the newest to all others."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from tests.tui.conftest import Desk, Open
from tests.tui.fakes import NOON, FakeEngine, make_job
from tests.tui.fakes import tiers as all_tiers

from workers_tui.engine.jobs.job import AT_HAND, JobState
from workers_tui.tui.panes import jobs as jobs_pane
from workers_tui.tui.panes import tiers
from workers_tui.tui.panes.frame import Frame
from workers_tui.tui.panes.jobs import JobList
from workers_tui.tui.screens.dashboard import DashboardScreen

MANY = 60


def ended(number: int) -> str:
    """The id of a job."""
    return f"n{number:04}"


def come(engine: FakeEngine, first: int, count: int) -> None:
    """So many more jobs that have ended, each a second after the one before."""
    for number in range(first, first + count):
        at = NOON + timedelta(seconds=number)
        engine.put(
            make_job(ended(number), state=JobState.DONE, created_at=at, started_at=at, ended_at=at)
        )


async def many(d: Desk) -> JobList:
    """The list, with more jobs than it has room for."""
    come(d.engine, 0, MANY)
    await d.until(lambda: ended(MANY - 1) in d.text("#job-list"))
    return d.app.screen.query_one(JobList)


def shown(jobs: JobList) -> list[str]:
    """Ids of the rows in sight."""
    top = jobs.scroll_offset.y
    return jobs.table.rows[top : top + jobs.size.height]


async def test_who_never_chose_a_job_sees_the_newest_ones(desk: Open, engine: FakeEngine) -> None:
    async with desk() as d:
        jobs = await many(d)
        assert jobs.scroll_offset.y == 0
        assert jobs.selected is not None
        assert jobs.selected.id in shown(jobs)


@pytest.mark.parametrize(
    ("keys", "row"),
    [
        (["down"], 1),
        (["j", "down", "up"], 1),
        (["end"], MANY + 8),
        (["G", "home"], 0),
        (["G", "g"], 0),
        (["pagedown"], 8),
        (["space", "pageup"], 0),
    ],
)
async def test_keys_move_the_cursor_of_a_list_with_more_rows_than_room(
    desk: Open, engine: FakeEngine, keys: list[str], row: int
) -> None:
    async with desk(size=(80, 24)) as d:
        jobs = await many(d)
        await d.pilot.press("g", *keys)
        await d.settled()
        assert jobs.cursor == row
        assert jobs.selected is not None
        assert jobs.selected.id in shown(jobs)


async def test_a_full_list_says_that_it_holds_the_newest(desk: Open, engine: FakeEngine) -> None:
    async with desk() as d:
        frame = d.app.screen.query_one("#jobs", Frame)
        assert "ended" in frame.title
        table = d.app.screen.query_one(JobList).table
        assert table.active
        come(engine, 0, AT_HAND - 1 - len(table))
        await d.until(lambda: len(table) == AT_HAND - 1)
        await d.settled()
        assert "newest" not in frame.title
        come(engine, AT_HAND, 1)
        await d.until(lambda: f"newest {AT_HAND - len(table.active)} ended" in frame.title)


def test_as_many_picks_as_are_counted_are_the_newest() -> None:
    first, *_, last = all_tiers()
    many = replace(first, picks=AT_HAND - 1)
    assert tiers.picks([many]) == "499 picks"
    assert tiers.picks([many, replace(last, picks=1)]) == "newest 500 picks"


async def test_a_chosen_job_stays_where_the_eye_is(desk: Open, engine: FakeEngine) -> None:
    async with desk() as d:
        jobs = await many(d)
        jobs.select(ended(20))
        await d.settled()
        before = shown(jobs)
        come(engine, MANY, 5)
        await d.until(lambda: len(jobs.table.rows) >= MANY + 5)
        await d.settled()
        assert jobs.selected is not None
        assert jobs.selected.id == ended(20)
        assert shown(jobs) == before
        assert ended(20) in d.text("#job-list")


async def test_a_view_that_was_scrolled_does_not_move(desk: Open, engine: FakeEngine) -> None:
    async with desk() as d:
        jobs = await many(d)
        jobs.scroll_to(y=25, animate=False)
        await d.settled()
        before = shown(jobs)
        come(engine, MANY, 3)
        await d.until(lambda: len(jobs.table.rows) >= MANY + 3)
        await d.settled()
        assert shown(jobs) == before


async def test_left_alone_for_long_the_view_goes_back_to_the_newest(
    desk: Open, engine: FakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with desk() as d:
        jobs = await many(d)
        jobs.select(ended(20))
        await d.settled()
        monkeypatch.setattr(jobs_pane, "HELD_FOR", 0.0)
        come(engine, MANY, 1)
        await d.until(lambda: ended(MANY) in d.text("#job-list"))
        assert jobs.scroll_offset.y == 0
        assert jobs.cursor == 0


async def test_rows_that_only_moved_are_not_drawn_anew(desk: Open, engine: FakeEngine) -> None:
    async with desk() as d:
        jobs = await many(d)
        jobs.table.settle(float("inf"))
        jobs.rows_moved()
        await d.settled()
        drawn: list[str] = []
        draw = jobs.draw_row
        jobs.draw_row = lambda index, width: (  # type: ignore[method-assign]
            drawn.append(jobs.table.rows[index]) or draw(index, width)  # type: ignore[func-returns-value]
        )
        come(engine, MANY, 1)
        await d.until(lambda: ended(MANY) in d.text("#job-list"))
        old = {ended(number) for number in range(MANY)} - {jobs.table.rows[jobs.cursor]}
        assert ended(MANY) in drawn
        assert old.isdisjoint(drawn)
        assert isinstance(d.app.screen, DashboardScreen)


async def test_a_filter_that_leaves_few_of_many_jobs_shows_them_from_the_top(
    desk: Open, engine: FakeEngine
) -> None:
    async with desk() as d:
        jobs = await many(d)
        jobs.move_cursor(30)
        jobs.scroll_to(y=25, animate=False, force=True)
        await d.settled()
        chosen = jobs.selected
        assert chosen is not None
        assert isinstance(d.app.screen, DashboardScreen)
        d.app.screen.filter(chosen.id)
        await d.settled()
        assert d.text("#job-list").splitlines()[0].count(chosen.id) == 1
        assert jobs.selected is not None
        assert jobs.selected.id == chosen.id
