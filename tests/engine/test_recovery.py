"""What remains after a kill -9 at each step of a call."""

from __future__ import annotations

import pytest
from tests.engine.aftermath import Promises, examine, run_victim
from tests.engine.victim import STEPS

from workers_tui.home.places import Home


@pytest.mark.parametrize("step", STEPS)
async def test_kill_9_at_a_step_loses_nothing(home: Home, step: str) -> None:
    promises = Promises()
    assert await run_victim(home, step, 7, 3, promises) == -9
    found = await examine(home, promises)
    assert found.lost == []
    assert found.held == 0
