"""The board coalesces and never loses a last value."""

from __future__ import annotations

import asyncio

from workers_tui.engine.board import Board, Key, Topic

JOB = Key(Topic.JOB, "a")


async def test_a_new_watcher_gets_everything_at_first() -> None:
    board = Board()
    board.put(JOB, 1)
    assert await board.watch().changed() == {JOB}


async def test_many_changes_are_one_key_and_the_last_value() -> None:
    board = Board()
    watcher = board.watch()
    for value in range(1000):
        board.put(JOB, value)
    assert await watcher.changed() == {JOB}
    assert board.get(JOB) == 999
    assert watcher.take() == frozenset()


async def test_a_change_wakes_who_waits() -> None:
    board = Board()
    watcher = board.watch()
    waiting = asyncio.ensure_future(watcher.changed())
    await asyncio.sleep(0)
    assert not waiting.done()
    board.put(JOB, 1)
    assert await waiting == {JOB}


async def test_an_equal_value_wakes_nobody() -> None:
    board = Board()
    board.put(JOB, (1, 2))
    watcher = board.watch()
    watcher.take()
    board.put(JOB, (1, 2))
    assert watcher.take() == frozenset()


async def test_a_dropped_value_is_told_and_gone() -> None:
    board = Board()
    board.put(JOB, 1)
    watcher = board.watch()
    watcher.take()
    board.drop(JOB)
    assert watcher.take() == {JOB}
    assert board.get(JOB) is None
    assert board.names(Topic.JOB) == []


async def test_a_closed_watcher_hears_nothing_more() -> None:
    board = Board()
    watcher = board.watch()
    watcher.close()
    board.put(JOB, 1)
    assert watcher.take() == frozenset()


async def test_a_watcher_of_one_topic_sleeps_through_the_others() -> None:
    board = Board()
    tier = Key(Topic.TIER, "fast")
    board.put(JOB, 1)
    board.put(tier, 1)
    watcher = board.watch(Topic.TIER)
    assert await watcher.changed() == {tier}
    waiting = asyncio.ensure_future(watcher.changed())
    board.put(JOB, 2)
    await asyncio.sleep(0)
    assert not waiting.done()
    board.put(tier, 2)
    assert await waiting == {tier}


async def test_the_board_is_hurried_until_every_job_is_calm_or_its_time_is_over() -> None:
    board = Board()
    assert not board.hurried
    board.hurry("a", 60)
    board.hurry("b", 60)
    board.calm("a")
    assert board.hurried
    board.hurry("b", 0)
    assert not board.hurried
    board.calm("b")
