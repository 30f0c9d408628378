"""The newest protocol era on standard input, in raw lines: no handshake, no sessions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.forwarder.conftest import Forward, Serve
from tests.forwarder.stdio import INITIALIZE, NEWEST, Stdio, text_of
from tests.server.fake_engine import FakeEngine

from workers_tui.engine.board import Key, Topic
from workers_tui.engine.settings.settings import Settings, Tier
from workers_tui.forwarder.subscriptions import MOST, Subscriptions
from workers_tui.home.places import Home
from workers_tui.home.server_record import read_token
from workers_tui.server.host import Host

VERSION = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
LISTEN = {"notifications": {"toolsListChanged": True}}
CHANGED = "notifications/tools/list_changed"


@pytest.fixture
def era() -> str:
    return "newest"


async def at_server(host: Host, method: str) -> Any:
    """The same request, straight to the server."""
    head = {
        "authorization": f"Bearer {read_token(host.engine.home)}",
        "accept": "application/json, text/event-stream",
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": method,
    }
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {"_meta": NEWEST}}
    async with httpx.AsyncClient() as http:
        return (await http.post(str(host.url), json=body, headers=head)).json()["result"]


@pytest.mark.parametrize("method", ["server/discover", "tools/list"])
async def test_it_answers_at_once_what_a_server_would(
    forward: Forward, serve: Serve, home: Home, method: str
) -> None:
    tiers = '{"tiers": {"fast": {"model": "m", "use": "summaries"}, "code": {"use": "code"}}}'
    home.models_json.write_text(tiers)
    client = await forward()
    alone = (await client.ask(1, method))["result"]
    assert alone == await at_server(await serve(), method)
    assert alone["resultType"] == "complete"


async def test_delegation_that_is_off_is_said_to_who_discovers(
    forward: Forward, serve: Serve, engine: FakeEngine
) -> None:
    client = await forward(WORKERS_DELEGATION="off")
    assert "turned delegation off" in (await client.greet())["result"]["instructions"]
    engine.config.settings = Settings(tiers={"fast": Tier(model="m")}, delegation="off")
    said = await at_server(await serve(), "server/discover")
    assert "turned delegation off" in said["instructions"]


async def plain(client: Stdio, request_id: Any, method: str, params: Any) -> Any:
    """A request with just these params."""
    client.era = "as it is"
    try:
        return await client.ask(request_id, method, params)
    finally:
        client.era = "newest"


@pytest.mark.parametrize(
    ("meta", "code"),
    [
        ({VERSION: "2099-01-01"}, -32022),
        ({VERSION: "2025-11-25"}, -32022),
        ({VERSION: 20260728}, -32602),
        ({VERSION: None}, -32602),
        ({CAPABILITIES: None}, -32602),
        ({CAPABILITIES: []}, -32602),
    ],
)
async def test_an_envelope_that_means_nothing_is_refused(
    forward: Forward, serve: Serve, engine: FakeEngine, meta: dict[str, Any], code: int
) -> None:
    await serve()
    client = await forward()
    params = {"name": "delegate", "arguments": {"task": "t"}, "_meta": {**NEWEST, **meta}}
    error = (await plain(client, 1, "tools/call", params))["error"]
    assert error["code"] == code
    if code == -32022:
        assert error["data"] == {"supported": ["2026-07-28"], "requested": meta[VERSION]}
    assert engine.asked == []
    assert "result" in await client.ask(2, "tools/list")


async def test_capabilities_may_not_be_left_out(forward: Forward) -> None:
    client = await forward()
    error = (await plain(client, 1, "tools/list", {"_meta": {VERSION: "2026-07-28"}}))["error"]
    assert error["code"] == -32602
    assert CAPABILITIES in error["message"]


async def test_a_look_decides_nothing(forward: Forward) -> None:
    client = await forward()
    assert "result" in await client.ask(1, "server/discover")
    answer = await plain(client, 2, "initialize", INITIALIZE)
    assert answer["result"]["protocolVersion"] == "2025-11-25"


async def test_the_first_real_request_decides_for_good(forward: Forward) -> None:
    client = await forward()
    await client.ask(1, "tools/list")
    late = (await plain(client, 2, "initialize", INITIALIZE))["error"]
    assert (late["code"], late["data"]["supported"]) == (-32022, ["2026-07-28"])
    assert (await plain(client, 3, "tools/list", {}))["error"]["code"] == -32602
    assert (await client.ask(4, "ping"))["error"]["code"] == -32601
    other = await forward()
    await plain(other, 1, "initialize", INITIALIZE)
    assert (await other.ask(2, "tools/list"))["error"]["code"] == -32600
    assert "result" in await plain(other, 3, "ping", {})


async def test_every_result_says_that_it_is_whole_and_whose_it_is(
    forward: Forward, serve: Serve, tmp_path: Path
) -> None:
    await serve()
    client = await forward()
    by_server = await client.call(1, "delegate", {"task": "t"})
    refused = await client.call(2, "delegate", {"task": ""})
    (tmp_path / "file").write_text("no directory")
    lost = await forward(WORKERS_HOME=str(tmp_path / "file"))
    here = await lost.call(3, "delegate", {"task": "t"})
    assert here["result"]["isError"]
    for answer in (by_server, refused, here):
        assert answer["result"]["resultType"] == "complete"
        name = answer["result"]["_meta"]["io.modelcontextprotocol/serverInfo"]["name"]
        assert name == "workers"


@pytest.mark.parametrize("name", ["delégate", " delegate", "=?base64?eA==?=", "a\r\nhost: evil"])
async def test_any_name_of_a_tool_travels_whole(forward: Forward, serve: Serve, name: str) -> None:
    await serve()
    client = await forward()
    answer = await client.call(1, name, {})
    assert answer["result"]["isError"]
    assert text_of(answer).startswith("there is no tool " + " ".join(name.split("\n")))


def say_changed(engine: FakeEngine) -> None:
    engine.config.settings = Settings(tiers={"only": Tier(model="m")})
    engine.board.put(Key(Topic.CONFIG), "changed")


async def test_changes_are_told_to_those_who_listen_for_them(
    forward: Forward, serve: Serve, engine: FakeEngine
) -> None:
    await serve()
    client = await forward()
    await client.send(
        {"jsonrpc": "2.0", "id": "ear", "method": "subscriptions/listen", "params": LISTEN},
        {
            "jsonrpc": "2.0",
            "id": "deaf",
            "method": "subscriptions/listen",
            "params": {"notifications": {"promptsListChanged": True}},
        },
        {"jsonrpc": "2.0", "id": "left", "method": "subscriptions/listen", "params": LISTEN},
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "left"}},
    )
    await client.call(1, "worker_stats")
    seen = len(client.seen)
    say_changed(engine)
    told = await client.notice(CHANGED, seen)
    await client.ask(2, "server/discover")
    acknowledged = {
        one["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"]: one["params"]
        for one in client.seen
        if one.get("method") == "notifications/subscriptions/acknowledged"
    }
    assert acknowledged["ear"]["notifications"] == {"toolsListChanged": True}
    assert acknowledged["deaf"]["notifications"] == {}
    assert told["params"]["_meta"] == {"io.modelcontextprotocol/subscriptionId": "ear"}
    assert [one["params"] for one in client.seen if one.get("method") == CHANGED] == [
        told["params"]
    ]


async def test_who_does_not_listen_is_told_nothing(
    forward: Forward, serve: Serve, engine: FakeEngine
) -> None:
    await serve()
    client = await forward()
    await client.call(1, "worker_stats")
    say_changed(engine)
    other = await forward()
    await other.greet()
    await other.call(1, "worker_stats")
    engine.board.put(Key(Topic.CONFIG), "again")
    await client.call(2, "worker_stats")
    assert not [one for one in client.seen if one.get("method") == CHANGED]


def test_a_subscription_has_its_own_id_and_there_is_an_end_to_them() -> None:
    open_ = Subscriptions()
    assert "error" in open_.open(0, {})
    assert "error" in open_.open(0, {"notifications": []})
    assert "method" in open_.open(0, LISTEN)
    assert "still running" in open_.open(0, LISTEN)["error"]["message"]
    for number in range(1, MOST):
        assert "method" in open_.open(number, LISTEN)
    assert "cancel one" in open_.open(MOST, LISTEN)["error"]["message"]
    open_.end(0)
    assert "method" in open_.open(MOST, LISTEN)
    assert len(open_.notices()) == MOST


async def test_a_call_may_not_take_the_id_of_a_subscription(
    forward: Forward, serve: Serve, engine: FakeEngine
) -> None:
    await serve()
    client = await forward()
    await client.greet()
    refused = await client.call("ear", "delegate", {"task": "t"})
    assert "still running" in refused["error"]["message"]
    assert engine.asked == []
