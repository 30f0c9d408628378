"""The tools through the official client over HTTP, in both protocol eras."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx2
import pytest
from mcp.types import CallToolResult
from tests.server.conftest import Connect, client_of, meta
from tests.server.fake_engine import FakeEngine

from workers_tui.engine.errors import BudgetRefused, KeyRejected
from workers_tui.engine.jobs.job import JobState
from workers_tui.forwarder.told import DELEGATION, KEYS, SESSION
from workers_tui.home.server_record import read_token
from workers_tui.server import following
from workers_tui.server.host import Host
from workers_tui.server.schemas import DELEGATING

ERAS = pytest.mark.parametrize("era", ["legacy", "2025-06-18", "2026-07-28", "auto"])


def text_of(result: CallToolResult) -> str:
    (block,) = result.content
    assert block.type == "text"
    return block.text


@pytest.mark.parametrize("era", ["legacy", "2026-07-28", "auto"])
async def test_a_delegated_task_comes_back_with_its_first_line(
    connect: Connect, engine: FakeEngine, era: str
) -> None:
    async with connect(era) as client:
        result = await client.call_tool("delegate", {"task": "say it"})
    assert not result.is_error
    first, answer = text_of(result).split("\n")
    assert first == (
        "[fast/m/fast in=100 out=20 $0.000123 (reported) 812ms job=job1] auto: short text"
    )
    assert answer == "the answer"
    assert result.structured_content is None
    assert result.meta is not None
    assert result.meta["workers-tui/job"] == "job1"
    assert result.meta["workers-tui/cost"] == 0.000123
    assert result.meta["workers-tui/source"] == "reported"
    assert result.meta["workers-tui/usage"]["output"] == 20


@pytest.mark.parametrize("era", ["legacy", "2026-07-28"])
async def test_a_client_that_cancels_ends_its_job(
    connect: Connect, engine: FakeEngine, era: str
) -> None:
    engine.hold = True
    async with connect(era) as client:
        call = asyncio.create_task(client.call_tool("delegate", {"task": "long"}))
        await engine.started.wait()
        call.cancel()
        job = await asyncio.wait_for(engine.ended("job1"), 2)
        engine.hold = False
        assert not (await client.call_tool("delegate", {"task": "next"})).is_error
    assert job.state is JobState.CANCELLED
    assert [name for name, _ in engine.cancelled] == ["job1"]


async def test_clients_of_one_name_do_not_cancel_each_others_jobs(
    connect: Connect, engine: FakeEngine
) -> None:
    engine.hold = True
    async with connect("2026-07-28") as one, connect("2026-07-28") as other:
        calls = []
        for client in (one, other):
            engine.started.clear()
            calls.append(asyncio.create_task(client.call_tool("delegate", {"task": "long"})))
            await engine.started.wait()
        calls[0].cancel()
        assert (await asyncio.wait_for(engine.ended("job1"), 2)).state is JobState.CANCELLED
        engine.finish("job2", text="mine")
        assert "mine" in text_of(await calls[1])
    assert [name for name, _ in engine.cancelled] == ["job1"]


async def test_a_dropped_connection_leaves_the_job_running(host: Host, engine: FakeEngine) -> None:
    engine.hold = True
    initialize = {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "raw", "version": "1"},
    }
    head = {
        "Authorization": f"Bearer {read_token(engine.home)}",
        "Accept": "application/json, text/event-stream",
    }
    assert host.url is not None
    async with httpx2.AsyncClient(headers=head) as http:

        async def post(body: dict[str, Any]) -> httpx2.Response:
            return await http.post(str(host.url), json={"jsonrpc": "2.0", **body})

        first = await post({"id": 0, "method": "initialize", "params": initialize})
        http.headers["mcp-session-id"] = first.headers["mcp-session-id"]
        await post({"method": "notifications/initialized"})
        call = {"name": "delegate", "arguments": {"task": "long"}}
        pending = asyncio.create_task(post({"id": 1, "method": "tools/call", "params": call}))
        await engine.started.wait()
        pending.cancel()
        await asyncio.wait({pending})
    engine.finish("job1", text="kept")
    assert engine.cancelled == []
    async with client_of(host) as client:
        assert "kept" in text_of(await client.call_tool("delegate_result", {"job_id": "job1"}))


async def test_a_session_that_closes_leaves_its_job_running(host: Host, engine: FakeEngine) -> None:
    engine.hold = True
    async with client_of(host) as client:
        call = asyncio.create_task(client.call_tool("delegate", {"task": "long"}))
        await engine.started.wait()
        (known,) = host.clients.all()
        head = {"Authorization": f"Bearer {read_token(engine.home)}", "mcp-session-id": known.key}
        async with httpx2.AsyncClient(headers=head) as http:
            assert (await http.delete(str(host.url))).status_code == 200
        await asyncio.wait({call}, timeout=5)
        call.cancel()
    assert engine.cancelled == []
    engine.finish("job1", text="kept")
    async with client_of(host) as other:
        assert "kept" in text_of(await other.call_tool("delegate_result", {"job_id": "job1"}))


@pytest.mark.parametrize("era", ["legacy", "2026-07-28"])
async def test_a_refusal_is_a_tool_error_in_one_line(
    connect: Connect, engine: FakeEngine, era: str
) -> None:
    engine.refusal = BudgetRefused("the cap is full:\n$3.00 of $3.00")
    async with connect(era) as client:
        result = await client.call_tool("delegate", {"task": "t"})
    assert result.is_error
    assert text_of(result) == "the cap is full: $3.00 of $3.00"


async def test_a_failed_job_names_the_money_and_where_the_partial_text_is(
    connect: Connect, engine: FakeEngine
) -> None:
    engine.hold = True
    async with connect() as client:
        call = asyncio.create_task(client.call_tool("delegate", {"task": "t"}))
        await engine.started.wait()
        engine.finish("job1", JobState.FAILED, "half an ans", error="the provider broke off")
        result = await call
    assert result.is_error
    said = text_of(result)
    assert said.startswith("job job1 failed: the provider broke off; $0.000123 (reported) spent")
    assert 'delegate_result(job_id="job1")' in said


async def test_a_missing_key_says_that_the_caller_has_one(
    connect: Connect, engine: FakeEngine
) -> None:
    engine.refusal = KeyRejected("no key for openrouter: workers-tui key set openrouter")
    async with connect(headers={KEYS: "OPENROUTER_API_KEY"}) as client:
        result = await client.call_tool("delegate", {"task": "t"})
    assert "OPENROUTER_API_KEY is set where the client runs" in text_of(result)


async def test_a_key_that_is_found_missing_later_says_so_too(
    connect: Connect, engine: FakeEngine
) -> None:
    engine.hold = True
    async with connect(headers={KEYS: "OPENROUTER_API_KEY"}) as client:
        call = asyncio.create_task(client.call_tool("delegate", {"task": "t"}))
        await engine.started.wait()
        engine.failures["job1"] = KeyRejected("no key for openrouter")
        engine.finish("job1", JobState.FAILED, "", error="no key for openrouter")
        said = text_of(await call)
    assert said.startswith(
        "job job1 failed: no key for openrouter (OPENROUTER_API_KEY is set where"
    )


async def test_a_batch_answers_in_order_and_a_bad_entry_spoils_only_itself(
    connect: Connect, engine: FakeEngine
) -> None:
    jobs = [{"task": "one"}, {"task": "  "}, {"task": "three"}]
    async with connect() as client:
        result = await client.call_tool("delegate_batch", {"jobs": jobs})
    assert not result.is_error
    one, two, three = text_of(result).split("\n\n")
    assert one.startswith("### 1/3\n[fast/m/fast ")
    assert two == "### 2/3\ntask is empty: say what to do"
    assert three.startswith("### 3/3\n[fast/m/fast ")
    assert [request.task for request, _ in engine.asked] == ["one", "three"]


async def test_a_batch_in_which_all_fail_is_an_error(connect: Connect, engine: FakeEngine) -> None:
    engine.refusal = BudgetRefused("no room")
    async with connect() as client:
        result = await client.call_tool("delegate_batch", {"jobs": [{"task": "a"}, {"task": "b"}]})
    assert result.is_error


async def test_a_long_answer_is_cut_and_its_pages_join_to_the_whole(
    connect: Connect, engine: FakeEngine
) -> None:
    engine.answer = "".join(f"{number:06d}\n" for number in range(17_143))
    limit = engine.config.settings.max_return_chars
    async with connect() as client:
        cut = text_of(await client.call_tool("delegate", {"task": "t"}))
        assert len(cut) < limit + 400
        assert f"offset={limit}" in cut
        read, offset = "", 0
        while offset < len(engine.answer):
            said = await client.call_tool("delegate_result", {"job_id": "job1", "offset": offset})
            page = text_of(said)
            assert len(page) < 50_000
            body = page.split("\n", 1)[1].split("\n[characters")[0]
            read += body
            offset += len(body)
    assert read == engine.answer


async def test_progress_comes_at_least_every_ten_seconds(
    connect: Connect, engine: FakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert following.FIRST_AFTER <= following.EVERY <= 10
    monkeypatch.setattr(following, "FIRST_AFTER", 0.01)
    monkeypatch.setattr(following, "EVERY", 0.01)
    engine.hold = True
    said: list[tuple[float, str | None]] = []

    async def heard(progress: float, total: float | None, message: str | None) -> None:
        said.append((progress, message))
        if len(said) == 5:
            engine.finish("job1")

    async with connect() as client:
        result = await client.call_tool("delegate", {"task": "t"}, progress_callback=heard)
    assert not result.is_error
    assert said[0][1] == "job job1 running"
    numbers = [number for number, _ in said]
    assert numbers == sorted(set(numbers))


async def test_delegation_off_hides_and_refuses(connect: Connect, engine: FakeEngine) -> None:
    async with connect(headers={DELEGATION: "off"}) as client:
        names = {tool.name for tool in (await client.list_tools()).tools}
        result = await client.call_tool("delegate", {"task": "t"})
        read = await client.call_tool("worker_stats", {})
    assert "delegate" not in names
    assert "delegate_result" in names
    assert result.is_error
    assert "delegation is off" in text_of(result)
    assert not read.is_error
    assert engine.asked == []


async def test_delegation_on_demand_leaves_it_to_the_user(connect: Connect) -> None:
    async with connect(headers={DELEGATION: "ondemand"}) as client:
        tools = (await client.list_tools()).tools
    said = {tool.name: tool.description or "" for tool in tools}
    waiting = {name for name, words in said.items() if words.startswith("Only when the user asks")}
    assert waiting == DELEGATING


async def test_of_several_modes_the_strictest_wins(host: Host, engine: FakeEngine) -> None:
    engine.environ["WORKERS_DELEGATION"] = "ondemand"
    async with client_of(host, headers={DELEGATION: "auto"}) as client:
        tools = {tool.name: tool.description or "" for tool in (await client.list_tools()).tools}
        assert client.instructions is not None
        assert "when the user asks" in client.instructions
    assert tools["delegate"].startswith("Only when the user asks")


async def test_the_session_of_the_header_stands_on_the_job(
    connect: Connect, engine: FakeEngine
) -> None:
    async with connect(headers={SESSION: "s-1"}) as client:
        await client.call_tool(
            "delegate", {"task": "t"}, meta=meta({"claudecode/toolUseId": "toolu_7"})
        )
    (_, origin) = engine.asked[0]
    assert (origin.session, origin.tool_use_id) == ("s-1", "toolu_7")


async def test_nulls_count_as_left_out(connect: Connect, engine: FakeEngine) -> None:
    arguments = {"task": "t", "tier": None, "files": None, "write_to": None, "max_tokens": None}
    async with connect() as client:
        assert not (await client.call_tool("delegate", arguments)).is_error
    (request, _) = engine.asked[0]
    assert (request.tier, request.files, request.max_tokens) == ("auto", (), None)


async def test_jobs_are_listed_shown_and_cancelled(connect: Connect, engine: FakeEngine) -> None:
    engine.hold = True
    async with connect() as client:
        call = asyncio.create_task(client.call_tool("delegate", {"task": "first line\nsecond"}))
        await engine.started.wait()
        listed = text_of(await client.call_tool("delegate_list", {"state": "running"}))
        status = text_of(await client.call_tool("delegate_status", {"job_id": "job1"}))
        stopped = text_of(await client.call_tool("delegate_cancel", {"job_id": "job1"}))
        assert (await call).is_error
        empty = text_of(await client.call_tool("delegate_list", {"state": "running"}))
        unknown = await client.call_tool("delegate_status", {"job_id": "nope"})
        wrong = await client.call_tool("delegate_list", {"state": "asleep"})
    assert listed.endswith("| first line")
    assert status.startswith("job=job1 call running")
    assert stopped == "job job1 is being cancelled"
    assert empty == "no jobs"
    assert unknown.is_error
    assert "queued" in text_of(wrong)


async def test_statistics_are_a_few_lines(connect: Connect, engine: FakeEngine) -> None:
    async with connect() as client:
        said = text_of(await client.call_tool("worker_stats", {}))
    assert "$0.50 spent, $0.10 held, $2.40 free of $3.00" in said
    assert "(1 pending cost)" in said
    assert len(said) < 500


async def test_an_unknown_tool_is_named_with_those_there_are(
    connect: Connect, engine: FakeEngine
) -> None:
    async with connect() as client:
        result = await client.call_tool("delgate", {})
    assert result.is_error
    assert "there is no tool delgate; there are: delegate" in text_of(result)


async def test_waiting_for_a_result_ends_with_the_job(connect: Connect, engine: FakeEngine) -> None:
    engine.hold = True
    async with connect() as client:
        call = asyncio.create_task(client.call_tool("delegate", {"task": "t"}))
        await engine.started.wait()
        at_once = await client.call_tool("delegate_result", {"job_id": "job1"})
        assert "still running" in text_of(at_once)
        waiting = asyncio.create_task(
            client.call_tool("delegate_result", {"job_id": "job1", "wait_seconds": 30})
        )
        await client.send_ping()
        engine.finish("job1", text="now")
        assert text_of(await waiting).endswith("\nnow")
        await call


async def test_what_was_written_to_a_file_shows_its_first_lines(
    connect: Connect, engine: FakeEngine
) -> None:
    engine.hold = True
    async with connect() as client:
        call = asyncio.create_task(client.call_tool("delegate", {"task": "t"}))
        await engine.started.wait()
        text = "\n".join(f"line {number}" for number in range(1, 31))
        engine.finish("job1", text=text, written="out.md")
        said = text_of(await call)
    assert "\nwrote out.md (30 lines)\nline 1\n" in said
    assert said.endswith("line 20\n… 10 more lines")
