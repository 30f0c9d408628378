"""Clients over HTTP that send what they should not: an answer in words, and the server lives."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from tests.server.fake_engine import FakeEngine

from workers_tui.home.server_record import read_token
from workers_tui.server.host import Host

HELLO = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "raw", "version": "1"},
    },
}


def call(request_id: Any, task: str = "t") -> dict[str, Any]:
    params = {"name": "delegate", "arguments": {"task": task}}
    return {"jsonrpc": "2.0", "id": request_id, "method": "tools/call", "params": params}


@pytest.fixture
async def raw(host: Host) -> AsyncIterator[httpx.AsyncClient]:
    """A client with the token that sends any bytes."""
    head = {
        "Authorization": f"Bearer {read_token(host.engine.home)}",
        "Accept": "application/json, text/event-stream",
        "Content-Type": "application/json",
        "X-Url": str(host.url),
    }
    async with httpx.AsyncClient(headers=head, timeout=20) as http:
        yield http


async def post(raw: httpx.AsyncClient, **more: Any) -> httpx.Response:
    return await raw.post(raw.headers["x-url"], **more)


async def session(raw: httpx.AsyncClient) -> None:
    """The handshake; later requests belong to the session."""
    first = await post(raw, json=HELLO)
    raw.headers["mcp-session-id"] = first.headers["mcp-session-id"]
    await raw.post(
        raw.headers["x-url"], json={"jsonrpc": "2.0", "method": "notifications/initialized"}
    )


def answer_in(response: httpx.Response) -> dict[str, Any]:
    text = response.text
    if "data: " in text:
        text = [line[6:] for line in text.splitlines() if line.startswith("data: {")][-1]
    value = json.loads(text)
    assert isinstance(value, dict)
    return value


BODIES = (
    b"",
    b"garbage",
    b"\xff\xfe\x00",
    b"[]",
    b"[1]",
    b"42",
    b"null",
    b"{}",
    b'{"jsonrpc":"2.0"}',
    b'{"jsonrpc":"1.0","id":1,"method":"ping"}',
    b'{"jsonrpc":"2.0","id":{},"method":"ping"}',
    b"[" * 100_000,
    b'{"id":' + b"9" * 10_000 + b"}",
)


@pytest.mark.parametrize("version", [None, "2025-11-25", "2026-07-28", "1999-01-01", "\x7f"])
async def test_no_body_stops_the_server(raw: httpx.AsyncClient, version: str | None) -> None:
    head = {} if version is None else {"mcp-protocol-version": version}
    for body in BODIES:
        response = await post(raw, content=body, headers=head)
        assert 400 <= response.status_code < 500, body[:50]
    await session(raw)
    for body in BODIES:
        response = await post(raw, content=body, headers=head)
        assert response.status_code < 500, body[:50]
    assert answer_in(await post(raw, json=call(1)))["result"]["isError"] is False


async def test_a_huge_body_is_refused_before_it_is_read(
    raw: httpx.AsyncClient, engine: FakeEngine
) -> None:
    await session(raw)
    response = await post(raw, json=call(1, "x" * 5_000_000))
    assert response.status_code == 413
    assert engine.asked == []


@pytest.mark.parametrize("method", ["no/such", "server/discover", "tools/unknown"])
async def test_an_unknown_method_is_an_error(raw: httpx.AsyncClient, method: str) -> None:
    await session(raw)
    response = await raw.post(
        raw.headers["x-url"], json={"jsonrpc": "2.0", "id": 1, "method": method}
    )
    assert answer_in(response)["error"]["code"] == -32601


async def test_an_unknown_session_is_404(raw: httpx.AsyncClient) -> None:
    response = await raw.post(
        raw.headers["x-url"], json=call(1), headers={"mcp-session-id": "nonsense"}
    )
    assert response.status_code == 404


async def test_a_second_request_with_a_running_id_is_refused_and_the_first_comes_home(
    raw: httpx.AsyncClient, engine: FakeEngine
) -> None:
    engine.hold = True
    await session(raw)
    first = asyncio.create_task(post(raw, json=call(7, "first")))
    await engine.started.wait()
    second = await post(raw, json=call(7, "second"))
    assert second.status_code == 400
    assert "still running" in second.json()["error"]["message"]
    engine.finish("job1")
    async with asyncio.timeout(10):
        assert answer_in(await first)["result"]["isError"] is False
    engine.hold = False
    for same in (7, "7"):
        again = await post(raw, json=call(same))
        assert answer_in(again)["result"]["isError"] is False
    assert [request.task for request, _ in engine.asked] == ["first", "t", "t"]


async def test_a_number_and_its_text_are_one_id_while_a_call_runs(
    raw: httpx.AsyncClient, engine: FakeEngine
) -> None:
    engine.hold = True
    await session(raw)
    first = asyncio.create_task(post(raw, json=call(7, "first")))
    await engine.started.wait()
    assert (await post(raw, json=call("7", "second"))).status_code == 400
    engine.finish("job1")
    async with asyncio.timeout(10):
        assert answer_in(await first)["result"]["isError"] is False


async def test_the_name_of_the_sdks_own_stream_is_no_id(
    raw: httpx.AsyncClient, engine: FakeEngine
) -> None:
    await session(raw)
    assert (await post(raw, json=call("_GET_stream"))).status_code == 400
    assert engine.asked == []


async def test_an_id_may_be_used_again_as_soon_as_its_answer_came(
    raw: httpx.AsyncClient, engine: FakeEngine
) -> None:
    await session(raw)
    request = raw.build_request("POST", raw.headers["x-url"], json=call(7))
    head = [b"%b: %b" % (name, value) for name, value in request.headers.raw]
    whole = b"\r\n".join([b"POST /mcp HTTP/1.1", *head, b"", request.content])
    reader, writer = await asyncio.open_connection(request.url.host, request.url.port)
    writer.write(3 * whole)  # each is taken up as soon as the last answer is on its way
    said = b""
    async with asyncio.timeout(10):
        while said.count(b"HTTP/1.1 ") < 3:
            said += await reader.read(65536)
    writer.close()
    assert said.count(b"HTTP/1.1 200") == 3
    assert len(engine.asked) == 3


@pytest.mark.parametrize("request_id", [[1], {}, None, True, 7.0, "unknown"])
async def test_a_cancellation_of_no_call_ends_nothing_and_is_no_defect(
    raw: httpx.AsyncClient,
    engine: FakeEngine,
    caplog: pytest.LogCaptureFixture,
    request_id: object,
) -> None:
    engine.hold = True
    await session(raw)
    running = [asyncio.create_task(post(raw, json=call(number))) for number in (1, 7)]
    while len(engine.asked) < 2:  # noqa: ASYNC110 - the calls ring only once
        await asyncio.sleep(0.01)
    params = {"requestId": request_id}
    notice = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}
    assert (await post(raw, json=notice)).status_code == 202
    await post(raw, json={"jsonrpc": "2.0", "id": 2, "method": "ping"})
    assert engine.cancelled == []
    assert "Traceback" not in caplog.text
    for number in (1, 2):
        engine.finish(f"job{number}")
    async with asyncio.timeout(10):
        await asyncio.gather(*running)


@pytest.mark.parametrize("method", ["PUT", "PATCH", "OPTIONS", "TRACE", "HEAD"])
async def test_other_http_methods_are_refused(raw: httpx.AsyncClient, method: str) -> None:
    assert (await raw.request(method, raw.headers["x-url"])).status_code in {400, 404, 405}


async def test_a_path_beside_mcp_is_404(raw: httpx.AsyncClient, host: Host) -> None:
    base = str(host.url).removesuffix("/mcp")
    for path in ("/", "/mcpx", "/MCP", "/../mcp/..", "/%2e%2e/etc", "/control", "/control/"):
        assert (await raw.get(base + path)).status_code == 404
