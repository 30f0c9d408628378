"""When changes are shown: together, and not while a call is in a hurry."""

from __future__ import annotations

import asyncio

from workers_tui.engine.board import Board, Key, Topic
from workers_tui.tui.observer import MOMENT, gathered

JOB = Key(Topic.JOB, "a")


async def test_changes_wait_for_a_call_in_a_hurry() -> None:
    board = Board()
    watcher = board.watch()
    board.hurry("a", 60)

    def over() -> None:
        board.put(JOB, 1)
        board.calm("a")

    asyncio.get_running_loop().call_later(MOMENT * 2.5, over)
    assert await gathered(board, watcher) == {JOB}


async def test_calls_that_are_always_in_a_hurry_do_not_keep_the_screen_still() -> None:
    board = Board()
    watcher = board.watch()
    board.put(JOB, 1)
    board.hurry("a", 3600)
    async with asyncio.timeout(10):
        assert await gathered(board, watcher) == {JOB}
