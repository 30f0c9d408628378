"""Who a request comes from; above all, that nobody's roots become another's."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.server.conftest import client_of
from tests.server.fake_engine import FakeEngine

from workers_tui.engine.board import Key, Topic
from workers_tui.engine.jobs.job import JobState
from workers_tui.forwarder.told import FORWARDER, PROJECT, pack
from workers_tui.home.server_record import read_token
from workers_tui.server.host import Host
from workers_tui.server.sessions import MOST, Clients

ACCEPT = "application/json, text/event-stream"


def forwarded(project: str) -> dict[str, str]:
    return pack({"CLAUDE_PROJECT_DIR": project})


def test_clients_of_one_name_do_not_share_what_they_said() -> None:
    clients = Clients()
    first = clients.meet({PROJECT: "/one"}, "python 1")
    second = clients.meet({PROJECT: "/two"}, "python 1")
    assert first is not second
    assert (first.told.project, second.told.project) == (Path("/one"), Path("/two"))
    assert clients.meet({PROJECT: "/one"}, "python 1") is first


def test_each_forwarder_is_a_client_of_its_own() -> None:
    clients = Clients()
    headers = [forwarded("/same"), forwarded("/same")]
    first, second = (clients.meet(head, "python 1") for head in headers)
    assert first is not second
    assert clients.meet(headers[0], "") is first
    assert first.name == "python 1"
    assert clients.count() == 2


def test_clients_that_were_not_seen_for_long_are_forgotten_first() -> None:
    clients = Clients()
    first = clients.meet({}, "0")
    for number in range(1, MOST):
        clients.meet({}, str(number))
    assert clients.meet({}, "0") is first
    clients.meet({}, "one more")
    assert len(clients.all()) == MOST
    assert clients.all()[0].name == "2"


async def nobody_left(host: Host, engine: FakeEngine) -> None:
    watcher = engine.board.watch(Topic.SERVER)
    try:
        async with asyncio.timeout(10):
            while engine.board.get(Key(Topic.SERVER)).clients:
                await watcher.changed()
    finally:
        watcher.close()
    assert host.clients.count() == 0


async def test_a_client_that_says_good_bye_is_one_no_more(host: Host, engine: FakeEngine) -> None:
    async with client_of(host) as client:
        await client.list_tools()
        assert host.clients.count() == 1
    await nobody_left(host, engine)


HELLO = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "a client", "version": "1"},
}


async def test_a_client_whose_stream_closes_is_one_no_more_but_a_refused_stream_is_no_end(
    host: Host, engine: FakeEngine, http: httpx.AsyncClient
) -> None:
    hello = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": HELLO}
    first = await http.post("/mcp", json=hello, headers={"accept": ACCEPT})
    head = {"accept": ACCEPT, "mcp-session-id": first.headers["mcp-session-id"]}
    ready = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    await http.post("/mcp", json=ready, headers=head)
    async with http.stream("GET", "/mcp", headers=head) as listening:
        assert listening.status_code == 200
        async with http.stream("GET", "/mcp", headers=head) as second:
            assert second.status_code == 409
        assert host.clients.count() == 1
    await nobody_left(host, engine)


async def test_a_client_without_sessions_is_here_as_long_as_it_listens(
    host: Host, engine: FakeEngine, http: httpx.AsyncClient
) -> None:
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    wanted = {"notifications": {"toolsListChanged": True}, "_meta": meta}
    body = {"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": wanted}
    head = {
        "accept": ACCEPT,
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": "subscriptions/listen",
    }
    async with http.stream("POST", "/mcp", json=body, headers=head) as listening:
        await anext(listening.aiter_lines())
        assert host.clients.count() == 1
    await nobody_left(host, engine)


async def test_a_session_of_another_era_cannot_be_borrowed(
    host: Host, engine: FakeEngine, tmp_path: Path
) -> None:
    async with client_of(host, "legacy", forwarded(str(tmp_path))) as owner:
        await owner.call_tool("delegate", {"task": "t", "files": ["a"]})
        (known,) = host.clients.all()
        head = {"mcp-session-id": known.key}
        async with client_of(host, "2026-07-28", head) as stranger:
            result = await stranger.call_tool("delegate", {"task": "t", "files": ["a"]})
    assert result.is_error
    assert len(engine.asked) == 1
    assert known.told.project == tmp_path


@pytest.fixture
async def http(host: Host) -> AsyncIterator[httpx.AsyncClient]:
    head = {"authorization": f"Bearer {read_token(host.engine.home)}", FORWARDER: "f1"}
    async with httpx.AsyncClient(base_url=str(host.url).removesuffix("/mcp"), headers=head) as made:
        yield made


@pytest.mark.parametrize("query", ["", "request=", "request=x", "request=-1", "request=1.5"])
async def test_a_cancellation_names_a_request(http: httpx.AsyncClient, query: str) -> None:
    assert (await http.post(f"/control/cancel?{query}")).status_code == 400


async def test_only_a_forwarder_cancels_so(http: httpx.AsyncClient) -> None:
    del http.headers[FORWARDER]
    assert (await http.post("/control/cancel?request=1")).status_code == 400


async def test_one_forwarder_cannot_cancel_for_another(
    host: Host, engine: FakeEngine, http: httpx.AsyncClient
) -> None:
    engine.hold = True
    body: dict[str, Any] = {
        "jsonrpc": "2.0",
        "id": 7,
        "method": "tools/call",
        "params": {
            "name": "delegate",
            "arguments": {"task": "t"},
            "_meta": {
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": {},
                "progressToken": 7,
            },
        },
    }
    head = {
        "accept": "application/json, text/event-stream",
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": "tools/call",
        "mcp-name": "delegate",
    }
    async with http.stream("POST", "/mcp", json=body, headers=head) as answer:
        assert answer.status_code == 200
        await engine.started.wait()
        other = {FORWARDER: "f2"}
        assert (await http.post("/control/cancel?request=7", headers=other)).status_code == 200
        assert engine.cancelled == []
        assert (await http.post("/control/cancel?request=7")).status_code == 200
        assert (await engine.ended("job1")).state is JobState.CANCELLED
