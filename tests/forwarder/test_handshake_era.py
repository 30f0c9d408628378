"""What only the handshake era has: a session at the server, which may end before the client."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
from tests.forwarder.conftest import Forward, Serve
from tests.forwarder.stdio import text_of
from tests.server.fake_engine import FakeEngine

from workers_tui.home.places import Home
from workers_tui.home.server_record import read_token


async def test_a_session_that_the_server_ended_is_opened_again(
    forward: Forward, serve: Serve, engine: FakeEngine, home: Home
) -> None:
    host = await serve()
    client = await forward()
    await client.greet()
    await client.call(1, "delegate", {"task": "one"})
    for known in host.clients.all():
        head = {
            "Authorization": f"Bearer {read_token(home)}",
            "Accept": "application/json, text/event-stream",
            "mcp-session-id": known.key,
        }
        async with httpx.AsyncClient(headers=head) as http:
            assert (await http.delete(str(host.url))).status_code == 200
    assert text_of(await client.call(2, "delegate", {"task": "two"})).endswith("the answer")
    assert len(engine.asked) == 2


async def test_roots_that_change_in_mid_session_are_asked_for_again(
    forward: Forward, serve: Serve, engine: FakeEngine, tmp_path: Path
) -> None:
    await serve()
    client = await forward()
    await client.greet()
    params: dict[str, Any] = {"name": "delegate", "arguments": {"task": "t", "files": ["a"]}}
    for number, name in enumerate(["first", "second %41"]):
        (tmp_path / name).mkdir()
        seen = len(client.seen)
        if number:
            await client.send({"jsonrpc": "2.0", "method": "notifications/roots/list_changed"})
        call = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}
        await client.send(call)
        asked = await client.notice("roots/list", seen)
        roots = {"roots": [{"uri": (tmp_path / name).as_uri()}]}
        await client.send({"jsonrpc": "2.0", "id": asked["id"], "result": roots})
        await client.answer(number)
    assert [origin.roots for _, origin in engine.asked] == [
        (tmp_path / "first",),
        (tmp_path / "second %41",),
    ]
