"""One message of the Messages API on its way: its blocks, its tokens, its bill."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from workers_tui.simulator.bills import Bill, BillBook
from workers_tui.simulator.catalogue import count_tokens, find_model
from workers_tui.simulator.scenario import Behaviour
from workers_tui.simulator.turn import PromptCache, Turn, script


class Message:
    """One message on its way: its blocks, its tokens, its bill."""

    def __init__(self, turn: Turn, how: Behaviour, book: BillBook, cache: PromptCache) -> None:
        self.turn, self.how, self.book = turn, how, book
        self.id = book.new_id("req")
        self.served = how.served or turn.model.partition("#")[0].removesuffix("[1m]")
        self.cut = False
        """The answer was longer than `max_tokens`."""
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
        return self._held([_block(one) for one in self.how.content or plain])

    def _held(self, blocks: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """What `max_tokens` lets through; a text is cut, a tool call falls away."""
        left, kept = self.turn.max_tokens * 4, []
        for block in blocks:
            size = len(_weight(block))
            if size > left:
                self.cut = True
                if block["type"] == "text":
                    kept.append({**block, "text": block["text"][:left]})
                break
            kept.append(block)
            left -= size
        return kept

    @property
    def completion(self) -> int:
        if self.how.completion_tokens is not None:
            return self.how.completion_tokens
        return sum(count_tokens(_weight(block)) for block in self.blocks)

    @property
    def stop(self) -> str:
        if self.how.stop_reason:
            return self.how.stop_reason
        if self.cut or self.how.fault == "length":
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
