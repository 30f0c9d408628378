"""Usage from Anthropic answers: every style, every cut of the bytes."""

from __future__ import annotations

import json
from decimal import Decimal
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers_tui.engine.agents.message_reading import (
    LONGEST_LINE,
    EventCutter,
    MessageReading,
    Passed,
    guess,
)
from workers_tui.engine.usage import Usage

FULL = {
    "input_tokens": 100,
    "cache_read_input_tokens": 40,
    "cache_creation_input_tokens": 10,
    "output_tokens": 7,
}
WANTED = Usage(input=150, output=7, cached=40, cache_write=10)


def stream(start: Any, end: Any, line_end: str = "\n", text: str = "hi \u2028 there") -> bytes:
    message = {"type": "message", "model": "m", "content": [], "usage": start}
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": message},
        {"type": "ping"},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text"}},
        {"type": "content_block_delta", "delta": {"type": "text_delta", "text": text}},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": end},
        {"type": "message_stop"},
    ]
    lines = [f"event: {e['type']}{line_end}data: {json.dumps(e)}{line_end * 2}" for e in events]
    return "".join(lines).encode()


def read(raw: bytes, cuts: list[int] | None = None) -> Passed:
    reading = MessageReading()
    edges = [0, *sorted(cuts or []), len(raw)]
    for start, end in pairwise(edges):
        reading.feed(raw[start:end])
    reading.end()
    return reading.passed()


@pytest.mark.parametrize(
    ("start", "end"),
    [
        ({**FULL, "output_tokens": 1}, FULL),
        (dict.fromkeys(FULL, 0), FULL),
        ({**FULL, "output_tokens": 1}, {"output_tokens": 7}),
        ({**FULL, "output_tokens": 0}, {**dict.fromkeys(FULL, 0), "output_tokens": 7}),
        (None, FULL),
        (FULL, None),
    ],
)
def test_usage_is_the_same_wherever_it_is_told(start: Any, end: Any) -> None:
    passed = read(stream(start, end))
    assert passed.usage == WANTED
    assert (passed.complete, passed.model, passed.stop_reason) == (True, "m", "end_turn")


@given(
    cuts=st.lists(st.integers(0, 900), max_size=40),
    line_end=st.sampled_from(["\n", "\r\n", "\r"]),
)
def test_no_cut_of_the_bytes_matters(cuts: list[int], line_end: str) -> None:
    raw = stream({**FULL, "output_tokens": 1}, FULL, line_end)
    passed = read(raw, [cut for cut in cuts if cut < len(raw)])
    assert passed.usage == WANTED
    assert passed.chars == len("hi \u2028 there")
    assert passed.complete


@pytest.mark.parametrize("usage", [None, {}, dict.fromkeys(FULL, 0), {"input_tokens": None}])
def test_no_usage_is_none_and_not_zero(usage: Any) -> None:
    assert read(stream(usage, usage)).usage is None


@pytest.mark.parametrize("bad", [-1, 1.5, "7", True])
def test_counts_that_are_none_are_not_taken(bad: Any) -> None:
    passed = read(stream({**FULL, "input_tokens": bad}, {"output_tokens": 7}))
    assert passed.usage == Usage(input=50, output=7, cached=40, cache_write=10)


def test_writes_for_an_hour_are_a_part_of_all_writes() -> None:
    split = {"ephemeral_1h_input_tokens": 4, "ephemeral_5m_input_tokens": 6}
    usage = read(stream({**FULL, "cache_creation": split}, FULL)).usage
    assert usage == Usage(150, 7, 40, cache_write=6, cache_write_1h=4)
    zeros = dict.fromkeys(split, 0)
    assert read(stream({**FULL, "cache_creation": zeros}, FULL)).usage == WANTED


def test_an_error_in_midstream_is_kept() -> None:
    raw = stream(FULL, FULL).partition(b"event: message_delta")[0]
    raw += b'event: error\ndata: {"type":"error","error":{"message":"Overloaded"}}\n\n'
    passed = read(raw)
    assert (passed.error, passed.complete) == ("Overloaded", False)


def test_pings_are_no_progress() -> None:
    reading = MessageReading()
    reading.feed(b'event: ping\ndata: {"type": "ping"}\n\n: comment\n\n' * 9)
    assert reading.progress == 0


def test_a_whole_body_is_read() -> None:
    reading = MessageReading()
    body = {"type": "message", "model": "m", "stop_reason": "end_turn", "usage": FULL}
    reading.whole(json.dumps({**body, "content": [{"type": "text", "text": "abcd"}]}).encode())
    passed = reading.passed()
    assert (passed.usage, passed.chars, passed.complete) == (WANTED, 4, True)


@pytest.mark.parametrize("raw", [b"", b"<html>", b"[]", b'{"error": {"message": "no"}}'])
def test_what_is_no_answer_is_not_complete(raw: bytes) -> None:
    reading = MessageReading()
    reading.whole(raw)
    assert not reading.passed().complete


def test_a_cut_answer_is_guessed_from_what_came() -> None:
    raw = stream({**FULL, "output_tokens": 1}, None, text="x" * 400)
    passed = read(raw.partition(b"event: message_delta")[0])
    assert guess(passed, 9999) == Usage(150, 100, 40, 10)
    assert guess(read(b""), 400) == Usage(100, 0)


def test_data_lines_of_one_event_are_joined() -> None:
    found = list(EventCutter().feed(b"data: {\ndata: 1}\n\ndata\n\n"))
    assert found == [b"{\n1}"]


ODD = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(["usage", "cost", "stop_reason", "model", "text", "input", *FULL]),
            inner,
        )
    ),
    max_leaves=6,
)


@given(
    st.sampled_from(["message_start", "content_block_delta", "message_delta", "error", "message"]),
    st.dictionaries(st.sampled_from(["message", "delta", "usage", "error", "content"]), ODD),
)
def test_fields_of_an_unexpected_kind_stop_nothing(kind: str, fields: dict[str, Any]) -> None:
    body = json.dumps({"type": kind, **fields})
    whole = MessageReading()
    whole.whole(body.encode())
    for passed in (read(f"data: {body}\n\n".encode()), whole.passed()):
        assert passed.stop_reason is None or isinstance(passed.stop_reason, str)
        assert passed.model is None or isinstance(passed.model, str)
        assert passed.cost_usd is None or 0 <= passed.cost_usd <= 10**9


@pytest.mark.parametrize("name", ["a\nb", "\x1b[2J", "x" * 300, "", 5])
def test_a_served_model_that_cannot_be_one_is_not_taken(name: object) -> None:
    reading = MessageReading()
    reading.whole(json.dumps({"model": name, "content": [], "stop_reason": "end_turn"}).encode())
    assert reading.passed().model is None


def test_a_whole_number_may_be_written_with_a_point() -> None:
    floats = {name: float(count) for name, count in FULL.items()}
    assert read(stream(floats, floats)).usage == WANTED


@pytest.mark.parametrize(
    ("start", "end", "counted"),
    [
        (FULL, FULL, True),
        ({**FULL, "output_tokens": 1}, {"output_tokens": 7}, True),
        (None, FULL, True),
        ({**FULL, "output_tokens": 1}, None, False),
        ({**FULL, "output_tokens": 1}, {"output_tokens": "7"}, False),
        ({"output_tokens": 1}, {"input_tokens": 0, "output_tokens": 7}, False),
        (None, None, False),
    ],
)
def test_an_output_counts_that_was_told_at_its_end(start: Any, end: Any, counted: bool) -> None:
    assert read(stream(start, end)).counted is counted


def test_a_cost_told_twice_counts_as_the_larger() -> None:
    passed = read(stream({**FULL, "cost": 0.5}, {**FULL, "cost": 0.25}))
    assert passed.cost_usd == Decimal("0.5")


def test_a_stream_that_came_in_one_piece_is_read() -> None:
    reading = MessageReading()
    reading.whole(stream({**FULL, "output_tokens": 1}, FULL))
    passed = reading.passed()
    assert (passed.usage, passed.complete, passed.stop_reason) == (WANTED, True, "end_turn")


def test_an_error_may_tell_what_was_used() -> None:
    reading = MessageReading()
    reading.whole(json.dumps({"type": "error", "error": {"message": "no"}, "usage": FULL}).encode())
    assert (reading.passed().error, reading.passed().usage) == ("no", WANTED)


def test_a_line_without_end_is_let_go_and_the_next_is_read() -> None:
    cutter = EventCutter()
    piece = b"x" * 65_536
    for _ in range(2 + LONGEST_LINE // len(piece)):
        assert list(cutter.feed(piece)) == []
    assert sum(map(len, cutter._line)) <= LONGEST_LINE
    assert list(cutter.feed(b"\n\ndata: 1\n\n")) == [b"1"]
