"""The whole line: official client, our server, the real engine, a simulated provider."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.server.conftest import client_of

from workers_tui.engine.engine import Engine, EngineOptions
from workers_tui.engine.jobs.job import Job, JobState
from workers_tui.engine.spending import usage_log
from workers_tui.home.places import Home
from workers_tui.home.server_record import read_token
from workers_tui.server.host import Host
from workers_tui.simulator.scenario import Scenario, scenario_of
from workers_tui.simulator.simulator import Simulator

ERAS = pytest.mark.parametrize("era", ["legacy", "2026-07-28"])
SLOW = scenario_of({"default": {"text": "word " * 4000, "tokens_per_second": 50}})


@pytest.fixture
async def upstream() -> AsyncIterator[Simulator]:
    async with Simulator(Scenario()) as simulator:
        yield simulator


@pytest.fixture
async def real(home: Home, upstream: Simulator) -> AsyncIterator[Engine]:
    environ = {
        "OPENROUTER_BASE_URL": upstream.url,
        "OPENROUTER_API_KEY": "sk-or-test",
        "HOME": str(home.state.parent),
    }
    engine = await Engine.start(EngineOptions(home=home, environ=environ))
    yield engine
    await engine.close()


@pytest.fixture
async def open_host(real: Engine, tmp_path: Path) -> AsyncIterator[Host]:
    project = tmp_path / "project"
    project.mkdir()
    made = Host(real, port=0, project=project, kind="serve")
    await made.start()
    yield made
    await made.stop()


def said(result: Any) -> str:
    return str(result.content[0].text)


async def streaming(engine: Engine) -> Job:
    async with asyncio.timeout(20):
        while True:
            for job in await engine.list_jobs():
                if job.state is JobState.RUNNING and engine.peek(job.id):
                    return job
            await asyncio.sleep(0.01)


@ERAS
async def test_a_log_of_300_kb_is_summarised(
    open_host: Host, real: Engine, upstream: Simulator, tmp_path: Path, era: str
) -> None:
    (tmp_path / "project" / "big.log").write_text("a quiet line of the log\n" * 12_500)
    arguments = {"task": "summarise this log", "files": ["big.log"]}
    async with client_of(open_host, era) as client:
        result = await client.call_tool("delegate", arguments)
    (job,) = await real.list_jobs()
    assert not result.is_error, said(result)
    assert f"job={job.id}]" in said(result)
    assert job.bytes_out > 300_000
    assert result.meta is not None
    assert result.meta["workers-tui/cost"] > 0


@ERAS
async def test_a_client_that_cancels_closes_the_upstream_within_two_seconds(
    open_host: Host, real: Engine, upstream: Simulator, era: str
) -> None:
    upstream.change(SLOW)
    async with client_of(open_host, era) as client:
        call = asyncio.create_task(client.call_tool("delegate", {"task": "t", "tier": "fast"}))
        job = await streaming(real)
        call.cancel()
        async with asyncio.timeout(2):
            ended = await real.ended(job.id)
        assert ended.state is JobState.CANCELLED
        async with asyncio.timeout(2):
            while not any(bill.cancelled for bill in upstream.book.all()):  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        read = await client.call_tool("delegate_result", {"job_id": job.id})
    assert "word" in said(read)


async def test_the_users_cancel_is_a_clear_error_for_the_client(
    open_host: Host, real: Engine, upstream: Simulator
) -> None:
    upstream.change(SLOW)
    async with client_of(open_host) as client:
        call = asyncio.create_task(client.call_tool("delegate", {"task": "t", "tier": "fast"}))
        job = await streaming(real)
        await real.cancel(job.id)
        async with asyncio.timeout(2):
            result = await call
    assert result.is_error
    assert said(result).startswith(f"job {job.id} cancelled: ")


async def test_a_batch_of_one_session_does_not_starve_another(
    open_host: Host, real: Engine, upstream: Simulator
) -> None:
    upstream.change(scenario_of({"default": {"text": "done", "first_delay": 0.15}}))
    jobs = [{"task": f"batch {number}", "tier": "fast"} for number in range(100)]
    async with client_of(open_host) as greedy, client_of(open_host) as modest:
        batch = asyncio.create_task(greedy.call_tool("delegate_batch", {"jobs": jobs}))
        await streaming_or_done(real)
        result = await modest.call_tool("delegate", {"task": "one", "tier": "fast"})
        assert not result.is_error
        assert said(await batch).count("### ") == 100
    jobs_ = await real.list_jobs(limit=200)
    (single,) = [job for job in jobs_ if job.task == "one"]
    assert single.started_at is not None
    before = [
        job
        for job in jobs_
        if job.started_at is not None and single.created_at < job.started_at < single.started_at
    ]
    # Who was being let in when it came, and one turn of the other session.
    assert len(before) <= 2 * real.config.settings.concurrency, "it waited for the batch"


async def streaming_or_done(engine: Engine) -> None:
    async with asyncio.timeout(20):
        while True:
            if any(job.state is JobState.DONE for job in await engine.list_jobs(limit=200)):
                return
            await asyncio.sleep(0.01)


async def test_an_edited_tier_is_used_by_the_next_call_and_told_to_clients(
    open_host: Host, real: Engine, home: Home
) -> None:
    async with client_of(open_host) as client:
        await client.call_tool("delegate", {"task": "t", "tier": "fast"})
        settings = json.loads(home.models_json.read_text())
        settings["tiers"]["fast"]["model"] = "qwen/qwen3-coder-next"
        home.models_json.write_text(json.dumps(settings))
        result = await client.call_tool("delegate", {"task": "t", "tier": "fast"})
    assert said(result).startswith("[fast/qwen/qwen3-coder-next ")


async def test_a_refused_file_names_the_roots(open_host: Host) -> None:
    async with client_of(open_host) as client:
        result = await client.call_tool("delegate", {"task": "t", "files": ["/etc/passwd"]})
    assert result.is_error
    assert "/etc/passwd" in said(result)
    assert "\n" not in said(result)


@pytest.mark.parametrize("version", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
async def test_every_handshake_version_is_spoken(open_host: Host, version: str) -> None:
    head = {
        "Authorization": f"Bearer {read_token(open_host.engine.home)}",
        "Accept": "application/json, text/event-stream",
    }
    info = {"name": "old", "version": "1"}
    hello = {"protocolVersion": version, "capabilities": {}, "clientInfo": info}
    async with httpx.AsyncClient(headers=head, timeout=30) as http:

        async def post(**message: Any) -> httpx.Response:
            return await http.post(str(open_host.url), json={"jsonrpc": "2.0", **message})

        first = await post(id=0, method="initialize", params=hello)
        assert f'"protocolVersion":"{version}"' in first.text
        http.headers["mcp-session-id"] = first.headers["mcp-session-id"]
        http.headers["mcp-protocol-version"] = version
        await post(method="notifications/initialized")
        call = {"name": "delegate", "arguments": {"task": "hello", "tier": "fast"}}
        answer = await post(id=1, method="tools/call", params=call)
    assert "job=" in answer.text


async def test_who_reads_the_lines_after_the_reply_finds_the_call(
    open_host: Host, real: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    catch_up = usage_log.catch_up

    def slowly(conn: sqlite3.Connection, path: Path) -> int:
        time.sleep(0.02)
        return catch_up(conn, path)

    monkeypatch.setattr(usage_log, "catch_up", slowly)
    async with client_of(open_host) as client:
        result = await client.call_tool("delegate", {"task": "hello"})
    (job,) = await real.list_jobs()
    assert not result.is_error, said(result)
    assert [line["job"] for line in lines_of(real)] == [job.id]


async def test_a_file_of_lines_that_is_kept_locked_holds_up_no_reply(
    open_host: Host, real: Engine
) -> None:
    with usage_log.locked(real.home.usage_jsonl):
        async with client_of(open_host) as client:
            result = await client.call_tool("delegate", {"task": "hello"})
        assert not result.is_error, said(result)
        assert lines_of(real) == []
    await real.ledger.written()
    assert len(lines_of(real)) == 1


def lines_of(engine: Engine) -> list[dict[str, Any]]:
    return [json.loads(line) for line in engine.home.usage_jsonl.read_text().splitlines()]
