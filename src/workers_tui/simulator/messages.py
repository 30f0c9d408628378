"""POST /v1/messages: Anthropic's answers for Claude Code, with tools, and their bills.

What the model says comes from a rule's `content`, or from a small script that
behaves like a worker: look for files, read one, answer. Follow-up requests of a
session read their earlier prompt from the cache, as the real thing does.
"""

from __future__ import annotations

import asyncio
import json
import re
import secrets
import time
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from workers_tui.simulator.bills import Bill, BillBook
from workers_tui.simulator.catalogue import count_tokens, find_model
from workers_tui.simulator.chat import text_of
from workers_tui.simulator.faults import hints, messages_trouble
from workers_tui.simulator.http import Cut, Reply, Request, json_reply
from workers_tui.simulator.prose import answer_for
from workers_tui.simulator.scenario import BEFORE_STREAM, Behaviour
from workers_tui.simulator.sse import Pace, Wire, cut_text

REMINDER = re.compile(r"<system-reminder>.*?</system-reminder>", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Turn:
    """What matters of one Messages request."""

    model: str
    task: str
    """Last user text without reminders; empty when the last message holds tool results."""
    first_task: str
    """First user text of the conversation."""
    tool_result: str | None
    """Text of the tool results in the last message."""
    answers: frozenset[str]
    """Tools whose results the last message holds."""
    tools: frozenset[str]
    results: int
    """Tool results in the whole conversation."""
    system: str
    raw: str
    """The last message as JSON."""
    prompt_tokens: int
    max_tokens: int
    stream: bool
    session: str | None
    agent: str | None
    has_thinking: bool

    def seen(self) -> Mapping[str, Any]:
        """What rules look at."""
        return {
            "user": self.task if self.tool_result is None else None,
            "tool_result": self.tool_result,
            "system": self.system,
            "model": self.model,
            "raw": self.raw,
            "tool": self.tools,
            "answers": self.answers,
            "tools": bool(self.tools),
            "agent": self.agent is not None,
            "stream": self.stream,
        }


def _blocks(message: Mapping[str, Any], kind: str) -> list[dict[str, Any]]:
    content = message.get("content")
    blocks = content if isinstance(content, list) else []
    return [block for block in blocks if isinstance(block, dict) and block.get("type") == kind]


def _results_text(blocks: list[dict[str, Any]]) -> str:
    return "\n".join(text_of(block.get("content")) for block in blocks)


def _plain(message: Mapping[str, Any]) -> str:
    return REMINDER.sub("", text_of(message.get("content"))).strip()


def read_turn(raw: dict[str, Any], request: Request) -> Turn:
    """The request's facts; raises ValueError for what the original refuses."""
    messages = [one for one in raw.get("messages") or [] if isinstance(one, dict)]
    if not messages or not raw.get("model"):
        raise ValueError("messages: at least one message is required")
    users = [one for one in messages if one.get("role") == "user"] or messages
    last = users[-1]
    results = _blocks(last, "tool_result")
    names = {
        block.get("id"): block.get("name", "")
        for one in messages
        for block in _blocks(one, "tool_use")
    }
    prompt = json.dumps([raw.get("system"), messages, raw.get("tools")], ensure_ascii=False)
    return Turn(
        model=str(raw["model"]),
        task=_plain(last),
        first_task=next((text for one in users if (text := _plain(one))), ""),
        tool_result=_results_text(results) if results else None,
        answers=frozenset(names.get(block.get("tool_use_id"), "") for block in results),
        tools=frozenset(str(tool.get("name")) for tool in raw.get("tools") or []),
        results=sum(len(_blocks(one, "tool_result")) for one in messages),
        system=text_of(raw.get("system")),
        raw=json.dumps(last),
        prompt_tokens=count_tokens(prompt),
        max_tokens=int(raw.get("max_tokens") or 4096),
        stream=bool(raw.get("stream")),
        session=request.headers.get("x-claude-code-session-id"),
        agent=request.headers.get("x-claude-code-agent-id"),
        has_thinking="thinking" in raw,
    )


class PromptCache:
    """How long a prompt each session has sent before: that much is read from the cache."""

    def __init__(self) -> None:
        self._sent: dict[tuple[str, str | None], int] = {}

    def read(self, turn: Turn, prompt: int) -> int:
        """Tokens of this prompt that are cached; it is remembered for the next one."""
        if turn.session is None:
            return 0
        key = (turn.session, turn.agent)
        before = self._sent.get(key, 0)
        self._sent[key] = prompt
        return min(before, prompt - 1) if before else 0


def script(turn: Turn) -> list[dict[str, Any]]:
    """What a worker without a rule does: look, read, answer."""
    task = turn.first_task
    if turn.results == 0 and "Glob" in turn.tools:
        return [
            {"text": "I will look at what is there."},
            {"tool": "Glob", "input": {"pattern": "**/*.py"}},
        ]
    found = re.search(r"^(/\S+\.\w+)$", turn.tool_result or "", re.MULTILINE)
    if turn.results == 1 and found and "Read" in turn.tools:
        return [
            {"text": f"Reading {found[1]}."},
            {"tool": "Read", "input": {"file_path": found[1]}},
        ]
    return [{"text": answer_for(task, turn.model)}]


class Message:
    """One message on its way: its blocks, its tokens, its bill."""

    def __init__(self, turn: Turn, how: Behaviour, book: BillBook, cache: PromptCache) -> None:
        self.turn, self.how, self.book = turn, how, book
        self.id = book.new_id("req")
        self.served = how.served or turn.model.partition("#")[0].removesuffix("[1m]")
        self.blocks = self._content()
        self.prompt = turn.prompt_tokens if how.prompt_tokens is None else how.prompt_tokens
        self.cached = how.cached_tokens or cache.read(turn, self.prompt)
        self.written = how.cache_write_tokens
        self.sent_chars = 0
        self.booked = False
        self._began = time.monotonic()

    def _content(self) -> list[dict[str, Any]]:
        if self.how.fault in {"empty", "network-error"}:
            return []
        plain = [{"text": self.how.text}] if self.how.text is not None else script(self.turn)
        return [_block(one) for one in self.how.content or plain]

    @property
    def completion(self) -> int:
        if self.how.completion_tokens is not None:
            return self.how.completion_tokens
        return sum(count_tokens(_weight(block)) for block in self.blocks)

    @property
    def stop(self) -> str:
        if self.how.stop_reason:
            return self.how.stop_reason
        if self.how.fault == "length":
            return "max_tokens"
        return (
            "tool_use" if any(block["type"] == "tool_use" for block in self.blocks) else "end_turn"
        )

    def usage(self) -> dict[str, Any]:
        """The final usage object."""
        return {
            "input_tokens": self.prompt - self.cached - self.written,
            "cache_creation_input_tokens": self.written,
            "cache_read_input_tokens": self.cached,
            "output_tokens": self.completion,
        }

    def body(self) -> dict[str, Any]:
        """The message as it is sent when it is not streamed."""
        return {
            "id": "msg_" + secrets.token_hex(11),
            "type": "message",
            "role": "assistant",
            "model": self.served,
            "content": self.blocks,
            "stop_reason": self.stop,
            "stop_sequence": None,
            "usage": self.usage(),
        }

    def bill(self, *, cancelled: bool = False, free: bool = False) -> None:
        """Put it in the book, once."""
        if self.booked:
            return
        self.booked = True
        whole = not cancelled or self.how.bill_whole
        completion = self.completion if whole else -(-self.sent_chars // 4)
        prompt = 0 if free else self.prompt
        completion = 0 if free else completion
        price = find_model(self.served)
        cost = price.cost(
            prompt, completion, self.cached if prompt else 0, self.written if prompt else 0
        )
        self.book.add(
            Bill(
                id=self.id,
                api="messages",
                asked=self.turn.model,
                model=self.served,
                provider=self.how.provider,
                prompt=prompt,
                completion=completion,
                cached=self.cached if prompt else 0,
                written=self.written if prompt else 0,
                cost=Decimal(0) if free else self.how.cost or cost,
                cancelled=cancelled,
                told=not cancelled and self.how.usage_style != "none",
                finish=None if cancelled else self.stop,
                streamed=self.turn.stream,
                session=self.turn.session,
                agent=self.turn.agent,
                ms=int((time.monotonic() - self._began) * 1000),
            ),
            self.how.bill_misses,
        )


def _block(one: Mapping[str, Any]) -> dict[str, Any]:
    if "tool" in one:
        name = "toolu_" + secrets.token_hex(11)
        return {"type": "tool_use", "id": name, "name": one["tool"], "input": one.get("input", {})}
    if "thinking" in one:
        return {"type": "thinking", "thinking": one["thinking"], "signature": "c2ln"}
    return {"type": "text", "text": one["text"]}


def _weight(block: Mapping[str, Any]) -> str:
    if block["type"] == "tool_use":
        return str(block["name"]) + json.dumps(block["input"])
    return str(block.get("text") or block.get("thinking") or "")


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
