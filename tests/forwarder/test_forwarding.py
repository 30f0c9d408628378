"""Calls through the forwarder to a server and back."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.forwarder.conftest import BOTH_ERAS, Forward, Serve
from tests.forwarder.stdio import text_of
from tests.server.fake_engine import FakeEngine

from workers_tui.engine.jobs.job import JobState

pytestmark = BOTH_ERAS


async def test_a_call_comes_home_with_its_answer(
    forward: Forward, serve: Serve, engine: FakeEngine
) -> None:
    await serve()
    client = await forward()
    await client.greet()
    answer = await client.call(7, "delegate", {"task": "say it"})
    assert text_of(answer).endswith("the answer")
    assert answer["result"]["_meta"]["workers-tui/job"] == "job1"
    assert await client.leave() == 0


async def test_the_session_and_the_project_stand_on_the_job(
    forward: Forward, serve: Serve, engine: FakeEngine, tmp_path: Path
) -> None:
    await serve()
    project = tmp_path / "prójekt %41"
    project.mkdir()
    client = await forward(CLAUDE_CODE_SESSION_ID="abc-1", CLAUDE_PROJECT_DIR=str(project))
    await client.greet()
    await client.call(
        1, "delegate", {"task": "read", "files": ["a"]}, **{"claudecode/toolUseId": "toolu_1"}
    )
    (_, origin) = engine.asked[0]
    assert origin.roots == (project,)
    assert (origin.session, origin.project) == ("abc-1", str(project))
    assert origin.tool_use_id == "toolu_1"
    assert origin.client == "tester 1"


async def test_roots_of_the_client_are_asked_through_the_forwarder(
    forward: Forward, serve: Serve, engine: FakeEngine, tmp_path: Path, era: str
) -> None:
    await serve()
    client = await forward()
    await client.greet()
    params: dict[str, Any] = {"name": "delegate", "arguments": {"task": "t", "files": ["a"]}}
    roots = {"roots": [{"uri": tmp_path.as_uri()}]}
    await client.send({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
    if era == "handshake":
        asked = await client.notice("roots/list")
        await client.send({"jsonrpc": "2.0", "id": asked["id"], "result": roots})
        await client.answer(1)
    else:
        result = (await client.answer(1))["result"]
        assert result["resultType"] == "input_required"
        ((name, asked),) = result["inputRequests"].items()
        assert asked["method"] == "roots/list"
        again = {**params, "inputResponses": {name: roots}}
        assert text_of(await client.ask(2, "tools/call", again)).endswith("the answer")
    assert engine.asked[0][1].roots == (tmp_path,)
    assert len(engine.asked) == 1


async def test_progress_carries_the_clients_own_token(
    forward: Forward, serve: Serve, engine: FakeEngine
) -> None:
    await serve()
    client = await forward()
    await client.greet()
    await client.call(1, "delegate", {"task": "t"}, progressToken="mine")
    told = await client.notice("notifications/progress")
    assert told["params"]["progressToken"] == "mine"
    assert "_meta" not in told["params"]


@pytest.mark.parametrize("token", [{"a": 1}, [1], 1.5, float("nan"), True])
async def test_a_token_that_is_none_asks_for_no_progress(
    forward: Forward, serve: Serve, token: object
) -> None:
    await serve()
    client = await forward()
    await client.greet()
    await client.call(1, "delegate", {"task": "t"}, progressToken=token)
    assert not [one for one in client.seen if one.get("method") == "notifications/progress"]


async def test_half_a_character_in_a_call_does_not_keep_it_from_the_server(
    forward: Forward, serve: Serve, engine: FakeEngine
) -> None:
    await serve()
    client = await forward()
    await client.greet()
    answer = await client.call(1, "delegate", {"task": "cut \ud83d here, \U0001f600 whole"})
    assert text_of(answer).endswith("the answer")
    assert engine.asked[0][0].task == "cut ? here, \U0001f600 whole"


async def test_progress_of_one_call_never_reaches_another(
    forward: Forward, serve: Serve, engine: FakeEngine
) -> None:
    engine.hold = True
    await serve()
    client = await forward()
    await client.greet()
    for name in ("one", "two"):
        params = {"name": "delegate", "arguments": {"task": name}, "_meta": {"progressToken": name}}
        await client.send({"jsonrpc": "2.0", "id": name, "method": "tools/call", "params": params})
        await client.wait(lambda one, name=name: progress_of(one) == name)
    engine.finish("job1")
    engine.finish("job2")
    await client.answer("one")
    await client.answer("two")
    told = [
        (progress_of(one), one["params"]["message"].split()[1])
        for one in client.seen
        if "queued" in one.get("params", {}).get("message", "")
    ]
    assert told == [("one", "job1"), ("two", "job2")]


def progress_of(message: dict[str, Any]) -> Any:
    return message.get("params", {}).get("progressToken")


async def test_a_silent_call_is_waited_for(
    forward: Forward, serve: Serve, engine: FakeEngine
) -> None:
    engine.hold = True
    await serve()
    client = await forward()
    await client.greet()
    call = asyncio.create_task(client.call(1, "delegate", {"task": "t"}))
    await asyncio.wait_for(engine.started.wait(), 10)
    await asyncio.wait({call}, timeout=0.8)
    engine.finish("job1")
    assert text_of(await call).endswith("the answer")


async def test_a_cancellation_reaches_the_server_that_has_the_call(
    forward: Forward, serve: Serve, engine: FakeEngine
) -> None:
    engine.hold = True
    await serve()
    client = await forward()
    await client.greet()
    await client.send(
        {
            "jsonrpc": "2.0",
            "id": "c",
            "method": "tools/call",
            "params": {"name": "delegate", "arguments": {"task": "long"}},
        }
    )
    await asyncio.wait_for(engine.started.wait(), 10)
    await client.send(
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "c"}}
    )
    job = await asyncio.wait_for(engine.ended("job1"), 2)
    assert job.state is JobState.CANCELLED
    await client.ask(2, "ping")
    assert all(message.get("id") != "c" for message in client.seen)


async def test_a_client_that_vanishes_leaves_its_job_running(
    forward: Forward, serve: Serve, engine: FakeEngine
) -> None:
    engine.hold = True
    await serve()
    client = await forward()
    await client.greet()
    await client.send(
        {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {"name": "delegate", "arguments": {"task": "long"}},
        }
    )
    await asyncio.wait_for(engine.started.wait(), 10)
    client.process.kill()
    await client.process.wait()
    engine.finish("job1", text="kept")
    assert engine.cancelled == []
    other = await forward()
    await other.greet()
    answer = await other.call(1, "delegate_result", {"job_id": "job1"})
    assert text_of(answer).endswith("kept")


async def test_answers_come_home_after_standard_input_ended(
    forward: Forward, serve: Serve, engine: FakeEngine
) -> None:
    await serve()
    client = await forward()
    await client.greet()
    await client.send(
        {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {"name": "delegate", "arguments": {"task": "t"}},
        }
    )
    await client.leave()
    assert text_of(await client.answer(1)).endswith("the answer")
