"""What can wait lets calls pass, but not for ever."""

from __future__ import annotations

import time

from workers_tui.engine.rush import LASTS, Rush


async def test_without_a_rush_nobody_waits() -> None:
    started = time.monotonic()
    await Rush().over(60)
    assert time.monotonic() - started < 30


async def test_a_rush_is_over_by_itself() -> None:
    rush, started = Rush(), time.monotonic()
    rush.note()
    await rush.over(60)
    assert LASTS <= time.monotonic() - started < 30


async def test_patience_ends_before_a_rush_that_goes_on() -> None:
    rush, started = Rush(), time.monotonic()
    rush.note()
    await rush.over(LASTS / 10)
    assert LASTS / 10 <= time.monotonic() - started < 30
