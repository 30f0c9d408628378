"""The list of agent workers: state, models, the month's spend, and the way to the first one."""

from __future__ import annotations

from tests.tui.conftest import Open
from tests.tui.fakes import FakeEngine, worker

from workers_tui.engine.board import Key, Topic
from workers_tui.tui.panes.frame import Frame
from workers_tui.tui.panes.workers import facts, slots


async def test_empty_then_listed_then_the_jobs_of_one(desk: Open, engine: FakeEngine) -> None:
    async with desk() as d:
        await d.press("W")
        await d.until(lambda: "workers-tui worker create" in d.text("WorkerList"))
        assert not d.app.screen.query_one("#worker").size, "no facts without a worker"
        problem = "it has no key: `workers-tui worker set-key` gives it one"
        engine.board.put(Key(Topic.WORKER, "glm"), worker())
        engine.board.put(Key(Topic.WORKER, "kimi"), worker("kimi", state="broken", problem=problem))
        await d.until(lambda: "glm-5, small glm-5-air" in d.text("WorkerList"))
        glm, kimi = d.text("WorkerList").splitlines()
        assert "ready" in glm
        assert "$4.20" in glm
        assert "it has no key" in kimi
        assert "2 agent workers $8.40 this month" in d.app.screen.query_one("#workers", Frame).title
        await d.press("down")
        await d.until(lambda: "set-key" in d.text("WorkerFacts"))
        await d.press("enter")
        await d.until(lambda: engine.asked[-1] == ("list", {"worker": "kimi", "limit": 200}))
        await d.press("escape", "escape", "escape")
        await d.until(lambda: bool(d.app.screen.query("#job-list")))


async def test_the_smallest_screen_has_room_for_the_list(desk: Open, engine: FakeEngine) -> None:
    engine.board.put(Key(Topic.WORKER, "glm"), worker())
    async with desk(size=(60, 15)) as d:
        await d.press("W")
        await d.until(lambda: "glm" in d.text("WorkerList"))
        assert d.app.screen.query_one("WorkerList").size.height >= 8


async def test_a_worker_removed_beside_us_goes(desk: Open, engine: FakeEngine) -> None:
    engine.board.put(Key(Topic.WORKER, "glm"), worker())
    async with desk(size=(80, 24)) as d:
        await d.press("W")
        await d.until(lambda: "glm" in d.text("WorkerList"))
        engine.board.drop(Key(Topic.WORKER, "glm"))
        await d.until(lambda: "No agent worker yet" in d.text("WorkerList"))


def test_one_model_is_named_once() -> None:
    assert slots(worker(small_model="glm-5")) == "glm-5"


def test_a_flat_rate_and_this_machine_are_told() -> None:
    told = "\n".join(
        "".join(text for text, _ in row) for row in facts(worker(plan=True, loopback=True))
    )
    assert "a flat rate" in told
    assert "on this machine" in told
