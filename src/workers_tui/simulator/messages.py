"""POST /v1/messages: Anthropic's answers for Claude Code, streamed or whole.

What the model says comes from a rule's `content`, or from a small script that
behaves like a worker: look for files, read one, answer. Follow-up requests of a
session read their earlier prompt from the cache, as the real thing does.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from typing import Any

from workers_tui.simulator.bills import BillBook
from workers_tui.simulator.faults import hints, messages_trouble
from workers_tui.simulator.http import Cut, Reply, json_reply
from workers_tui.simulator.message import Message
from workers_tui.simulator.scenario import BEFORE_STREAM, Behaviour
from workers_tui.simulator.sse import Pace, Wire, cut_text
from workers_tui.simulator.turn import PromptCache, Turn, read_turn

__all__ = ["PromptCache", "answer", "read_turn"]


async def answer(turn: Turn, how: Behaviour, book: BillBook, cache: PromptCache) -> Reply:
    """The reply to one Messages request."""
    if how.fault == "drop":
        raise Cut
    if how.fault == "hang":
        await asyncio.sleep(how.stall)
    if how.fault in BEFORE_STREAM - {"hang"}:
        return messages_trouble(how, turn.model)
    one = Message(turn, how, book, cache)
    headers = hints(how)
    if how.generation_id:
        headers += (("request-id", one.id),)
    if turn.stream:
        return Reply(200, stream(one), headers, "text/event-stream", how.header_delay)
    await Pace(how.tokens_per_second).wait(one.completion)
    body = one.body()
    if how.usage_style == "none":
        del body["usage"]
    one.bill()
    return json_reply(body, headers=headers)


async def stream(one: Message) -> AsyncGenerator[bytes, None]:
    """A message as events; whatever ends it, it is billed."""
    wire = Wire(one.how)
    try:
        async for raw in _events(one, wire):
            async for piece in wire.pieces(raw):
                yield piece
    finally:
        one.bill(cancelled=True)


def _event(wire: Wire, kind: str, **data: Any) -> bytes:
    return wire.event({"type": kind, **data}, kind)


def _first_usage(one: Message) -> dict[str, Any] | None:
    usage = one.usage() | {"output_tokens": 1}
    if one.how.usage_style == "start-zero":
        return dict.fromkeys(usage, 0)
    return None if one.how.usage_style == "none" else usage


def _last_usage(one: Message) -> dict[str, Any] | None:
    usage = one.usage()
    if one.how.usage_style == "output-only":
        return {"output_tokens": usage["output_tokens"]}
    return None if one.how.usage_style in {"none", "start-only"} else usage


async def _events(one: Message, wire: Wire) -> AsyncGenerator[bytes, None]:
    how = one.how
    yield wire.comments()
    await asyncio.sleep(how.first_delay)
    start = one.body() | {"content": [], "stop_reason": None}
    del start["usage"]
    if (usage := _first_usage(one)) is not None:
        start["usage"] = usage
    yield _event(wire, "message_start", message=start)
    yield _event(wire, "ping")
    pace = Pace(how.tokens_per_second)
    parts = [part for index, block in enumerate(one.blocks) for part in _parts(index, block, how)]
    strike = int(len(parts) * how.at)
    for number, (kind, data, chars) in enumerate(parts):
        if number == strike:
            async for raw in _strike(one, wire):
                yield raw
            if one.booked:
                return
        if chars:
            await pace.wait(chars / 4)
        one.sent_chars += chars
        yield _event(wire, kind, **data)
    if how.fault == "no-finish":
        one.bill()
        return
    ending: dict[str, Any] = {"delta": {"stop_reason": one.stop, "stop_sequence": None}}
    if (usage := _last_usage(one)) is not None:
        ending["usage"] = usage
    one.bill()
    yield _event(wire, "message_delta", **ending)
    yield _event(wire, "message_stop")


async def _strike(one: Message, wire: Wire) -> AsyncGenerator[bytes, None]:
    how = one.how
    if how.fault in {"stall", "stall-comments"}:
        until = asyncio.get_running_loop().time() + how.stall
        while (left := until - asyncio.get_running_loop().time()) > 0:
            if how.fault == "stall-comments":
                yield _event(wire, "ping")
            await asyncio.sleep(min(left, 0.2))
    elif how.fault == "cut":
        one.bill(cancelled=True)
        raise Cut
    elif how.fault == "cut-quiet":
        one.bill(cancelled=True)
    elif how.fault.startswith("error-"):
        one.bill(cancelled=True)
        error = {"type": "overloaded_error", "message": how.message or "Overloaded"}
        yield _event(wire, "error", error=error)


Part = tuple[str, dict[str, Any], int]


def _parts(index: int, block: dict[str, Any], how: Behaviour) -> list[Part]:
    shell, kind, key, text = _shape(block)
    parts: list[Part] = [("content_block_start", {"index": index, "content_block": shell}, 0)]
    for piece in cut_text(text, how.chunk_chars):
        delta = {"index": index, "delta": {"type": kind, key: piece}}
        parts.append(("content_block_delta", delta, len(piece)))
    if block["type"] == "thinking":
        signature = {"type": "signature_delta", "signature": "c2ln"}
        parts.append(("content_block_delta", {"index": index, "delta": signature}, 0))
    parts.append(("content_block_stop", {"index": index}, 0))
    return parts


def _shape(block: dict[str, Any]) -> tuple[dict[str, Any], str, str, str]:
    if block["type"] == "tool_use":
        return (
            {**block, "input": {}},
            "input_json_delta",
            "partial_json",
            json.dumps(block["input"]),
        )
    if block["type"] == "thinking":
        shell = {"type": "thinking", "thinking": "", "signature": ""}
        return shell, "thinking_delta", "thinking", block["thinking"]
    return {"type": "text", "text": ""}, "text_delta", "text", block["text"]
