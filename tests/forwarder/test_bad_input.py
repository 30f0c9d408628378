"""Whatever arrives on standard input, the forwarder lives and says what is wrong."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.forwarder.conftest import Forward, Serve
from tests.forwarder.stdio import INITIALIZE, Stdio, text_of
from tests.server.fake_engine import FakeEngine

from workers_tui.forwarder.frames import Fault, parse, proper_id, read_lines

CALL = {"name": "delegate", "arguments": {"task": "t"}}


async def alive(client: Stdio) -> bool:
    answer = await client.ask("still-there", "ping")
    return bool(answer["result"] == {})


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        (b"garbage\n", -32700),
        (b"\xff\xfe\x00\n", -32700),
        (b'{"jsonrpc":"2.0","id":1,"method":"pi\n', -32700),
        (b"[" * 100_000 + b"\n", -32700),
        (b'{"id":' + b"9" * 10_000 + b"}\n", -32700),
        (b"[]\n", -32600),
        (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]\n', -32600),
        (b"42\n", -32600),
        (b"null\n", -32600),
        (b"{}\n", -32600),
        (b'{"id":{},"method":"ping"}\n', -32600),
        (b'{"id":true,"method":"ping"}\n', -32600),
        (b'{"id":null,"method":"ping"}\n', -32600),
        (b'{"id":1.5,"method":"ping"}\n', -32600),
        (b'{"id":1,"method":5}\n', -32600),
        (b'{"id":1,"method":"ping","params":[1]}\n', -32602),
        (b'{"id":1,"method":"no/such"}\n', -32601),
        (b'{"id":1,"method":"server/discover"}\n', -32601),
    ],
)
async def test_a_bad_frame_is_answered_and_survived(
    forward: Forward, raw: bytes, code: int
) -> None:
    client = await forward()
    await client.send_raw(raw)
    answer = await client.wait(lambda one: "error" in one)
    assert answer["error"]["code"] == code
    assert await alive(client)


async def test_a_frame_without_end_is_refused_and_skipped(forward: Forward) -> None:
    client = await forward()
    await client.send_raw(b'{"x":"' + b"a" * 17_000_000)
    answer = await client.wait(lambda one: "error" in one)
    assert answer["error"]["code"] == -32600
    await client.send_raw(b"a" * 1000 + b'"}\n')
    assert await alive(client)
    assert len([one for one in client.seen if "error" in one]) == 1


async def test_a_huge_call_is_refused_by_name(
    forward: Forward, serve: Serve, engine: FakeEngine
) -> None:
    await serve()
    client = await forward()
    await client.greet()
    answer = await client.call(1, "delegate", {"task": "x" * 5_000_000})
    assert "name files instead" in answer["error"]["message"]
    assert await alive(client)
    assert engine.asked == []


async def test_an_unknown_protocol_version_gets_one_we_speak(forward: Forward) -> None:
    client = await forward()
    for number, wanted in enumerate(["1999-01-01", 7, None, "2026-07-28"]):
        answer = await client.ask(number, "initialize", {**INITIALIZE, "protocolVersion": wanted})
        assert answer["result"]["protocolVersion"] == "2025-11-25"
    for wanted in ("2025-06-18", "2024-11-05"):
        answer = await client.ask(wanted, "initialize", {**INITIALIZE, "protocolVersion": wanted})
        assert answer["result"]["protocolVersion"] == wanted


async def test_a_second_call_with_a_running_id_is_refused(
    forward: Forward, serve: Serve, engine: FakeEngine
) -> None:
    engine.hold = True
    await serve()
    client = await forward()
    await client.greet()
    call = {"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": CALL}
    await client.send(call, call)
    refused = await client.answer(5)
    assert "still running" in refused["error"]["message"]
    await engine.started.wait()
    engine.finish("job1")
    answer = await client.wait(lambda one: one.get("id") == 5 and "result" in one)
    assert text_of(answer).endswith("the answer")
    assert len(engine.asked) == 1


async def test_a_call_before_initialize_is_served(
    forward: Forward, serve: Serve, engine: FakeEngine
) -> None:
    await serve()
    client = await forward()
    assert text_of(await client.call(1, "delegate", {"task": "t"})).endswith("the answer")


@pytest.mark.parametrize(
    "params", [{}, {"name": 5}, {"name": "delegate", "arguments": []}, {"name": "delegate"}]
)
async def test_malformed_calls_are_errors_in_words(
    forward: Forward, serve: Serve, engine: FakeEngine, params: dict[str, object]
) -> None:
    await serve()
    client = await forward()
    await client.greet()
    answer = await client.ask(1, "tools/call", params)
    assert "error" in answer or answer["result"]["isError"]
    assert await alive(client)


@given(st.binary(max_size=300))
def test_any_bytes_make_a_message_or_a_fault(raw: bytes) -> None:
    made = parse(raw)
    assert isinstance(made, Fault) or "method" in made or proper_id(made["id"])


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
        lambda part: (
            st.lists(part, max_size=3)
            | st.dictionaries(st.sampled_from(["id", "method", "params", "jsonrpc"]), part)
        ),
        max_leaves=12,
    )
)
def test_any_json_makes_a_message_or_a_fault(value: object) -> None:
    made = parse(json.dumps(value).encode())
    if not isinstance(made, Fault):
        assert isinstance(made.get("params", {}), dict)
        assert proper_id(made["id"]) if "id" in made else isinstance(made["method"], str)


def test_a_closed_standard_input_is_its_end() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    os.close(writing)
    assert list(read_lines(reading)) == []


@pytest.mark.skipif(sys.platform == "darwin", reason="has no /dev/full")
@pytest.mark.parametrize("output", [">&-", ">/dev/full"])
def test_an_output_that_takes_nothing_is_the_end_and_no_defect(output: str) -> None:
    asked = b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n'
    command = f'exec "{sys.executable}" -m workers_tui mcp {output}'
    done = subprocess.run(["sh", "-c", command], input=asked, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
