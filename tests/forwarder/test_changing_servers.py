"""Servers come and go under one living client."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from tests.forwarder.conftest import BOTH_ERAS, Forward, Serve, set_tiers_of_server
from tests.forwarder.stdio import text_of
from tests.server.fake_engine import FakeEngine

from workers_tui.engine.jobs.job import CallRequest, Origin
from workers_tui.home.places import Home
from workers_tui.home.proof import prove
from workers_tui.home.server_record import (
    ServerRecord,
    read_record,
    read_token,
    rotate_token,
    write_record,
)
from workers_tui.server.host import Host

pytestmark = [pytest.mark.processes, BOTH_ERAS]


def call(request_id: Any, task: str = "t") -> dict[str, Any]:
    params = {"name": "delegate", "arguments": {"task": task}}
    return {"jsonrpc": "2.0", "id": request_id, "method": "tools/call", "params": params}


async def test_a_new_server_is_used_and_announced(
    forward: Forward, serve: Serve, engine: FakeEngine, home: Home
) -> None:
    set_tiers_of_server(home)
    first = await serve()
    client = await forward()
    await client.greet()
    await client.call(1, "delegate", {"task": "one"})
    await first.stop()
    seen = len(client.seen)
    other = FakeEngine(engine.home)
    other.answer = "from the second"
    await serve(over=other)
    assert text_of(await client.call(2, "delegate", {"task": "two"})).endswith("from the second")
    await client.notice("notifications/tools/list_changed", seen)
    assert other.asked[0][1].client == "tester 1"


async def test_a_new_server_is_found_without_a_call(
    forward: Forward, serve: Serve, engine: FakeEngine, home: Home
) -> None:
    set_tiers_of_server(home)
    first = await serve()
    client = await forward()
    await client.greet()
    await client.call(1, "delegate", {"task": "one"})
    seen = len(client.seen)
    await first.stop()
    second = await serve(over=FakeEngine(engine.home))
    await client.notice("notifications/tools/list_changed", seen)
    assert second.clients.count() == 1


async def test_a_dashboard_takes_over_from_a_background_server(
    forward: Forward, serve: Serve, engine: FakeEngine
) -> None:
    engine.hold = True
    background = await serve("background")
    client = await forward()
    await client.greet()
    await client.send(call(1, "slow"))
    await engine.started.wait()
    other = FakeEngine(engine.home)
    other.answer = "from the dashboard"
    dashboard = await serve("dashboard", other)
    assert dashboard.url is not None
    assert background.url is None
    assert text_of(await client.call(2, "delegate", {"task": "new"})).endswith("the dashboard")
    assert not background.gone.is_set()
    engine.finish("job1", text="from the background")
    assert text_of(await client.answer(1)).endswith("from the background")
    await asyncio.wait_for(background.gone.wait(), 10)
    assert len(engine.asked) == 1


async def test_a_cancellation_follows_the_old_server_after_the_change(
    forward: Forward, serve: Serve, engine: FakeEngine
) -> None:
    engine.hold = True
    await serve("background")
    client = await forward()
    await client.greet()
    await client.send(call(1, "slow"))
    await engine.started.wait()
    await serve("dashboard", FakeEngine(engine.home))
    await client.call(2, "delegate", {"task": "new"})
    cancelled = {"method": "notifications/cancelled", "params": {"requestId": 1}}
    await client.send({"jsonrpc": "2.0", **cancelled})
    await asyncio.wait_for(engine.ended("job1"), 5)
    assert [job for job, _ in engine.cancelled] == ["job1"]


async def test_a_server_that_forgot_the_session_gets_the_call_again(
    forward: Forward, serve: Serve, engine: FakeEngine, home: Home
) -> None:
    host = await serve()
    client = await forward()
    await client.greet()
    await client.call(1, "delegate", {"task": "one"})
    record = read_record(home)
    port = int(host.url.rpartition(":")[2].split("/")[0]) if host.url else 0
    await host.stop()
    again = Host(engine, port=port, kind="serve")  # type: ignore[arg-type]
    try:
        await again.start()
        assert read_record(home) == record
        assert text_of(await client.call(2, "delegate", {"task": "two"})).endswith("the answer")
    finally:
        await again.stop()


async def test_a_rotated_token_is_taken_up_by_a_living_forwarder(
    forward: Forward, serve: Serve, engine: FakeEngine, home: Home
) -> None:
    await serve()
    client = await forward()
    await client.greet()
    await client.call(1, "delegate", {"task": "one"})
    rotate_token(home)
    assert text_of(await client.call(2, "delegate", {"task": "two"})).endswith("the answer")
    assert len(engine.asked) == 2


class Mortal:
    """A server that takes a call and dies: with or without having said which job it became."""

    def __init__(self, home: Home, job: str | None) -> None:
        self.home = home
        self.job = job
        self.calls: list[dict[str, Any]] = []
        self.called = asyncio.Event()
        self.die = asyncio.Event()
        self.over = asyncio.Event()

    @asynccontextmanager
    async def serve(self) -> AsyncIterator[str]:
        server = await asyncio.start_server(self._answer, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        url = f"http://127.0.0.1:{port}/mcp"
        write_record(self.home, ServerRecord(url, 1, "0"))
        async with server:
            yield url
            self.over.set()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        size = int(head.lower().split("content-length: ")[1].split("\r\n")[0])
        body = json.loads(await reader.readexactly(size) if size else b"{}")
        if head.startswith("GET /healthz"):
            nonce = head.split("nonce=")[1].split(" ")[0]
            said = {"taking": True, "proof": prove(read_token(self.home) or "", nonce)}
            _send(writer, said)
        elif body.get("method") == "initialize":
            _send(writer, {"id": body["id"], "result": {"protocolVersion": "2025-11-25"}})
        elif body.get("method") == "subscriptions/listen":
            _stream(writer, {"method": "notifications/subscriptions/acknowledged", "params": {}})
            await self.over.wait()
        elif body.get("method") == "tools/call":
            self.calls.append(body)
            self.called.set()
            await self._die(writer, body)
        elif head.startswith("GET"):
            writer.write(b"HTTP/1.1 405 No\r\ncontent-length: 0\r\n\r\n")
        else:
            _send(writer, {"id": body.get("id"), "result": {"tools": []}})
        writer.close()

    async def _die(self, writer: asyncio.StreamWriter, body: dict[str, Any]) -> None:
        if self.job is None:
            await self.die.wait()
            return
        token = body["params"]["_meta"]["progressToken"]
        params = {"progressToken": token, "progress": 0, "_meta": {"workers-tui/jobs": [self.job]}}
        _stream(writer, {"method": "notifications/progress", "params": params})
        await writer.drain()


def _stream(writer: asyncio.StreamWriter, event: dict[str, Any]) -> None:
    """The head of an event stream and its first event."""
    said = json.dumps({"jsonrpc": "2.0", **event})
    data = f"event: message\r\ndata: {said}\r\n\r\n".encode()
    writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n")
    writer.write(b"transfer-encoding: chunked\r\n\r\n%x\r\n%s\r\n" % (len(data), data))


def _send(writer: asyncio.StreamWriter, value: dict[str, Any]) -> None:
    body = json.dumps({"jsonrpc": "2.0", **value}).encode()
    writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n")
    writer.write(b"content-length: %d\r\n\r\n%s" % (len(body), body))


async def test_a_server_that_dies_in_a_call_leaves_its_job_id_and_no_second_call(
    forward: Forward, engine: FakeEngine, home: Home
) -> None:
    mortal = Mortal(home, "abc12")
    async with mortal.serve():
        client = await forward()
        await client.greet()
        answer = await client.call(1, "delegate", {"task": "t"})
    assert answer["result"]["isError"]
    assert 'delegate_result(job_id="abc12")' in text_of(answer)
    assert len(mortal.calls) == 1


@pytest.mark.parametrize("name", ["toolu_9", "a b&call=+%41#\u00fc/\r\nx: y"])
async def test_a_server_that_dies_silently_is_asked_for_through_the_store(
    forward: Forward, serve: Serve, engine: FakeEngine, home: Home, name: str
) -> None:
    mortal = Mortal(home, None)
    async with mortal.serve():
        client = await forward()
        await client.greet()
        known = {"claudecode/toolUseId": name}
        pending = asyncio.create_task(client.call(1, "delegate", {"task": "t"}, **known))
        await asyncio.wait_for(mortal.called.wait(), 10)
    await serve()
    await engine.delegate(CallRequest("t"), Origin(roots=(), tool_use_id=name))
    mortal.die.set()
    answer = await asyncio.wait_for(pending, 20)
    assert 'delegate_result(job_id="job1")' in text_of(answer)
    assert len(mortal.calls) == 1
    assert len(engine.asked) == 1


async def test_a_call_that_became_no_job_may_be_made_again(
    forward: Forward, serve: Serve, engine: FakeEngine, home: Home
) -> None:
    mortal = Mortal(home, None)
    async with mortal.serve():
        client = await forward()
        await client.greet()
        pending = asyncio.create_task(client.call(1, "delegate", {"task": "t"}))
        await asyncio.wait_for(mortal.called.wait(), 10)
    await serve()
    mortal.die.set()
    assert "nothing was sent" in text_of(await asyncio.wait_for(pending, 20))
    assert engine.asked == []
