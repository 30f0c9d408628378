"""One chat completion on its way: its request, its texts, its tokens, its bill."""

from __future__ import annotations

import time
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from workers_tui.simulator.bills import Bill, BillBook
from workers_tui.simulator.catalogue import count_tokens, find_model
from workers_tui.simulator.http import Request
from workers_tui.simulator.prose import answer_for
from workers_tui.simulator.scenario import Behaviour

PROMPT_OVERHEAD = 4
"""Tokens that each message adds to its text."""


@dataclass(frozen=True, slots=True)
class Ask:
    """What matters of one chat request."""

    model: str
    fallbacks: tuple[str, ...]
    """Models to try when the first one fails before its first token."""
    prompt: str
    """All messages, joined."""
    task: str
    """The last user message."""
    messages: int
    max_tokens: int | None
    stream: bool
    session: str | None


def text_of(content: Any) -> str:
    """The text of a message's content, string or parts."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(part.get("text", "") for part in parts if isinstance(part, dict))


def read_ask(raw: dict[str, Any], request: Request) -> Ask:
    """The request's facts; raises ValueError for what the original refuses."""
    messages = raw.get("messages")
    if not isinstance(messages, list) or not messages:
        raise ValueError('Input required: specify "prompt" or "messages"')
    model = str(raw.get("model") or next(iter(raw.get("models") or []), ""))
    if not model:
        raise ValueError("No models provided")
    texts = [text_of(message.get("content")) for message in messages]
    last = next(
        (
            text
            for text, message in zip(texts[::-1], messages[::-1], strict=True)
            if message.get("role") == "user"
        ),
        "",
    )
    return Ask(
        model=model,
        fallbacks=tuple(one for one in raw.get("models") or [] if one != model),
        prompt="\n".join(texts),
        task=last,
        messages=len(messages),
        max_tokens=raw.get("max_completion_tokens") or raw.get("max_tokens"),
        stream=bool(raw.get("stream")),
        session=raw.get("session_id") or request.headers.get("x-session-id"),
    )


class Answer:
    """One answer on its way: its texts, its tokens, its bill."""

    def __init__(self, ask: Ask, how: Behaviour, book: BillBook) -> None:
        self.ask, self.how, self.book = ask, how, book
        self.id = book.new_id("gen")
        self.served = how.served or ask.model.partition("#")[0]
        self.text, self.reasoning, self.finish = self._texts()
        self.sent_chars = 0
        self.booked = False
        self._began = time.monotonic()

    def _texts(self) -> tuple[str, str, str]:
        how = self.how
        text = answer_for(self.ask.task, self.ask.model) if how.text is None else how.text
        reasoning, finish = how.reasoning, how.finish
        if how.fault in {"empty", "network-error", "reasoning-only"}:
            text = ""
        if how.fault == "reasoning-only" and not reasoning:
            reasoning = "The user asks for something; let me think about what it is. " * 3
        finish = {"length": "length", "content-filter": "content_filter"}.get(how.fault, finish)
        limit = (self.ask.max_tokens or 10**9) * 4
        if len(reasoning) + len(text) > limit:
            reasoning, finish = reasoning[:limit], "length"
            text = text[: max(0, limit - len(reasoning))]
        return text, reasoning, finish

    @property
    def prompt_tokens(self) -> int:
        if self.how.prompt_tokens is not None:
            return self.how.prompt_tokens
        return count_tokens(self.ask.prompt) + PROMPT_OVERHEAD * self.ask.messages

    @property
    def reasoning_tokens(self) -> int:
        if self.how.reasoning_tokens is not None:
            return self.how.reasoning_tokens
        return count_tokens(self.reasoning)

    @property
    def completion_tokens(self) -> int:
        if self.how.completion_tokens is not None:
            return self.how.completion_tokens
        return count_tokens(self.text) + self.reasoning_tokens

    def cost(self, prompt: int, completion: int) -> Decimal:
        """USD, unless the behaviour says another sum."""
        if self.how.cost is not None:
            return self.how.cost
        cached, written = self.how.cached_tokens, self.how.cache_write_tokens
        return find_model(self.served).cost(prompt, completion, cached, written)

    def usage(self) -> dict[str, Any]:
        """The usage object of a finished answer."""
        prompt, completion = self.prompt_tokens, self.completion_tokens
        if self.how.fault == "cache-hit":
            return _usage(0, 0, 0, 0, 0, None)
        cost = self.cost(prompt, completion)
        usage = _usage(
            prompt,
            completion,
            self.how.cached_tokens,
            self.how.cache_write_tokens,
            self.reasoning_tokens,
            0.0 if self.how.byok else float(cost),
        )
        if self.how.byok:
            usage |= {"is_byok": True}
            usage["cost_details"]["upstream_inference_cost"] = float(cost)
        return usage

    def bill(self, *, cancelled: bool = False, told: bool = True, free: bool = False) -> None:
        """Put it in the book, once; `free` for an answer that ended in an error."""
        if self.booked:
            return
        self.booked = True
        whole = not cancelled or self.how.bill_whole
        completion = self.completion_tokens if whole else -(-self.sent_chars // 4)
        prompt = self.prompt_tokens
        if free or self.how.fault == "cache-hit":
            prompt = completion = 0
        cost = (
            Decimal(0) if free or self.how.fault == "cache-hit" else self.cost(prompt, completion)
        )
        self.book.add(
            Bill(
                id=self.id,
                api="chat",
                asked=self.ask.model,
                model=self.served,
                provider=self.how.provider,
                prompt=prompt,
                completion=completion,
                cached=self.how.cached_tokens if prompt else 0,
                written=self.how.cache_write_tokens if prompt else 0,
                reasoning=min(completion, self.reasoning_tokens),
                cost=Decimal(0) if self.how.byok else cost,
                byok_cost=cost if self.how.byok else None,
                cancelled=cancelled,
                told=told and not cancelled,
                finish=None if cancelled else self.finish,
                streamed=self.ask.stream,
                session=self.ask.session,
                ms=int((time.monotonic() - self._began) * 1000),
            ),
            self.how.bill_misses,
        )

    def chunk(self, choices: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
        """One chunk of the stream."""
        return {
            "id": self.id,
            "provider": self.how.provider,
            "model": self.served,
            "object": "chat.completion.chunk",
            "created": int(time.time()),
            "choices": choices,
            **more,
        }

    def delta(
        self, content: str, reasoning: str | None = None, finish: str | None = None
    ) -> dict[str, Any]:
        """One chunk with text, thinking or a finish reason."""
        inner: dict[str, Any] = {"role": "assistant", "content": content}
        if reasoning is not None:
            inner["reasoning"] = reasoning
            inner["reasoning_details"] = [
                {"type": "reasoning.text", "text": reasoning, "format": "unknown", "index": 0}
            ]
        native = (
            finish if self.how.native_finish is None or finish is None else self.how.native_finish
        )
        return self.chunk(
            [
                {
                    "index": 0,
                    "delta": inner,
                    "finish_reason": finish,
                    "native_finish_reason": native,
                    "logprobs": None,
                }
            ]
        )


def _usage(
    prompt: int, completion: int, cached: int, written: int, reasoning: int, cost: float | None
) -> dict[str, Any]:
    usage: dict[str, Any] = {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
        "is_byok": False,
        "prompt_tokens_details": {
            "cached_tokens": cached,
            "cache_write_tokens": written,
            "audio_tokens": 0,
        },
        "cost_details": {"upstream_inference_cost": None},
        "completion_tokens_details": {"reasoning_tokens": reasoning},
    }
    if cost is not None:
        usage["cost"] = cost
    return usage
