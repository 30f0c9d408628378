"""POST /chat/completions: OpenRouter's answers, streamed or whole, and their bills.

Every answer that starts is billed: whole, or what was sent when the client
hung up or the stream broke. A stream that ends in an error costs nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

from workers_tui.simulator.bills import BillBook
from workers_tui.simulator.chat_answer import Answer, Ask, read_ask
from workers_tui.simulator.faults import chat_trouble, hints
from workers_tui.simulator.http import Cut, Reply, json_reply
from workers_tui.simulator.scenario import BEFORE_STREAM, Behaviour
from workers_tui.simulator.sse import Pace, Wire, cut_text

__all__ = ["answer", "read_ask"]


async def answer(ask: Ask, how: Behaviour, book: BillBook) -> Reply:
    """The reply to one chat request."""
    if how.fault == "drop":
        raise Cut
    if how.fault == "hang":
        await asyncio.sleep(how.stall)
    if how.fault in BEFORE_STREAM - {"hang"}:
        return chat_trouble(how, ask.model.partition("#")[0])
    one = Answer(ask, how, book)
    headers = hints(how)
    if how.generation_id:
        headers += (("x-generation-id", one.id),)
    if how.fault == "cache-hit":
        headers += (("x-openrouter-cache-status", "HIT"), ("x-openrouter-cache-age", "12"))
    if ask.stream:
        return Reply(200, stream(one), headers, "text/event-stream", how.header_delay)
    await Pace(how.tokens_per_second).wait(one.completion_tokens)
    one.bill()
    return json_reply(whole(one), headers=headers)


def whole(one: Answer) -> dict[str, Any]:
    """An answer that is not streamed."""
    message = {
        "role": "assistant",
        "content": one.text or None,
        "reasoning": one.reasoning or None,
        "refusal": None,
    }
    choice: dict[str, Any] = {
        "index": 0,
        "message": message,
        "finish_reason": one.finish,
        "native_finish_reason": one.how.native_finish or one.finish,
        "logprobs": None,
    }
    if one.how.fault == "error-midstream":
        choice |= {
            "finish_reason": "error",
            "error": {"code": 502, "message": "Provider disconnected"},
        }
    body = one.chunk([choice])
    return (
        body
        | {"object": "chat.completion"}
        | ({} if one.how.fault == "no-usage" else {"usage": one.usage()})
    )


async def stream(one: Answer) -> AsyncGenerator[bytes, None]:
    """An answer as events; whatever ends it, it is billed."""
    wire = Wire(one.how)
    try:
        async for raw in _events(one, wire):
            async for piece in wire.pieces(raw):
                yield piece
    finally:
        one.bill(cancelled=True)


async def _events(one: Answer, wire: Wire) -> AsyncGenerator[bytes, None]:
    how = one.how
    yield wire.comments()
    await asyncio.sleep(how.first_delay)
    if how.fault == "error-first":
        one.bill(free=True)
        yield wire.event(one.chunk([], error=_broken(how)))
        return
    pace = Pace(how.tokens_per_second)
    deltas: list[tuple[str, str | None]] = [
        ("", part) for part in cut_text(one.reasoning, how.chunk_chars)
    ]
    deltas += [(part, None) for part in cut_text(one.text, how.chunk_chars)]
    strike = int(len(deltas) * how.at)
    for number, (text, reasoning) in enumerate(deltas):
        if number == strike:
            async for raw in _strike(one, wire):
                yield raw
            if one.booked:
                return
        await pace.wait(len(text or reasoning or "") / 4)
        last = how.finish_with_content and number == len(deltas) - 1
        one.sent_chars += len(text) + len(reasoning or "")
        yield wire.event(one.delta(text, reasoning, one.finish if last else None))
    if how.fault == "no-finish":
        one.bill(told=False)
        return
    for raw in _ending(one, wire):
        yield raw


async def _strike(one: Answer, wire: Wire) -> AsyncGenerator[bytes, None]:
    """The in-stream fault, where there is one; it bills when it ends the answer."""
    how = one.how
    if how.fault == "stall":
        await asyncio.sleep(how.stall)
    elif how.fault == "stall-comments":
        until = asyncio.get_running_loop().time() + how.stall
        while asyncio.get_running_loop().time() < until:
            yield wire.one_comment()
            await asyncio.sleep(0.1)
    elif how.fault == "cut":
        one.bill(cancelled=True)
        raise Cut
    elif how.fault == "cut-quiet":
        one.bill(cancelled=True)
    elif how.fault in {"error-midstream", "error-string-code"}:
        one.bill(free=True)
        choice = {
            "index": 0,
            "delta": {"content": ""},
            "finish_reason": "error",
            "native_finish_reason": "error",
        }
        yield wire.event(one.chunk([choice], error=_broken(how)))
    elif how.fault == "error-no-choices":
        one.bill(free=True)
        yield wire.event(one.chunk([], error=_broken(how)))


def _broken(how: Behaviour) -> dict[str, Any]:
    code: int | str = "server_error" if how.fault == "error-string-code" else 502
    return {
        "code": code,
        "message": how.message or "Provider disconnected unexpectedly",
        "metadata": {"error_type": "provider_unavailable", "provider_name": how.provider},
    }


def _ending(one: Answer, wire: Wire) -> list[bytes]:
    how, events = one.how, []
    finish = "" if how.fault == "finish-blank" else one.finish
    native = "network_error" if how.fault == "network-error" else how.native_finish
    if not how.finish_with_content or not one.text:
        final = one.delta("", finish=finish)
        if native is not None:
            final["choices"][0]["native_finish_reason"] = native
        events.append(wire.event(final))
    usage, told = one.usage(), how.fault != "no-usage"
    if how.fault == "usage-twice":
        events.append(
            wire.event(one.chunk([], usage=usage | {"completion_tokens": 1, "cost": 9.99}))
        )
    if told:
        empty = [{"index": 0, "delta": {"role": "assistant", "content": ""}, "finish_reason": None}]
        choices = empty if how.fault == "usage-empty-delta" else []
        events.append(wire.event(one.chunk(choices, usage=usage)))
    free = how.fault == "network-error"
    one.bill(told=told, free=free)
    if how.fault not in {"no-done", "finish-blank"}:
        events.append(wire.event("[DONE]"))
    return events
