"""Real Claude Code at the doors: its model and the workers' provider are scripted on loopback."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.peers.claude import over_http, over_stdio
from tests.peers.stage import ARCHITECT, SECRET_LINE, Begin, Stage, beginning, running, staged

from workers_tui.engine.jobs.job import JobState
from workers_tui.home.places import Home
from workers_tui.home.server_record import read_record
from workers_tui.simulator.scenario import scenario_of
from workers_tui.simulator.simulator import Simulator

pytestmark = [pytest.mark.peers, pytest.mark.timeout(300)]


@pytest.fixture
async def architect() -> AsyncIterator[Simulator]:
    async with Simulator(ARCHITECT) as simulator:
        yield simulator


@pytest.fixture
async def shop(home: Home) -> AsyncIterator[Stage]:
    async with staged(home) as stage:
        yield stage


@pytest.fixture
async def begin(tmp_path: Path, architect: Simulator) -> AsyncIterator[Begin]:
    async with beginning(tmp_path, architect) as start:
        yield start


@pytest.mark.parametrize("door", ["stdio", "http"])
async def test_a_file_of_300_kb_goes_to_a_worker_and_never_to_the_architect(
    shop: Stage, begin: Begin, architect: Simulator, tmp_path: Path, door: str
) -> None:
    async with shop.open() as (engine, host):
        assert host.url is not None
        server = over_stdio(shop.home) if door == "stdio" else over_http(shop.home, host.url)
        claude = await begin(server)
        result = await claude.say("BIG")
        (job,) = await engine.list_jobs()
    assert result["result"] == "the architect has read it"
    (answer,) = claude.tool_results()
    assert answer.startswith("[")
    assert f"job={job.id}]" in answer
    assert job.state is JobState.DONE
    assert job.bytes_out > 300_000
    assert job.tool_use_id == claude.tool_uses()[0]
    assert job.project == str(tmp_path / "project")
    assert (job.client or "").startswith("claude-code 2.")
    assert job.session == (claude.session if door == "stdio" else None)
    assert SECRET_LINE in json.dumps([seen.body for seen in shop.upstream.seen])
    assert SECRET_LINE not in json.dumps([seen.body for seen in architect.seen])


async def test_nobody_serves_and_the_first_call_still_comes_home(shop: Stage, begin: Begin) -> None:
    claude = await begin(over_stdio(shop.home, **shop.environ))
    await claude.say("ONE")
    record = read_record(shop.home)
    assert record is not None
    os.kill(record.pid, signal.SIGTERM)
    assert "job=" in claude.tool_results()[0]


async def test_two_delegations_in_one_message_both_come_home(shop: Stage, begin: Begin) -> None:
    async with shop.open() as (engine, _):
        claude = await begin(over_stdio(shop.home))
        await claude.say("TWO")
        jobs = await engine.list_jobs()
    answers = claude.tool_results()
    assert len(answers) == 2
    assert {job.task for job in jobs} == {"first", "second"}
    assert {job.tool_use_id for job in jobs} == set(claude.tool_uses())


async def test_a_subagent_delegates_under_its_parents_session(shop: Stage, begin: Begin) -> None:
    async with shop.open() as (engine, _):
        claude = await begin(over_stdio(shop.home))
        await claude.say("AGENT")
        (job,) = await engine.list_jobs()
    assert job.task == "from the subagent"
    assert job.session == claude.session
    assert job.state is JobState.DONE


@pytest.mark.parametrize("door", ["stdio", "http"])
async def test_an_interrupt_cancels_the_job_and_closes_the_upstream(
    shop: Stage, begin: Begin, door: str
) -> None:
    shop.upstream.change(scenario_of({"default": {"text": "x" * 4000, "tokens_per_second": 5}}))
    async with shop.open() as (engine, host):
        assert host.url is not None
        server = over_stdio(shop.home) if door == "stdio" else over_http(shop.home, host.url)
        claude = await begin(server)
        await claude.send("ONE")
        job = await running(engine)
        claude.interrupt()
        async with asyncio.timeout(5):
            ended = await engine.ended(job.id)
    assert ended.state is JobState.CANCELLED
    assert ended.cost is not None


async def test_a_dashboard_is_opened_and_closed_ten_times_under_one_session(
    shop: Stage, begin: Begin
) -> None:
    async with shop.open() as (engine, _):
        claude = await begin(over_stdio(shop.home))
        await claude.say("ONE")
    for number in range(10):
        async with shop.open() as (engine, _):
            await claude.say("ONE")
            newest = (await engine.list_jobs(limit=1))[0]
            answer = claude.tool_results()[-1]
            assert f"job={newest.id}]" in answer, (number, answer)
    jobs = await shop.jobs()
    assert [job.state for job in jobs] == [JobState.DONE] * 11
    assert len(claude.tool_results()) == 11


async def test_a_server_that_went_away_is_used_again_over_http(shop: Stage, begin: Begin) -> None:
    async with shop.open() as (_, host):
        assert host.url is not None
        url, port = host.url, int(host.url.split(":")[2].split("/")[0])
        claude = await begin(over_http(shop.home, url))
        await claude.say("ONE")
    await claude.say("ONE")
    assert "job=" not in claude.tool_results()[-1]
    async with shop.open(port=port) as (_, host):
        assert host.url == url
        await claude.say("ONE")
        assert "job=" in claude.tool_results()[-1]
    assert len(await shop.jobs()) == 2
