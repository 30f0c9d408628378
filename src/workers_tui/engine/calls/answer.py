"""Reads a chat-completions answer, chunk by chunk, into one value.

Lenient where the field is careless (usage on any chunk, empty choices, text in
parts), strict where money or truth depends on it: what is not there stays None.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

import msgspec

from workers_tui.engine.money import MOST_USD
from workers_tui.engine.settings.model_name import is_model
from workers_tui.engine.usage import MOST_TOKENS, Usage

EXCERPT = 200


class _Delta(msgspec.Struct):
    content: str | None = None
    reasoning: str | None = None
    reasoning_content: str | None = None


class _Choice(msgspec.Struct):
    delta: _Delta | None = None
    message: _Delta | None = None
    finish_reason: str | None = None
    native_finish_reason: str | None = None
    error: msgspec.Raw = msgspec.Raw()


class _Chunk(msgspec.Struct):
    id: str | None = None
    model: str | None = None
    provider: str | None = None
    choices: list[_Choice] | None = None
    usage: msgspec.Raw = msgspec.Raw()
    error: msgspec.Raw = msgspec.Raw()


_decoder = msgspec.json.Decoder(_Chunk)


@dataclass(frozen=True, slots=True)
class Answer:
    """What is known of an answer, complete or not."""

    chars: int
    """Characters of text that came."""
    reasoning_chars: int
    """Characters of thinking that came."""
    finish_reason: str | None
    """stop, length, tool_calls, content_filter, error; None when it never finished."""
    native_finish_reason: str | None
    """The same in the words of the model's own provider."""
    usage: Usage | None
    """None when the provider said nothing."""
    cost_usd: Decimal | None
    """What the provider says it costs."""
    model: str | None
    """The model that served."""
    served_by: str | None
    """The company behind a router that served."""
    generation_id: str | None
    """Names the bill to ask for later."""
    cached: bool
    """The router answered from its own cache; it costs nothing."""
    blank: bool = False
    """All text that came is white space."""


class Reading:
    """An answer while it comes in."""

    def __init__(self) -> None:
        self.generation_id: str | None = None
        self.cached = False
        self.done = False
        """`[DONE]` was seen."""
        self.finish_reason: str | None = None
        self.error: Any = None
        """The provider's error object, if one came inside the stream."""
        self._native: str | None = None
        self._chars = 0
        self._blank = True
        self._reasoning = 0
        self._usage: dict[str, Any] | None = None
        self._model: str | None = None
        self._served_by: str | None = None

    @property
    def started(self) -> bool:
        """Text or thinking came."""
        return bool(self._chars or self._reasoning)

    def feed(self, data: bytes) -> str:
        """Take the data of one event; return its text. Nothing counts after an error."""
        if self.error is not None:
            return ""
        if data == b"[DONE]":
            self.done = True
            return ""
        try:
            return self._take(_chunk(data))
        except (msgspec.DecodeError, ValueError, RecursionError):
            shown = data[:EXCERPT].decode("utf-8", "replace")
            self.error = {"message": f"something that is not JSON: {shown!r}"}
            return ""

    def _take(self, chunk: _Chunk) -> str:
        if chunk.model != self._model:
            self._model = _name(chunk.model) or self._model
        if chunk.provider != self._served_by:
            self._served_by = _name(chunk.provider) or self._served_by
        self.generation_id = self.generation_id or _name(chunk.id)
        usage = _parsed(chunk.usage)
        if isinstance(usage, dict):
            self._usage = usage
        self.error = _parsed(chunk.error) or self.error
        return self._take_choice(chunk.choices[0]) if chunk.choices else ""

    def _take_choice(self, choice: _Choice) -> str:
        self.finish_reason = choice.finish_reason or self.finish_reason
        self._native = choice.native_finish_reason or self._native
        self.error = _parsed(choice.error) or self.error
        part = choice.delta or choice.message
        if part is None:
            return ""
        self._reasoning += len(part.reasoning or part.reasoning_content or "")
        text = part.content or ""
        self._chars += len(text)
        self._blank = self._blank and (not text or text.isspace())
        return text

    def answer(self) -> Answer:
        """What is known so far."""
        return Answer(
            chars=self._chars,
            reasoning_chars=self._reasoning,
            finish_reason=_name(self.finish_reason),
            native_finish_reason=_name(self._native),
            usage=None if self._usage is None else read_usage(self._usage),
            cost_usd=None if self._usage is None else read_cost(self._usage),
            model=self._model,
            served_by=self._served_by,
            generation_id=self.generation_id,
            cached=self.cached,
            blank=self._blank,
        )


def _name(said: str | None) -> str | None:
    """A name that a screen and a line of a log can show; no other counts."""
    return said if said and is_model(said) else None


def _parsed(raw: msgspec.Raw) -> Any:
    """A part that was left as it came. Raises ValueError, RecursionError."""
    if not len(raw):
        return None
    try:
        return json.loads(bytes(raw), parse_float=Decimal)
    except (ValueError, ArithmeticError):  # odd bytes, or a number beyond all reason
        text = bytes(raw).decode("utf-8", "replace")
        return json.loads(text, parse_float=float, parse_int=float, strict=False)


def _chunk(data: bytes) -> _Chunk:
    """One event. Raises DecodeError where it is no JSON, RecursionError where it is too deep."""
    try:
        return _decoder.decode(data)
    except msgspec.ValidationError:
        return _lenient(data)


def _lenient(data: bytes) -> _Chunk:
    """A chunk some of whose fields have a kind we did not expect, or odd bytes."""
    value = msgspec.json.decode(data.decode("utf-8", "replace"))
    if not isinstance(value, dict):
        return _Chunk()
    choices = value.get("choices")
    return _Chunk(
        id=_text(value.get("id")),
        model=_text(value.get("model")),
        provider=_text(value.get("provider")),
        choices=[_choice(one) for one in choices if isinstance(one, dict)]
        if isinstance(choices, list)
        else None,
        usage=_raw(value.get("usage")),
        error=_raw(value.get("error")),
    )


def _choice(value: dict[str, Any]) -> _Choice:
    part = value.get("delta") or value.get("message")
    part = part if isinstance(part, dict) else {}
    return _Choice(
        delta=_Delta(
            content=_content(part.get("content")),
            reasoning=_text(part.get("reasoning")) or _text(part.get("reasoning_content")),
        ),
        finish_reason=_text(value.get("finish_reason")),
        native_finish_reason=_text(value.get("native_finish_reason")),
        error=_raw(value.get("error")),
    )


def _content(value: Any) -> str | None:
    """Text, also when it comes as a list of parts."""
    if isinstance(value, list):
        return "".join(_text(part.get("text")) or "" for part in value if isinstance(part, dict))
    return _text(value)


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _raw(value: Any) -> msgspec.Raw:
    return msgspec.Raw(msgspec.json.encode(value)) if value is not None else msgspec.Raw()


def read_usage(raw: dict[str, Any]) -> Usage:
    """Token counts in our meaning; parts never exceed their whole."""
    prompt = _count(raw.get("prompt_tokens"))
    completion = _count(raw.get("completion_tokens"))
    inside = _dict(raw.get("prompt_tokens_details"))
    cached = _count(inside.get("cached_tokens")) or _count(raw.get("prompt_cache_hit_tokens"))
    written = _count(inside.get("cache_write_tokens"))
    thinking = _count(_dict(raw.get("completion_tokens_details")).get("reasoning_tokens"))
    cached = min(cached, prompt)
    return Usage(
        input=prompt,
        output=completion,
        cached=cached,
        cache_write=min(written, prompt - cached),
        reasoning=min(thinking, completion),
    )


def read_cost(raw: dict[str, Any]) -> Decimal | None:
    """What the provider says it costs; with the user's own provider key, that bill too."""
    cost = _money(raw.get("cost"))
    if raw.get("is_byok") is True:
        upstream = _money(_dict(raw.get("cost_details")).get("upstream_inference_cost"))
        if upstream is not None:
            return upstream + (cost or Decimal(0))
    return cost


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _count(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return 0
    return int(value) if 0 <= value <= MOST_TOKENS else 0


def _money(value: Any) -> Decimal | None:
    if value is None or isinstance(value, bool):
        return None
    try:
        amount = Decimal(str(value))
    except InvalidOperation:
        return None
    return amount if amount.is_finite() and 0 <= amount <= MOST_USD else None
