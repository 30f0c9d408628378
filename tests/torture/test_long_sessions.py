"""Real Claude Code for long: a thousand restarts in all, and calls of seven minutes."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.peers.claude import Claude, over_http, over_stdio
from tests.peers.stage import ARCHITECT, Stage, beginning, staged

from workers_tui.engine.jobs.job import JobState
from workers_tui.home.places import Home
from workers_tui.simulator.scenario import scenario_of
from workers_tui.simulator.simulator import Simulator

pytestmark = [pytest.mark.torture, pytest.mark.timeout(3600)]

SESSIONS = 10
RESTARTS = 100
"""In each session."""
SEVEN_MINUTES = 420


@pytest.mark.parametrize("session", range(SESSIONS))
async def test_a_dashboard_is_opened_and_closed_a_hundred_times_under_one_session(
    home: Home, tmp_path: Path, session: int
) -> None:
    async with (
        Simulator(ARCHITECT) as architect,
        staged(home) as shop,
        beginning(tmp_path, architect) as begin,
    ):
        claude = await begin(over_stdio(home, **shop.environ))
        for number in range(RESTARTS):
            await once(shop, claude, number)
            architect.seen.clear()  # each holds the whole conversation so far
        jobs = await shop.jobs()
    assert len(jobs) == RESTARTS
    assert {job.state for job in jobs} == {JobState.DONE}


async def once(shop: Stage, claude: Claude, number: int) -> None:
    """One dashboard, one call, the right answer."""
    async with shop.open() as (engine, _):
        await claude.say("ONE")
        (newest,) = await engine.list_jobs(limit=1)
        answer = claude.tool_results()[-1]
        assert f"job={newest.id}]" in answer, (number, answer)


@pytest.mark.parametrize("door", ["stdio", "http"])
async def test_a_call_of_seven_minutes_comes_home(home: Home, tmp_path: Path, door: str) -> None:
    async with (
        Simulator(ARCHITECT) as architect,
        staged(home) as shop,
        beginning(tmp_path, architect) as begin,
    ):
        words = "word " * SEVEN_MINUTES
        slow = {"text": words + "at last", "tokens_per_second": 1.25, "chunk_chars": 5}
        shop.upstream.change(scenario_of({"default": slow}))
        async with shop.open() as (engine, host):
            server = over_stdio(home) if door == "stdio" else over_http(home, host.url or "")
            claude = await begin(server)
            await claude.say("ONE", wait=SEVEN_MINUTES + 180)
            (job,) = await engine.list_jobs()
    assert job.state is JobState.DONE
    assert (job.ms or 0) >= 400_000
    assert "at last" in claude.tool_results()[0]
