"""The forwarder by itself: defects, limits, and descriptors that behave in odd ways."""

from __future__ import annotations

import json
import os
import signal
import threading
from pathlib import Path
from typing import Any

import pytest
from tests.forwarder.conftest import Forward, Serve
from tests.forwarder.stdio import text_of
from tests.server.fake_engine import FakeEngine

from workers_tui.forwarder import bridge as bridge_module
from workers_tui.forwarder.bridge import Bridge
from workers_tui.forwarder.connections import Connections
from workers_tui.forwarder.frames import Output, read_lines
from workers_tui.forwarder.running import Running
from workers_tui.home.places import Home

CALL = {"name": "delegate", "arguments": {"task": "t"}}


class Client:
    """What a bridge in this process says."""

    def __init__(self, home: Home) -> None:
        reading, writing = os.pipe()
        self.bridge = Bridge({}, {"WORKERS_HOME": str(home.config)}, Output(writing))
        self._lines = os.fdopen(reading, "rb")
        self._end = writing

    def ask(self, request_id: Any, method: str, params: Any) -> None:
        self.bridge.take({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params})

    def hear(self) -> dict[str, Any]:
        message = json.loads(self._lines.readline())
        assert isinstance(message, dict)
        return message

    def close(self) -> None:
        os.close(self._end)
        self._lines.close()


@pytest.fixture
def client(home: Home) -> Any:
    made = Client(home)
    yield made
    made.close()


def test_a_defect_in_one_call_is_its_answer(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(self: Running, _: object) -> Any:
        raise KeyError("nobody thought of this")

    monkeypatch.setattr(threading, "excepthook", lambda _: client.bridge.take(PING))
    monkeypatch.setattr(Running, "forward", broken)
    client.ask(1, "tools/call", CALL)
    said = client.hear()
    assert said["id"] == 1
    assert said["result"]["isError"]
    assert "nobody thought of this" in text_of(said)
    client.ask(1, "tools/call", CALL)
    assert "nobody thought of this" in text_of(client.hear())


PING = {"jsonrpc": "2.0", "id": "the call got no answer", "method": "ping"}


def test_a_cancelled_call_is_not_answered(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def forward(self: Running, _: object) -> Any:
        self.cancelled = True
        return {"result": {"content": [{"type": "text", "text": "too late"}]}}

    monkeypatch.setattr(Running, "forward", forward)
    client.bridge._call(Running(1, CALL))
    client.ask("next", "ping", {})
    assert client.hear()["id"] == "next"


def test_there_is_an_end_to_calls_at_once(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bridge_module, "CALLS_AT_ONCE", 2)
    go_on = threading.Event()

    def forward(self: Running, _: object) -> Any:
        go_on.wait(20)
        return {"result": {"content": [{"type": "text", "text": "done"}]}}

    monkeypatch.setattr(Running, "forward", forward)
    for number in range(3):
        client.ask(number, "tools/call", CALL)
    client.ask("next", "ping", {})
    said = client.hear()
    assert said["id"] == 2
    assert "delegate_batch" in text_of(said)
    assert client.hear()["id"] == "next"
    go_on.set()
    assert {client.hear()["id"], client.hear()["id"]} == {0, 1}


def test_a_call_after_the_notice_of_new_roots_comes_after_it(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    order: list[str] = []

    def notify(self: Connections, _: object) -> None:
        called.wait(0.3)
        order.append("roots")

    def forward(self: Running, _: object) -> Any:
        order.append("call")
        called.set()
        return {"result": {"content": [{"type": "text", "text": "done"}]}}

    called = threading.Event()
    monkeypatch.setattr(Connections, "notify", notify)
    monkeypatch.setattr(Running, "forward", forward)
    client.bridge.take({"jsonrpc": "2.0", "method": "notifications/roots/list_changed"})
    client.ask(1, "tools/call", CALL)
    assert client.hear()["id"] == 1
    assert order == ["roots", "call"]


class Asking:
    """A server that asks its client things."""

    def __init__(self) -> None:
        self.told = threading.Semaphore(0)
        self.answers: list[dict[str, Any]] = []

    def notify(self, message: dict[str, Any]) -> None:
        self.answers.append(message)
        self.told.release()


def test_questions_that_nobody_answers_are_forgotten(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bridge_module, "UNANSWERED", 2)
    server = Asking()
    asked = []
    for number in range(3):
        question = {"jsonrpc": "2.0", "id": number, "method": "roots/list"}
        client.bridge._from_server(server, question)  # type: ignore[arg-type]
        asked.append(client.hear()["id"])
    for name in asked:
        client.bridge.take({"jsonrpc": "2.0", "id": name, "result": {}})
    for _ in range(2):
        assert server.told.acquire(timeout=10)
    assert sorted(one["id"] for one in server.answers) == [1, 2]


async def test_an_interrupt_of_the_whole_group_leaves_it_alive(
    forward: Forward, serve: Serve, engine: FakeEngine
) -> None:
    await serve()
    client = await forward()
    await client.greet()
    client.process.send_signal(signal.SIGINT)
    assert text_of(await client.call(1, "delegate", {"task": "t"})).endswith("the answer")


def test_standard_input_that_does_not_block_is_waited_for() -> None:
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    lines = read_lines(reading)
    first = threading.Timer(0.05, os.write, (writing, b'{"a":1}\n{"b"'))
    first.start()
    assert next(lines) == b'{"a":1}'
    first.join()
    second = threading.Timer(0.05, os.write, (writing, b":2}\n"))
    second.start()
    assert next(lines) == b'{"b":2}'
    second.join()
    os.close(writing)
    assert list(lines) == []
    os.close(reading)


def test_a_client_that_reads_slowly_gets_whole_messages() -> None:
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    big = {"text": "x" * 1_000_000}

    def send() -> None:
        Output(writing).send(big)
        os.close(writing)

    sender = threading.Thread(target=send)
    sender.start()
    with os.fdopen(reading, "rb") as client:
        assert json.loads(client.readline()) == big
    sender.join()


async def test_a_module_in_the_home_shadows_nothing_of_the_server(
    forward: Forward, home: Home, tmp_path: Path
) -> None:
    client = await forward(HOME=str(tmp_path))
    await client.greet()
    (home.state / "sqlite3.py").write_text("raise SystemExit('shadowed')")
    try:
        assert "no jobs" in text_of(await client.call(1, "delegate_list"))
    finally:
        if home.server_json.exists():
            os.kill(json.loads(home.server_json.read_text())["pid"], signal.SIGTERM)
