"""Turns between sessions, places that can be left, and a number that may change."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from workers_tui.engine.calls.queue import FairQueue


class Line:
    """Workers that note when they got a place."""

    def __init__(self, places: Callable[[], int]) -> None:
        self.queue = FairQueue(places)
        self.order: list[str] = []
        self.tasks: list[asyncio.Task[None]] = []
        self.most = 0

    def add(self, session: str, name: str | None = None) -> asyncio.Task[None]:
        task = asyncio.create_task(self._work(session, name or session))
        self.tasks.append(task)
        return task

    async def _work(self, session: str, name: str) -> None:
        async with self.queue.place(session):
            self.order.append(name)
            self.most = max(self.most, self.queue.working)
            await asyncio.sleep(0)

    async def end(self) -> None:
        await asyncio.gather(*self.tasks, return_exceptions=True)
        assert (self.queue.working, self.queue.waiting) == (0, 0)


async def test_sessions_take_turns() -> None:
    line = Line(lambda: 1)
    for number in range(4):
        line.add("a", f"a{number}")
    for session in ("b", "c"):
        line.add(session)
    await line.end()
    assert line.order == ["a0", "a1", "b", "c", "a2", "a3"]


async def test_never_more_work_than_there_are_places() -> None:
    line = Line(lambda: 3)
    for number in range(20):
        line.add(str(number % 2))
    await line.end()
    assert line.most == 3


async def test_more_places_count_at_once() -> None:
    places = 0
    line = Line(lambda: places)
    line.add("a")
    await asyncio.sleep(0)
    assert line.order == []
    places = 1
    line.queue.move()
    await line.end()
    assert line.order == ["a"]


async def test_a_pause_lets_nobody_start() -> None:
    line = Line(lambda: 2)
    line.queue.pause()
    line.add("a")
    await asyncio.sleep(0)
    assert (line.order, line.queue.waiting) == ([], 1)
    line.queue.resume()
    await line.end()
    assert line.order == ["a"]


async def test_who_steps_aside_frees_the_place_and_comes_back() -> None:
    queue = FairQueue(lambda: 1)
    async with queue.place("a") as place:
        async with place.aside():
            assert queue.working == 0
            async with queue.place("b"):
                assert queue.working == 1
        assert queue.working == 1
    assert queue.working == 0


async def test_who_gives_up_while_aside_leaves_nothing_taken() -> None:
    queue = FairQueue(lambda: 1)

    async def work() -> None:
        async with queue.place("a") as place, place.aside():
            await asyncio.Event().wait()

    task = asyncio.create_task(work())
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert queue.working == 0


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.booleans(), st.integers(0, 3)), max_size=25),
    st.integers(1, 3),
)
async def test_cancels_at_any_moment_lose_no_place(
    steps: list[tuple[str, bool, int]], places: int
) -> None:
    line = Line(lambda: places)
    for session, cancel, yields in steps:
        task = line.add(session)
        for _ in range(yields):
            await asyncio.sleep(0)
        if cancel:
            task.cancel()
    await line.end()
    assert line.most <= places
    line.add("last")
    await line.end()
    assert line.order[-1] == "last"
