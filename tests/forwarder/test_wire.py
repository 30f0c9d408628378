"""The forwarder's HTTP: what never left is told apart from what may have arrived."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from workers_tui.forwarder import finder
from workers_tui.forwarder.finder import Finder
from workers_tui.forwarder.wire import Address, Broken, Exchange, NotSent, ask
from workers_tui.home.places import Home
from workers_tui.home.proof import prove
from workers_tui.home.server_record import (
    ServerRecord,
    ensure_token,
    read_token,
    write_record,
)

Answering = Callable[[bytes], Address]


@pytest.fixture
def answering() -> Iterator[Answering]:
    """Starts servers that read a request, send some bytes and close."""
    listeners: list[socket.socket] = []

    def start(raw: bytes) -> Address:
        listener = socket.create_server(("127.0.0.1", 0))
        listeners.append(listener)
        threading.Thread(target=serve, args=(listener, raw), daemon=True).start()
        return Address("127.0.0.1", listener.getsockname()[1])

    yield start
    for listener in listeners:
        listener.close()


def serve(listener: socket.socket, raw: bytes) -> None:
    while True:
        try:
            connection, _ = listener.accept()
        except OSError:
            return
        connection.recv(65536)
        connection.sendall(raw)
        connection.close()


def chunked(*parts: bytes) -> bytes:
    head = (
        b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    return head + b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts)


def events(address: Address) -> list[object]:
    return list(Exchange(address, "POST", "/mcp", {}, b"{}").events())


def test_nobody_listening_means_not_sent() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(NotSent):
        Exchange(Address("127.0.0.1", port), "POST", "/", {}, b"{}")


@pytest.mark.parametrize(
    "raw",
    [b"", b"HTTP/1.1", b"nonsense\r\n\r\n", b"SSH-2.0-x\r\n", b"HTTP/1.1 abc\r\n\r\n"],
)
def test_no_proper_answer_means_broken(answering: Answering, raw: bytes) -> None:
    with pytest.raises(Broken):
        Exchange(answering(raw), "POST", "/", {}, b"{}")


def test_an_event_may_be_spread_over_chunks_and_lines(answering: Answering) -> None:
    raw = chunked(
        b": ping\r\n\r\n",
        b'event: message\r\ndata: {"a"',
        b':\r\ndata: "\xe2\x80\xa8\xc3',
        b'\xa4"}\r\n\r\ndata:\r\n\r\n',
        b'data: {"b":2}\n\n',
        b"",
    )
    assert events(answering(raw)) == [{"a": "\u2028ä"}, {"b": 2}]


def test_a_json_answer_is_one_message(answering: Answering) -> None:
    raw = b'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 7\r\n\r\n{"a":1}'
    assert events(answering(raw)) == [{"a": 1}]


@pytest.mark.parametrize(
    "raw",
    [
        chunked(b'data: {"a":1}\r\n\r\n'),
        chunked(b"data: not json\r\n\r\n", b""),
        chunked(b"data: 5\r\n\r\n", b""),
        chunked(b"x")[:-4],
        b"HTTP/1.1 200 OK\r\ncontent-length: 50\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\ncontent-length: many\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
    ],
)
def test_an_answer_that_ends_early_means_broken(answering: Answering, raw: bytes) -> None:
    with pytest.raises(Broken):
        events(answering(raw))


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("http://127.0.0.1:4747/mcp", Address("127.0.0.1", 4747)),
        ("http://[::1]:4747/mcp", Address("::1", 4747)),
        ("https://127.0.0.1:4747/mcp", None),
        ("http://127.0.0.1/mcp", None),
        ("http://:1/", None),
        ("http://127.0.0.1:65536/mcp", None),
        ("http://127.0.0.1:99999999999999999999/mcp", None),
        ("http://127.0.0.1:0/mcp", None),
        ("http://127.0.0.1:\u0663/mcp", Address("127.0.0.1", 3)),
        ("http://127.0.0.1:\u00b2/mcp", None),
        ("nonsense", None),
        ("", None),
    ],
)
def test_addresses_are_read_from_urls(url: str, address: Address | None) -> None:
    assert Address.of(url) == address


def test_a_small_question_has_an_answer_or_none(answering: Answering) -> None:
    good = answering(b'HTTP/1.1 200 OK\r\ncontent-length: 7\r\n\r\n{"a":1}')
    assert ask(good, "GET", "/", {}, 2) == {"a": 1}
    assert ask(answering(b"HTTP/1.1 404 No\r\n\r\n"), "GET", "/", {}, 2) is None
    assert ask(answering(b"junk"), "GET", "/", {}, 2) is None


@pytest.mark.parametrize(
    "raw",
    [
        b"HTTP/1.1 200 OK\r\ncontent-length: 70000\r\n\r\n{" + b" " * 69_998 + b"}",
        b"HTTP/1.1 200 OK\r\ncontent-length: 99999999999\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n" + b"[" * 100_000,
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n" + b"ff\r\n" * 20_000,
        b"HTTP/1.1 200 OK\r\n" + b"x: y\r\n" * 200 + b"\r\n",
    ],
)
def test_a_small_question_takes_no_large_answer(answering: Answering, raw: bytes) -> None:
    assert ask(answering(raw), "GET", "/", {}, 5) is None


@pytest.mark.parametrize(
    "head", [b"", b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 200 OK\r\ncontent-length: 60000\r\n\r\n"]
)
def test_who_answers_drop_by_drop_is_not_waited_for(head: bytes) -> None:
    over = threading.Event()

    def drip(listener: socket.socket) -> None:
        connection, _ = listener.accept()
        with connection, contextlib.suppress(OSError):
            connection.sendall(head)
            tired = time.monotonic() + 7
            while not over.wait(0.05) and time.monotonic() < tired:
                connection.sendall(b"x")

    with socket.create_server(("127.0.0.1", 0)) as listener:
        stranger = threading.Thread(target=drip, args=(listener,))
        stranger.start()
        began = time.monotonic()
        address = Address("127.0.0.1", listener.getsockname()[1])
        assert ask(address, "GET", "/healthz", {}, 0.5) is None
        assert time.monotonic() - began < 5
        over.set()
        stranger.join()


@pytest.mark.parametrize("taking", [True, False])
def test_a_server_that_gave_way_is_not_found(
    home: Home, monkeypatch: pytest.MonkeyPatch, *, taking: bool
) -> None:
    ensure_token(home)
    write_record(home, ServerRecord("http://127.0.0.1:1/mcp", 1, "0"))

    def said(address: object, method: str, path: str, *_: object) -> dict[str, object]:
        nonce = path.partition("nonce=")[2]
        return {"taking": taking, "proof": prove(read_token(home) or "", nonce)}

    monkeypatch.setattr(finder, "ask", said)
    assert (Finder(home, {}, {}).find() is not None) == taking


def test_a_stranger_on_the_recorded_port_is_no_server_of_ours(
    answering: Answering, home: Home
) -> None:
    ensure_token(home)
    said = b'{"taking":true,"proof":"00"}'
    stranger = answering(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%s" % (len(said), said))
    write_record(home, ServerRecord(f"http://{stranger}/mcp", 1, "0"))
    assert Finder(home, {}, {}).find() is None
