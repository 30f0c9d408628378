"""Server-sent events as bytes, in every form a client must cope with.

Line ends, comments with and without a blank line, JSON over several data lines,
writes of a few bytes: the behaviour says which.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from typing import Any

from workers_tui.simulator.scenario import Behaviour

COMMENT = ": OPENROUTER PROCESSING"


class Wire:
    """Turns events into the bytes of one answer."""

    def __init__(self, behaviour: Behaviour) -> None:
        self._how = behaviour
        self._events = 0

    def event(self, data: object, name: str = "") -> bytes:
        """One event with JSON data, and a comment behind it when it is time."""
        end = self._how.line_end
        lines = [f"event: {name}"] if name else []
        lines += [f"data: {line}" for line in self._json(data)]
        self._events += 1
        text = end.join(lines) + end + end
        if self._how.comment_every and self._events % self._how.comment_every == 0:
            text += self._comment()
        return text.encode()

    def _json(self, data: object) -> list[str]:
        if isinstance(data, str):
            return [data]
        plain = not self._how.raw_unicode
        if self._how.data_lines:
            return json.dumps(data, ensure_ascii=plain, indent=0).split("\n")
        return [json.dumps(data, ensure_ascii=plain, separators=(",", ":"))]

    def _comment(self) -> str:
        end = self._how.line_end
        return COMMENT + end + (end if self._how.comment_blank else "")

    def comments(self) -> bytes:
        """What comes before the first event."""
        return (self._comment() * self._how.comments).encode()

    def one_comment(self) -> bytes:
        """A single comment, for the time while nothing else comes."""
        return (COMMENT + self._how.line_end * 2).encode()

    async def pieces(self, raw: bytes) -> AsyncGenerator[bytes, None]:
        """The bytes as they are written: whole, or a few at a time."""
        if not self._how.split:
            if raw:
                yield raw
            return
        for start in range(0, len(raw), self._how.split):
            yield raw[start : start + self._how.split]
            await asyncio.sleep(0)


class Pace:
    """Spreads an answer over time at a given speed, without drift."""

    def __init__(self, tokens_per_second: float) -> None:
        self._rate = tokens_per_second
        self._due = 0.0

    async def wait(self, tokens: float) -> None:
        """Wait until so many further tokens may be sent."""
        if self._rate <= 0:
            await asyncio.sleep(0)
            return
        now = asyncio.get_running_loop().time()
        self._due = max(self._due or now, now - 0.25) + tokens / self._rate
        await asyncio.sleep(max(0.0, self._due - now))


def cut_text(text: str, chars: int) -> list[str]:
    """The text in deltas of about so many characters."""
    size = max(1, chars)
    return [text[start : start + size] for start in range(0, len(text), size)]


def loads(raw: bytes) -> Any:
    """JSON or None."""
    try:
        return json.loads(raw)
    except ValueError:
        return None
