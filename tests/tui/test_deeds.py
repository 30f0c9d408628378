"""Deeds outlast their screen; one that is put up or taken down is shown nothing."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from tests.tui.conftest import Desk, Open
from tests.tui.fakes import FakeEngine
from textual import events
from textual.widgets import OptionList

from workers_tui.engine.board import Key, Topic
from workers_tui.engine.errors import StoreUnusable
from workers_tui.engine.jobs.job import Job, JobState
from workers_tui.tui.panes.jobs import JobList
from workers_tui.tui.screens.dashboard import DashboardScreen
from workers_tui.tui.screens.detail import DetailScreen
from workers_tui.tui.screens.face import Face
from workers_tui.tui.screens.palette import Palette

SCREENS = [
    "", "enter", "h", "W", "S", "2 2", "3 3", "4 4", "5 5", "question_mark", "T", "ctrl+p",
    "n", "b", "e",
]  # fmt: skip
"""What opens each screen, and the prompt, the editor and a picker; nothing is the dashboard."""


async def show_at_every_step(d: Desk) -> None:
    """Show a second's pass, every change, news and answers each time the loop turns."""
    observer, board = d.app.observer, d.engine.board
    assert observer is not None
    keys = frozenset(Key(topic, name) for topic in Topic for name in board.names(topic))
    seen: set[Face] = set()
    while True:
        await asyncio.sleep(0)
        observer._tick()
        observer._take(d.engine, keys, 0.0)  # type: ignore[arg-type]
        d.app.tell("something happened")
        seen.update(screen for screen in d.app.screen_stack if isinstance(screen, Face))
        for face in seen:
            face.say("done")
            face.show_hints()


@pytest.mark.parametrize("keys", SCREENS)
async def test_what_happens_while_the_dashboard_ends_is_no_error(desk: Open, keys: str) -> None:
    async with desk() as d:
        await d.press(*keys.split())
        await d.settled()
        showing = asyncio.create_task(show_at_every_step(d))
        await asyncio.sleep(0)
    assert not showing.done(), showing.exception()
    showing.cancel()


@pytest.mark.parametrize("keys", SCREENS[1:])
async def test_what_happens_while_a_screen_opens_and_closes_is_no_error(
    desk: Open, keys: str
) -> None:
    async with desk() as d:
        showing = asyncio.create_task(show_at_every_step(d))
        for each in (keys, "escape"):
            for key in each.split():
                d.app.post_message(events.Key(key, key if len(key) == 1 else None))
            await asyncio.wait({showing}, timeout=0.5)
        assert not showing.done(), showing.exception()
        showing.cancel()


@pytest.mark.parametrize("turns", range(0, 40, 3))
async def test_a_text_that_comes_while_its_screen_closes_is_no_error(
    desk: Open, engine: FakeEngine, monkeypatch: pytest.MonkeyPatch, turns: int
) -> None:
    async def late(job_id: str) -> str:
        for _ in range(turns):
            await asyncio.sleep(0)
        return "late"

    async with desk() as d:
        d.app.screen.query_one(JobList).select("a31bc")
        await d.press("enter")
        await d.until(lambda: isinstance(d.app.screen, DetailScreen))
        monkeypatch.setattr(engine, "text", late)
        detail = d.app.screen
        assert isinstance(detail, DetailScreen)
        engine.put(replace(await engine.job("a31bc"), turns=9))
        detail.show(frozenset({Key(Topic.OUTPUT, "a31bc")}))
        detail.dismiss(None)
        await d.until(lambda: not detail.is_attached)
        await d.settled()
        assert d.app.is_running


async def test_what_was_asked_for_is_done_and_told_although_its_screen_is_left(
    desk: Open, engine: FakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    rerun, goes_on = engine.rerun, asyncio.Event()

    async def slow(job_id: str, tier: str | None = None) -> Job:
        await goes_on.wait()
        return await rerun(job_id, tier)

    monkeypatch.setattr(engine, "rerun", slow)
    async with desk() as d:
        d.app.screen.query_one(JobList).select("a31bc")
        await d.press("enter")
        await d.until(lambda: isinstance(d.app.screen, DetailScreen))
        await d.press("r", "escape")
        await d.until(lambda: isinstance(d.app.screen, DashboardScreen))
        await d.settled()
        goes_on.set()
        await d.until(lambda: "new1 repeats a31bc" in d.footer)


@pytest.mark.parametrize("keys", ["enter w", "S k", "2 2 b"])
async def test_a_screen_left_with_a_question_open_leaves_nobody_waiting(
    desk: Open, engine: FakeEngine, keys: str
) -> None:
    engine.add_text("a31bc", "some text\n")
    async with desk() as d:
        d.app.screen.query_one(JobList).select("a31bc")
        await d.press(*keys.split())
        await d.until(lambda: bool(d.app.screen.query("CellEditor, .-prompts")))
        left = d.app.screen
        assert isinstance(left, Face)
        deeds = [worker for worker in d.app.workers if worker.group == "deeds"]
        assert deeds
        left.dismiss(None)
        await d.until(lambda: all(worker.is_finished for worker in deeds))
        await d.settled()
        assert isinstance(d.app.screen, DashboardScreen)
        assert "quit" in d.footer


async def test_what_refuses_a_deed_is_told_and_does_not_end_the_dashboard(
    desk: Open, engine: FakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def gone(job_id: str) -> Job:
        raise StoreUnusable(f"the store is gone, and {job_id} with it")

    monkeypatch.setattr(engine, "ended", gone)
    async with desk() as d:
        await d.press("t")
        await d.until(lambda: "the store is gone" in d.footer)
        assert d.app.is_running


@pytest.mark.parametrize("action", ["page_down", "page_up", "last", "first", "cursor_up"])
async def test_keys_for_a_palette_without_its_list_do_nothing(desk: Open, action: str) -> None:
    async with desk(size=(40, 4)) as d:
        await d.press("ctrl+p")
        palette = d.app.screen
        assert isinstance(palette, Palette)
        await d.until(lambda: palette.query_one(OptionList).highlighted is not None)
        assert not palette.query_one(OptionList).scrollable_content_region
        await palette.run_action(f"command_list('{action}')")
        await d.settled()
        assert d.app.is_running


async def test_a_job_begun_here_that_is_refused_says_why(
    desk: Open, engine: FakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused, over = "the cap of $0.00 is reached", asyncio.Event()

    async def ended(job_id: str) -> Job:
        await over.wait()
        return replace(await engine.job(job_id), state=JobState.REFUSED, error=refused)

    monkeypatch.setattr(engine, "ended", ended)
    async with desk() as d:
        await d.press("n", *"hi", "enter")
        await d.until(lambda: "d1 is queued" in d.footer)
        over.set()
        await d.until(lambda: f"d1: {refused}" in d.footer)
