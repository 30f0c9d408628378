"""What a server's refusals mean: nothing was done, or the client has to hear of it."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from workers_tui.forwarder.eras import CAPABILITIES, VERSION
from workers_tui.forwarder.finder import Place
from workers_tui.forwarder.upstream import MOVED, Elsewhere, HandshakeServer, Server
from workers_tui.forwarder.upstream_newest import NewestServer
from workers_tui.forwarder.wire import Address, Broken

Make = Callable[[int, Any], Server]
ENVELOPE = {VERSION: "2026-07-28", CAPABILITIES: {}}


@pytest.fixture(params=["handshake", "newest"])
def make(request: pytest.FixtureRequest) -> Iterator[Make]:
    """A server of either era that answers everything alike."""
    listener = socket.create_server(("127.0.0.1", 0))
    place = Place(Address("127.0.0.1", listener.getsockname()[1]), "/mcp", "token")

    def made(status: int, body: Any) -> Server:
        raw = json.dumps(body).encode()
        head = f"HTTP/1.1 {status} X\r\ncontent-length: {len(raw)}\r\n\r\n".encode()
        threading.Thread(target=answer, args=(listener, head + raw), daemon=True).start()
        if request.param == "newest":
            return NewestServer(place, {}, lambda *_: None, lambda: None, ENVELOPE)
        return HandshakeServer(place, {}, lambda *_: None, lambda: None, {})

    yield made
    listener.close()


def answer(listener: socket.socket, raw: bytes) -> None:
    while True:
        try:
            connection, _ = listener.accept()
        except OSError:
            return
        with connection:
            connection.recv(65536)
            connection.sendall(raw)


REQUEST = {"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": {"name": "delegate"}}


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (404, {"error": {"code": -32600, "message": "Session not found"}}),
        (401, {"error": "token"}),
        (200, {"id": 5, "error": {"code": MOVED, "message": "another server has taken over"}}),
    ],
)
def test_nothing_was_done_and_it_may_be_sent_elsewhere(make: Make, status: int, body: Any) -> None:
    with pytest.raises(Elsewhere):
        make(status, body).request(REQUEST)


def test_the_servers_own_error_comes_through(make: Make) -> None:
    error = {"code": -32021, "message": "no roots", "data": {"required": ["roots"]}}
    assert make(400, {"error": error}).request(REQUEST)["error"] == error


@pytest.mark.parametrize("body", [{"error": "too long"}, ["too long"], {"error": {"code": "x"}}])
def test_any_other_refusal_is_an_error_with_the_calls_id(make: Make, body: Any) -> None:
    said = make(413, body).request(REQUEST)
    assert said["id"] == 5
    assert said["error"]["code"] == -32600


@pytest.mark.parametrize("status", [500, 200])
def test_a_server_that_will_not_begin_is_none(make: Make, status: int) -> None:
    with pytest.raises(Broken):
        make(status, {"id": 0, "error": {"code": -32603, "message": "no"}}).open()


def test_requests_have_ids_of_their_own_at_every_server(make: Make) -> None:
    one, other = make(200, {}), make(200, {})
    assert len({one.new_id(), other.new_id(), one.new_id(), other.new_id()}) == 4
