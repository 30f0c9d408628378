"""Who serves, where, and how a server leaves."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import Any

import httpx
import pytest
from tests.server.conftest import client_of, meta
from tests.server.fake_engine import FakeEngine

from workers_tui.engine.board import Key, Topic
from workers_tui.engine.errors import WrongUse
from workers_tui.engine.jobs.job import CallRequest, Origin
from workers_tui.engine.settings.settings import Settings, Tier
from workers_tui.home.places import Home
from workers_tui.home.server_record import ServerRecord, read_record, read_token, write_record
from workers_tui.server import claim
from workers_tui.server import host as host_module
from workers_tui.server.host import Host, Kind

Start = Callable[..., Any]


@pytest.fixture
async def start(engine: FakeEngine, home: Home) -> AsyncIterator[Start]:
    hosts: list[Host] = []

    async def started(
        kind: Kind = "dashboard", *, over: FakeEngine | None = None, port: int = 0, **more: Any
    ) -> Host:
        host = Host(over or engine, port=port, kind=kind, **more)  # type: ignore[arg-type]
        hosts.append(host)
        await host.start()
        return host

    yield started
    for host in hosts:
        await host.stop()


def server_view(engine: FakeEngine) -> Any:
    return engine.board.get(Key(Topic.SERVER))


async def until(true: Callable[[], object], seconds: float = 10) -> None:
    async with asyncio.timeout(seconds):
        while not true():  # noqa: ASYNC110 - nothing rings for it
            await asyncio.sleep(0.01)


def port_of(host: Host) -> int:
    assert host.url is not None
    return int(host.url.split(":")[2].split("/")[0])


async def test_server_json_says_who_serves_and_is_removed(start: Start, home: Home) -> None:
    host = await start("serve")
    record = json.loads(home.server_json.read_text())
    assert record == {"url": host.url, "pid": os.getpid(), "version": "0.1.0"}
    assert home.server_json.stat().st_mode & 0o777 == 0o600
    await host.stop()
    assert not home.server_json.exists()


@pytest.mark.parametrize("left", [None, "", '{"url": "http://127.0.0.1:1/mcp", "pid": 1}'])
async def test_a_record_that_somebody_spoilt_is_written_again(
    start: Start, home: Home, monkeypatch: pytest.MonkeyPatch, left: str | None
) -> None:
    monkeypatch.setattr(host_module, "SAY_EVERY", 0.02)
    host = await start()
    home.server_json.unlink()
    if left is not None:
        home.server_json.write_text(left)
    await until(lambda: (record := read_record(home)) is not None and record.url == host.url)
    await host.stop()
    assert not home.server_json.exists()


@pytest.mark.parametrize("left", [None, b"", b"\xff\x00"])
async def test_a_token_that_somebody_took_away_is_put_back(
    start: Start, home: Home, monkeypatch: pytest.MonkeyPatch, left: bytes | None
) -> None:
    monkeypatch.setattr(host_module, "SAY_EVERY", 0.02)
    host = await start()
    async with client_of(host):
        token = read_token(home)
        home.token.unlink()
        if left is not None:
            home.token.write_bytes(left)
        await until(lambda: read_token(home) == token)
    assert home.token.stat().st_mode & 0o777 == 0o600
    async with client_of(host) as client:
        assert (await client.list_tools()).tools


async def test_a_second_dashboard_is_a_viewer_until_the_first_leaves(
    start: Start, engine: FakeEngine, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(claim, "LOOK_EVERY", 0.02)
    first = await start()
    other = FakeEngine(home)
    second = await start(over=other)
    assert second.url is None
    assert f"viewer of pid {os.getpid()}" in server_view(other).message
    assert read_record(home) is not None
    await first.stop()
    await until(lambda: server_view(other).url)
    assert server_view(other).url == second.url
    assert server_view(other).message == ""
    async with client_of(second) as client:
        assert not (await client.call_tool("delegate", {"task": "t"})).is_error


async def test_a_background_server_that_was_quicker_gives_way_to_the_viewer(
    start: Start, engine: FakeEngine, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(claim, "LOOK_EVERY", 0.5)
    first = await start()
    viewer = await start(over=FakeEngine(home))
    quick = claim.Claim(home)
    stopping = asyncio.create_task(first.stop())
    while not quick.take():  # noqa: ASYNC110 - as the viewer does, but more often
        await asyncio.sleep(0.001)
    await stopping
    background = Host(FakeEngine(home), port=0, kind="background")  # type: ignore[arg-type]
    background.claim = quick
    try:
        await background.start()
        assert background.url is not None
        await asyncio.wait_for(background.gone.wait(), 10)
        await until(lambda: viewer.url)
    finally:
        await background.stop()


async def test_a_record_left_by_a_killed_server_misleads_nobody(
    start: Start, engine: FakeEngine, home: Home
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        port = deaf.getsockname()[1]
    write_record(home, ServerRecord(f"http://127.0.0.1:{port}/mcp", 999_999, "0"))
    host = await start()
    assert host.url is not None
    record = read_record(home)
    assert record is not None
    assert record.url == host.url


async def test_a_killed_server_frees_its_claim(start: Start, home: Home) -> None:
    script = (
        "import sys; from pathlib import Path\n"
        "from workers_tui.home.places import Home; from workers_tui.server.claim import Claim\n"
        "claim = Claim(Home(*[Path(sys.argv[1])] * 2)); print(claim.take(), flush=True)\n"
        "sys.stdin.read()"
    )
    child = subprocess.Popen(  # noqa: ASYNC220 - the test has nothing else to do
        [sys.executable, "-c", script, str(home.state)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert child.stdout is not None
    assert child.stdin is not None
    assert child.stdout.readline() == "True\n"
    assert not claim.Claim(home).take()
    child.kill()
    child.wait()
    child.stdin.close()
    child.stdout.close()
    host = await start()
    assert host.url is not None


class Stranger(BaseHTTPRequestHandler):
    """Answers anything with what `body` says."""

    body = b"hello"

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("content-length", str(len(self.body)))
        self.end_headers()
        self.wfile.write(self.body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name there
        pass


class OtherUser(Stranger):
    body = json.dumps({"name": "workers-tui", "proof": "0" * 64}).encode()


async def test_a_holder_that_does_not_answer_is_named_before_long(
    start: Start, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    holder = claim.Claim(home)
    assert holder.take()
    with socket.create_server(("127.0.0.1", 0)) as silent:  # as a stopped process: never accepts
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/mcp"
        write_record(home, ServerRecord(url, 4321, "0.1.0"))
        home.token.write_text("t")
        monkeypatch.setattr(claim, "PATIENCE", 0.5)
        monkeypatch.setattr(claim, "TAKE_WAIT", 1.0)
        async with asyncio.timeout(4):
            host = await start("serve")
    assert host.url is None
    assert "pid 4321 holds" in host.message
    assert "does not answer" in host.message
    holder.release()


@pytest.mark.parametrize(
    ("who", "named"),
    [(Stranger, "another program"), (OtherUser, "another user's workers-tui")],
)
async def test_a_port_held_by_someone_else_is_left_to_them_and_said(
    start: Start, engine: FakeEngine, home: Home, who: type[Stranger], named: str
) -> None:
    server = HTTPServer(("127.0.0.1", 0), who)
    taken = server.server_address[1]
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        host = await start(port=taken)
        assert port_of(host) != taken
        message = f"port {taken} is taken by {named}, took {port_of(host)}"
        assert server_view(engine).message == message
        assert engine.events.since(0)[0].text == message
        record = read_record(home)
        assert record is not None
        assert record.url == host.url
    finally:
        server.shutdown()
        server.server_close()


async def test_a_stranger_on_the_recorded_port_never_sees_the_token(
    start: Start, home: Home
) -> None:
    seen: list[str] = []

    class Curious(Stranger):
        def do_GET(self) -> None:
            seen.append(str(self.headers))
            super().do_GET()

        do_POST = do_GET  # noqa: N815 - the name that the base class looks for

    server = HTTPServer(("127.0.0.1", 0), Curious)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        url = f"http://127.0.0.1:{server.server_address[1]}/mcp"
        write_record(home, ServerRecord(url, 1, "0"))
        assert await asyncio.to_thread(claim.find_other, home) is None
        host = await start()
        assert host.url != url
    finally:
        server.shutdown()
        server.server_close()
    assert seen
    assert not any((read_token(home) or "?") in headers for headers in seen)


async def test_an_address_that_is_not_ours_is_wrong_use(engine: FakeEngine) -> None:
    host = Host(engine, host="192.0.2.1", port=0)  # type: ignore[arg-type]
    with pytest.raises(WrongUse, match=r"192\.0\.2\.1"):
        await host.start()
    assert not host.claim.held
    await host.stop()


async def test_a_background_server_gives_way_to_a_dashboard(
    start: Start, engine: FakeEngine, home: Home
) -> None:
    background = await start("background")
    dashboard = await start("dashboard", over=FakeEngine(home))
    assert dashboard.url is not None
    record = read_record(home)
    assert record is not None
    assert record.url == dashboard.url
    await asyncio.wait_for(background.gone.wait(), 10)
    await background.stop()
    assert read_record(home) == record


async def test_a_server_that_gave_way_takes_no_new_calls_and_waits_for_its_jobs(
    start: Start, engine: FakeEngine, home: Home
) -> None:
    engine.hold = True
    background = await start("background")
    async with client_of(background) as client:
        call = asyncio.create_task(client.call_tool("delegate", {"task": "slow"}))
        await engine.started.wait()
        await start("dashboard", over=FakeEngine(home))
        with pytest.raises(Exception, match="another server has taken over"):
            await client.call_tool("delegate", {"task": "new"})
        assert not background.gone.is_set()
        engine.finish("job1", text="done in peace")
        result = await call
    assert "done in peace" in result.content[0].text  # type: ignore[union-attr]
    await asyncio.wait_for(background.gone.wait(), 10)


@pytest.mark.parametrize("kind", ["dashboard", "serve"])
async def test_only_a_background_server_can_be_asked_to_leave(
    start: Start, engine: FakeEngine, home: Home, kind: Kind
) -> None:
    first = await start(kind)
    second = await start("dashboard", over=FakeEngine(home))
    assert second.url is None
    assert first.taking
    base = (first.url or "").removesuffix("/mcp")
    head = {"Authorization": f"Bearer {read_token(home)}"}
    async with httpx.AsyncClient(headers=head) as http:
        assert (await http.post(f"{base}/control/hand-over")).status_code == 409


async def test_a_background_server_leaves_when_nobody_needs_it(
    start: Start, engine: FakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host_module, "LOOK_EVERY", 0.01)
    host = await start("background")
    long_ago = time.monotonic() - 1000
    async with client_of(host):
        await until(lambda: host.traffic.open)
        for _ in range(20):
            host.traffic.last = long_ago
            await asyncio.sleep(0.02)
        assert not host.gone.is_set(), "a client is connected"
    await until(lambda: not host.traffic.open)
    host.traffic.last = long_ago
    await asyncio.wait_for(host.gone.wait(), 5)
    assert not engine.home.server_json.exists()


async def test_a_job_without_a_client_keeps_the_background_server(
    start: Start, engine: FakeEngine
) -> None:
    engine.hold = True
    await engine.delegate(CallRequest("t"), Origin(roots=()))
    host = await start("background", idle=0.1)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(host.gone.wait(), 0.4)
    engine.finish("job1")
    await asyncio.wait_for(host.gone.wait(), 5)


async def test_stopping_with_an_open_stream_and_a_call_answers_and_ends_in_seconds(
    start: Start, engine: FakeEngine
) -> None:
    engine.hold = True
    host = await start("serve")
    async with client_of(host) as client:
        call = asyncio.create_task(client.call_tool("delegate", {"task": "t"}))
        await engine.started.wait()
        async with asyncio.timeout(8):
            await host.stop("the user quit")
        result = await call
    assert result.is_error
    assert "the user quit" in result.content[0].text  # type: ignore[union-attr]
    assert engine.drained == ["the user quit"]


async def test_stopping_with_a_reader_that_never_reads_ends_in_seconds(
    start: Start, engine: FakeEngine
) -> None:
    await engine.delegate(CallRequest("t"), Origin(roots=()))
    engine.texts["job1"] = "\u20ac" * 40_000
    host = await start("serve")
    envelope = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    params = {"name": "delegate_result", "arguments": {"job_id": "job1"}, "_meta": envelope}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    body = json.dumps(message).encode()
    head = (
        f"POST /mcp HTTP/1.1\r\nhost: 127.0.0.1:{port_of(host)}\r\n"
        f"authorization: Bearer {read_token(engine.home)}\r\n"
        "accept: application/json, text/event-stream\r\ncontent-type: application/json\r\n"
        "mcp-protocol-version: 2026-07-28\r\nmcp-method: tools/call\r\n"
        f"mcp-name: delegate_result\r\ncontent-length: {len(body)}\r\n\r\n"
    )
    with socket.socket() as deaf:
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        deaf.connect(("127.0.0.1", port_of(host)))
        # So many answers that no buffer on the way takes them all.
        deaf.sendall((head.encode() + body) * 60)
        await stands_still(host)
        async with asyncio.timeout(12):
            await host.stop("the user quit")


async def stands_still(host: Host) -> None:
    """Until a request is open on which nothing goes forward."""
    looks, last = 0, 0.0
    async with asyncio.timeout(30):
        while looks < 30:
            await asyncio.sleep(0.01)
            same = host.traffic.open == 1 and host.traffic.last == last
            looks, last = looks + 1 if same else 0, host.traffic.last


async def test_nothing_of_the_web_server_reaches_the_terminal(
    start: Start, engine: FakeEngine, capfd: pytest.CaptureFixture[str]
) -> None:
    host = await start("serve")
    async with client_of(host) as client:
        await client.call_tool("delegate", {"task": "t"})
    with socket.create_connection(("127.0.0.1", port_of(host))) as rude:
        rude.sendall(b"\x00\xffnonsense\r\n\r\n")
        await asyncio.to_thread(rude.recv, 1000)
    await host.stop()
    said = capfd.readouterr()
    assert said.out + said.err == ""


def ear_for_changes() -> tuple[asyncio.Event, Callable[[Any], Awaitable[None]]]:
    """What a client calls with every message, and what is set when the list of tools changed."""
    heard = asyncio.Event()

    async def on_message(message: Any) -> None:
        if "list_changed" in str(getattr(message, "method", message)):
            heard.set()

    return heard, on_message


@pytest.mark.parametrize("era", ["legacy", "2026-07-28"])
async def test_a_change_of_the_tiers_is_announced(
    start: Start, engine: FakeEngine, era: str
) -> None:
    host = await start("serve")
    heard, on_message = ear_for_changes()
    async with client_of(host, era, message_handler=on_message) as client:
        if era == "legacy":
            tools = client.server_capabilities.tools
            assert tools is not None
            assert tools.list_changed
        await client.list_tools()
        async with listening(client, era, heard):
            engine.config.settings = Settings(tiers={"new": Tier(model="m", use="all")})
            engine.board.put(Key(Topic.CONFIG), "changed")
            await asyncio.wait_for(heard.wait(), 5)
        (delegate,) = [
            tool for tool in (await client.list_tools()).tools if tool.name == "delegate"
        ]
    assert "auto, new (all)" in json.dumps(delegate.input_schema)


async def test_a_client_that_left_keeps_no_news_from_the_others(
    start: Start, engine: FakeEngine
) -> None:
    host = await start("serve")
    heard, on_message = ear_for_changes()
    async with client_of(host) as gone:
        await gone.list_tools()
    async with client_of(host, message_handler=on_message) as client:
        await client.list_tools()
        for number in range(3):
            engine.config.settings = Settings(tiers={f"new{number}": Tier(model="m")})
            engine.board.put(Key(Topic.CONFIG), number)
            await asyncio.wait_for(heard.wait(), 5)
            heard.clear()


def listening(client: Any, era: str, heard: asyncio.Event) -> Any:
    from contextlib import asynccontextmanager, suppress

    @asynccontextmanager
    async def stream() -> AsyncIterator[None]:
        if era == "legacy":
            yield
            return
        async with client.listen(tools_list_changed=True) as events:

            async def follow() -> None:
                async for _ in events:
                    heard.set()

            task = asyncio.create_task(follow())
            yield
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    return stream()


async def test_fifty_sessions_each_get_their_own_answer(start: Start, engine: FakeEngine) -> None:
    host = await start("serve")
    head = {
        "Authorization": f"Bearer {read_token(engine.home)}",
        "Accept": "application/json, text/event-stream",
    }
    hello = {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "one of fifty", "version": "1"},
    }

    async def session(http: httpx.AsyncClient, number: int) -> str:
        own = {**head, "x-claude-code-session-id": f"s{number}"}

        async def post(**message: Any) -> httpx.Response:
            message["jsonrpc"] = "2.0"
            return await http.post(str(host.url), json=message, headers=own)

        first = await post(id=0, method="initialize", params=hello)
        own["mcp-session-id"] = first.headers["mcp-session-id"]
        await post(method="notifications/initialized")
        call = {"name": "delegate", "arguments": {"task": f"task {number}"}}
        return (await post(id=1, method="tools/call", params=call)).text

    async with httpx.AsyncClient(timeout=60) as http:
        answers = await asyncio.gather(*(session(http, number) for number in range(50)))
    assert all("the answer" in answer for answer in answers)
    assert len(engine.asked) == 50
    assert all(origin.session == f"s{request.task[5:]}" for request, origin in engine.asked)
    assert server_view(engine).clients == 50


async def test_jobs_of_a_call_are_found_by_its_name(
    start: Start, engine: FakeEngine, home: Home
) -> None:
    host = await start("serve")
    async with client_of(host) as client:
        await client.call_tool("delegate", {"task": "t"}, meta=meta({"workers-tui/call": "c-1"}))
    base = (host.url or "").removesuffix("/mcp")
    head = {"Authorization": f"Bearer {read_token(home)}"}
    async with httpx.AsyncClient(headers=head) as http:
        assert (await http.get(f"{base}/control/jobs?call=c-1")).json() == {"jobs": ["job1"]}
        assert (await http.get(f"{base}/control/jobs?call=")).json() == {"jobs": []}
