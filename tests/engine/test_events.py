"""Events are numbered, bounded and told to the board."""

from __future__ import annotations

import logging

import pytest

from workers_tui.engine.board import Board, Key, Topic
from workers_tui.engine.clock import SystemClock
from workers_tui.engine.events import KEPT, Events, Level


def test_a_reader_gets_what_is_newer_than_what_it_saw() -> None:
    events = Events(Board(), SystemClock())
    events.tell("config", "one")
    events.tell("config", "two")
    assert [event.text for event in events.since(1)] == ["two"]


def test_only_the_newest_thousand_are_kept() -> None:
    events = Events(Board(), SystemClock())
    for number in range(KEPT + 5):
        events.tell("job", str(number))
    assert next(event.text for event in events.since(0)) == "5"


def test_the_board_and_the_log_hear_of_it(caplog: pytest.LogCaptureFixture) -> None:
    board = Board()
    with caplog.at_level(logging.WARNING):
        Events(board, SystemClock()).tell("provider", "openrouter is paused", level=Level.WARNING)
    assert board.get(Key(Topic.EVENT)) == 1
    assert "openrouter is paused" in caplog.text
