"""Anybody on the machine may connect; whoever dawdles before the gate is not waited for."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

import pytest
from tests.server.conftest import client_of
from tests.server.fake_engine import FakeEngine

from workers_tui.home.server_record import read_token
from workers_tui.server import web
from workers_tui.server.host import Host

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web, "REQUEST_WAIT", 0.3)


@pytest.fixture
async def rude(host: Host) -> AsyncIterator[Streams]:
    """A bare connection."""
    port = int(str(host.url).split(":")[2].split("/")[0])
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    yield reader, writer
    writer.close()
    with contextlib.suppress(OSError):
        await writer.wait_closed()


async def drip(writer: asyncio.StreamWriter, drops: bytes = b"x") -> None:
    """Send drops until the other side has had enough."""
    with contextlib.suppress(OSError):
        while True:
            writer.write(drops)
            await writer.drain()
            await asyncio.sleep(0.02)


async def closed(streams: Streams, drops: bytes = b"x") -> bytes:
    """What came before the server closed the connection, for all the dripping."""
    reader, writer = streams
    dripping = asyncio.create_task(drip(writer, drops))
    try:
        async with asyncio.timeout(5):
            with contextlib.suppress(ConnectionError):
                return await reader.read()
            return b""
    finally:
        dripping.cancel()


def head(host: Host, *lines: str) -> bytes:
    place = str(host.url).removeprefix("http://").removesuffix("/mcp")
    return "\r\n".join(["POST /mcp HTTP/1.1", f"host: {place}", *lines, "", ""]).encode()


async def test_a_connection_that_says_nothing_is_closed(rude: Streams) -> None:
    async with asyncio.timeout(5):
        assert await rude[0].read() == b""


async def test_a_head_that_comes_drop_by_drop_is_not_waited_for(rude: Streams) -> None:
    rude[1].write(b"POST /mcp HTTP/1.1\r\nx: ")
    assert await closed(rude) == b""


async def test_a_second_head_on_one_connection_is_not_waited_for(host: Host, rude: Streams) -> None:
    rude[1].write(head(host, "content-length: 0"))
    assert (await rude[0].readuntil(b"\r\n")).startswith(b"HTTP/1.1 401")
    rude[1].write(b"POST /mcp HTTP/1.1\r\nx: ")
    await closed(rude)


async def test_a_body_that_was_refused_is_not_waited_for(host: Host, rude: Streams) -> None:
    rude[1].write(head(host, "content-length: 1000000000"))
    assert (await rude[0].readuntil(b"\r\n")).startswith(b"HTTP/1.1 401")
    await closed(rude)


@pytest.mark.parametrize("session", ["mcp-session-id: x", "x-no: session"])
@pytest.mark.parametrize(
    "body",
    [
        ("content-length: 1000", b'{"jsonrpc"'),
        ("content-length: 4000000000", b"{"),
        ("transfer-encoding: chunked", b"ffffff\r\n{"),
        ("transfer-encoding: chunked", b"5\r\n[[[[[\r\n"),
    ],
)
async def test_a_body_that_breaks_off_leaves_nothing_open(
    host: Host,
    rude: Streams,
    caplog: pytest.LogCaptureFixture,
    body: tuple[str, bytes],
    session: str,
) -> None:
    token = f"authorization: Bearer {read_token(host.engine.home)}"
    kind = "content-type: application/json\r\naccept: application/json, text/event-stream"
    before = host.traffic.last
    rude[1].write(head(host, token, kind, session, body[0]) + body[1])
    async with asyncio.timeout(5):
        while host.traffic.last == before:  # noqa: ASYNC110 - nothing rings for it
            await asyncio.sleep(0.01)
        rude[1].transport.abort()
        while host.traffic.open:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    assert "Traceback" not in caplog.text
    async with client_of(host) as client:
        assert not (await client.call_tool("delegate", {"task": "t"})).is_error


async def test_more_than_was_promised_is_no_second_call(
    host: Host, engine: FakeEngine, rude: Streams
) -> None:
    token = f"authorization: Bearer {read_token(host.engine.home)}"
    rude[1].write(
        head(host, token, "content-length: 2") + b"{}GET /mcp HTTP/1.1\r\nhost: x\r\n\r\n"
    )
    said = b""
    async with asyncio.timeout(5):
        while said.count(b"HTTP/1.1 ") < 2:
            said += await rude[0].read(4096)
    assert said.count(b"HTTP/1.1 4") == 2
    assert engine.asked == []


async def test_a_client_with_a_call_is_waited_for(host: Host, engine: FakeEngine) -> None:
    engine.hold = True
    async with client_of(host) as client:
        call = asyncio.create_task(client.call_tool("delegate", {"task": "t"}))
        await engine.started.wait()
        await asyncio.wait({call}, timeout=1)
        engine.finish("job1")
        assert not (await call).is_error
        engine.hold = False
        await asyncio.sleep(0.6)
        assert not (await client.call_tool("delegate", {"task": "t"})).is_error
