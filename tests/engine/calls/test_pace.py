"""Stepping back from streams: worth it for many at a time, a delay for a few."""

from __future__ import annotations

from contextlib import ExitStack

import pytest

from workers_tui.engine.calls.pace import BUSY_EVENTS, READ, SEVERAL, WINDOW, Pace, Reader


class Time:
    """A clock that is moved by hand."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> Time:
    held = Time()
    monkeypatch.setattr("workers_tui.engine.calls.pace.monotonic", held)
    return held


def due(time: Time, streams: int, events: int) -> bool:
    """Whether any reader is told to step back within three windows of so many events each."""
    pace = Pace()
    with ExitStack() as open_:
        readers = [open_.enter_context(Reader(pace)) for _ in range(streams)]
        told = False
        for number in range(3 * events):
            time.now += WINDOW / events
            told |= readers[number % streams].is_due()
        return told


def test_readers_of_many_busy_streams_step_back(time: Time) -> None:
    assert due(time, SEVERAL, BUSY_EVENTS + 2)


def test_a_few_streams_are_read_as_they_come_however_fast(time: Time) -> None:
    assert not due(time, SEVERAL - 1, 50 * BUSY_EVENTS)


def test_slow_streams_are_read_as_they_come(time: Time) -> None:
    assert not due(time, SEVERAL, BUSY_EVENTS // 2)


def test_a_stream_that_ended_counts_no_more(time: Time) -> None:
    pace = Pace()
    with Reader(pace), Reader(pace):
        assert pace.streams == 2
    assert pace.streams == 0


async def test_nobody_steps_back_again_at_once(time: Time) -> None:
    pace = Pace()
    with ExitStack() as open_:
        reader, *_ = [open_.enter_context(Reader(pace)) for _ in range(SEVERAL)]
        while not reader.is_due():
            time.now += WINDOW / BUSY_EVENTS / 2
        await reader.rest()
        assert not reader.is_due()
        time.now += READ
        assert reader.is_due()
