"""Reads an Anthropic Messages answer as it passes by: model, usage, what it ended with.

It takes the bytes of a stream in any cut, or a whole JSON body, and keeps no
text of it, only counts. Pure: nothing is sent or stored here.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from workers_tui.engine.calls.outcome import BYTES_PER_TOKEN
from workers_tui.engine.money import MOST_USD
from workers_tui.engine.settings.model_name import is_model
from workers_tui.engine.usage import MOST_TOKENS, Usage

COUNTS = (
    "input_tokens",
    "output_tokens",
    "cache_read_input_tokens",
    "cache_creation_input_tokens",
)
LONGEST_LINE = 16 * 1024 * 1024


class EventCutter:
    """Cuts a byte stream into the data of its events; only \\n, \\r and \\r\\n end a line."""

    def __init__(self) -> None:
        self._line: list[bytes] = []
        """The parts of a line that has not ended: joined once, however many they are."""
        self._held = b""
        self._data: list[bytes] = []

    def feed(self, raw: bytes) -> Iterator[bytes]:
        """The data of each event that these bytes complete."""
        text = self._held + raw
        self._held = b"\r" if text.endswith(b"\r") else b""  # a \n may follow
        text = text.removesuffix(self._held).replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        *ends, rest = text.split(b"\n")
        for end in ends:
            line = b"".join([*self._line, end])
            self._line = []
            if line.startswith(b"data:"):
                self._data.append(line[5:].removeprefix(b" "))
            elif not line and self._data:
                yield b"\n".join(self._data)
                self._data = []
        self._line.append(rest)
        if sum(map(len, self._line)) > LONGEST_LINE:
            self._line = []  # what is left of it is no event

    def end(self) -> Iterator[bytes]:
        """The data of an event that no blank line followed."""
        yield from self.feed(b"\n\n")


@dataclass(frozen=True, slots=True)
class Passed:
    """What passed by in one answer."""

    model: str | None
    usage: Usage | None
    """None when the provider told none."""
    cost_usd: Decimal | None
    """Where the provider reports its own figure."""
    stop_reason: str | None
    error: str | None
    """The provider's words when it failed in mid-answer."""
    complete: bool
    """The answer came to its proper end."""
    counted: bool
    """The provider told its prompt, and its output when that was whole."""
    chars: int
    """Characters of text, thinking and tool input."""
    blocks: int


class MessageReading:
    """Reads one answer."""

    def __init__(self) -> None:
        self._cutter = EventCutter()
        self._counts: dict[str, int] = {}
        self._hour_writes = 0
        self._cost: Decimal | None = None
        self._model: str | None = None
        self._stop: str | None = None
        self._error: str | None = None
        self._complete = False
        self._output_counted = False
        self._chars = 0
        self._blocks = 0
        self.progress = 0
        """Events that carried something; pings do not count."""

    def feed(self, raw: bytes) -> None:
        """Take the next bytes of a stream."""
        for data in self._cutter.feed(raw):
            self._event(data)

    def end(self) -> None:
        """The stream has ended."""
        for data in self._cutter.end():
            self._event(data)

    def whole(self, raw: bytes) -> None:
        """Take a body that was not streamed, or a stream that came in one piece."""
        body = _object(raw)
        if not body:
            self.feed(raw)
            self.end()
            return
        if body.get("type") == "error" or ("error" in body and "content" not in body):
            self._error = error_words(body)
            self._take_last(body.get("usage"))
            return
        self._message(body)
        self._take_last(body.get("usage"))
        content = body.get("content")
        for block in content if isinstance(content, list) else ():
            self._blocks += 1
            self._chars += _size(block) if isinstance(block, dict) else 0
        self._complete = self._stop is not None

    def passed(self) -> Passed:
        """What is known so far."""
        usage = self._usage()
        return Passed(
            self._model,
            usage,
            self._cost,
            self._stop,
            self._error,
            self._complete,
            self._output_counted and usage is not None and usage.input > 0,
            self._chars,
            self._blocks,
        )

    def _event(self, data: bytes) -> None:
        event = _object(data)
        kind = event.get("type")
        if kind in {None, "ping"}:
            if "error" in event:
                self._error = error_words(event)
            return
        self.progress += 1
        if kind == "message_start":
            self._message(_dict(event.get("message")))
        elif kind == "content_block_start":
            self._blocks += 1
        elif kind == "content_block_delta":
            self._chars += _size(_dict(event.get("delta")))
        elif kind == "message_delta":
            self._stop = _text(_dict(event.get("delta")).get("stop_reason")) or self._stop
            self._take_last(event.get("usage"))
        elif kind == "message_stop":
            self._complete = True
        elif kind == "error":
            self._error = error_words(event)

    def _message(self, message: Mapping[str, Any]) -> None:
        named = _text(message.get("model"))
        self._model = named if named and is_model(named) else self._model
        self._stop = _text(message.get("stop_reason")) or self._stop
        self._take(message.get("usage"))

    def _take_last(self, usage: Any) -> None:
        """Merge counts that are told when the output is whole; those before are a beginning."""
        self._take(usage)
        self._output_counted |= _count(_dict(usage).get("output_tokens")) is not None

    def _take(self, usage: Any) -> None:
        """Merge counts: each field's largest value counts, for some tell it first, some last."""
        if not isinstance(usage, dict):
            return
        for name in COUNTS:
            if (count := _count(usage.get(name))) is not None:
                self._counts[name] = max(count, self._counts.get(name, 0))
        split = usage.get("cache_creation")
        if isinstance(split, dict):
            hour = _count(split.get("ephemeral_1h_input_tokens")) or 0
            self._hour_writes = max(hour, self._hour_writes)
        cost = usage.get("cost")
        if isinstance(cost, int | float) and not isinstance(cost, bool) and 0 <= cost <= MOST_USD:
            self._cost = max(Decimal(str(cost)), self._cost or Decimal(0))

    def _usage(self) -> Usage | None:
        if not any(self._counts.values()):
            return None
        read = self._counts.get("cache_read_input_tokens", 0)
        written = self._counts.get("cache_creation_input_tokens", 0)
        hour = min(self._hour_writes, written)
        return Usage(
            input=self._counts.get("input_tokens", 0) + read + written,
            output=self._counts.get("output_tokens", 0),
            cached=read,
            cache_write=written - hour,
            cache_write_1h=hour,
        )


def guess(passed: Passed, prompt_bytes: int) -> Usage:
    """Tokens from what went and came, where the provider told nothing or was cut off.

    What a cut answer told at its start stands for its prompt; its text is counted.
    """
    came = -(-passed.chars // BYTES_PER_TOKEN)
    told = passed.usage
    if told is None:
        return Usage(input=-(-prompt_bytes // BYTES_PER_TOKEN), output=came)
    prompt = told.input or -(-prompt_bytes // BYTES_PER_TOKEN)
    return Usage(prompt, max(told.output, came), told.cached, told.cache_write, told.cache_write_1h)


def error_words(body: Mapping[str, Any]) -> str:
    """The provider's own words in any of the usual envelopes."""
    error = body.get("error")
    if isinstance(error, dict):
        return str(error.get("message") or error.get("type") or "an error without words")
    return str(error or body.get("message") or body.get("msg") or "an error without words")


def _object(raw: bytes) -> dict[str, Any]:
    try:
        value = json.loads(raw)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _count(value: Any) -> int | None:
    whole = type(value) is int or (type(value) is float and value.is_integer())
    return int(value) if whole and 0 <= value <= MOST_TOKENS else None


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _size(part: Mapping[str, Any]) -> int:
    for name in ("text", "thinking", "partial_json"):
        if isinstance(part.get(name), str):
            return len(part[name])
    return len(json.dumps(part["input"])) if isinstance(part.get("input"), dict) else 0
