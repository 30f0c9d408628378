"""A second reader of transcripts, slow and simple: each rule by name, to be left out at will.

Shares no code with the product. With every rule it must find the truth; without one it must
not, where the files hold what the rule is for. So a difference to another program has a name.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from enum import StrEnum
from pathlib import Path
from typing import Any


class Rule(StrEnum):
    """What makes lines into messages."""

    ONE_MESSAGE = "lines with the same message id and request id are one message"
    LARGEST = "of each count of a message the largest is taken"
    COPY = "a line copied into another session's file is the message it copies"
    NO_REQUEST = "without a request id, lines with one message id are one message at any time"
    """The peer keeps to it in subagents, so here only the main thread is without it."""
    NO_REQUEST_COPY = "without a request id, a line with the same uuid is a copy"
    SUBAGENT = "what only a subagent's file holds counts too"
    PROGRESS = "a message inside of a progress line is another line's"
    TOOL_RESULT = "usage inside of a tool's result is no message's"
    SYNTHETIC = "a message that Claude Code wrote itself is none"
    TORN = "a line that is not whole waits"
    QUOTED = "a line quoted in a text is text"


TRAPS = {
    "messages over several lines, whose output grows": {Rule.ONE_MESSAGE, Rule.LARGEST},
    "resumed sessions that copy another's lines": {Rule.COPY},
    "messages that only a subagent's file holds": {Rule.SUBAGENT},
    "messages inside of progress lines": {Rule.PROGRESS},
    "usage inside of tool results": {Rule.TOOL_RESULT},
    "lines quoted in texts": {Rule.QUOTED},
    "endpoints that send no request id": {Rule.NO_REQUEST, Rule.NO_REQUEST_COPY},
    "messages that Claude Code wrote itself": {Rule.SYNTHETIC},
    "files that end in the middle of a line": {Rule.TORN},
}
"""The rules that each trap of the generator, as truth.json names it, is set for."""

FIELDS = {
    "input_tokens": "input_tokens",
    "output_tokens": "output_tokens",
    "cache_creation_input_tokens": "cache_creation_input_tokens",
    "cache_read_input_tokens": "cache_read_input_tokens",
}
Totals = dict[tuple[str, str], Counter[str]]
"""By UTC day and model."""


def read(root: Path, without: AbstractSet[Rule] = frozenset()) -> Totals:
    """Everything below `projects`, by the rules that are not left out."""
    reader = _Reader(without)
    paths = sorted(root.glob("projects/**/*.jsonl"), key=lambda one: (one.stat().st_mtime, one))
    for path in paths:
        if Rule.SUBAGENT in without and "subagents" in path.parts:
            continue
        for raw in path.read_bytes().split(b"\n"):
            reader.take(raw, str(path))
    return reader.totals()


class _Reader:
    def __init__(self, without: AbstractSet[Rule]) -> None:
        self._without = without
        self._messages: dict[Any, tuple[str, str, Counter[str]]] = {}

    def take(self, raw: bytes, path: str) -> None:
        if not raw.strip():
            return
        try:
            line = json.loads(raw)
        except ValueError:
            if Rule.TORN in self._without:
                self._add(object(), {}, {})
            return
        for candidate in self._candidates(line, raw):
            message, usage = candidate["message"], candidate["message"]["usage"]
            self._add(self._key(candidate, message, path), line | candidate, usage)

    def _candidates(self, line: dict[str, Any], raw: bytes) -> Iterator[dict[str, Any]]:
        """The parts of a line that are taken for messages."""
        left_out = self._without
        if line["type"] == "assistant":
            own = line["message"].get("model") == "<synthetic>" or line.get("isApiErrorMessage")
            if not own or Rule.SYNTHETIC in left_out:
                yield line
        if line["type"] == "progress" and Rule.PROGRESS in left_out:
            yield {**line["data"]["message"], "timestamp": line["timestamp"]}
        result = line.get("toolUseResult")
        if isinstance(result, dict) and "usage" in result and Rule.TOOL_RESULT in left_out:
            yield {"uuid": line["uuid"], "message": {"id": line["uuid"], "usage": result["usage"]}}
        if Rule.QUOTED in left_out:
            for number in re.findall(rb'\\"input_tokens\\":(\d+)', raw):
                yield {"message": {"id": object(), "usage": {"input_tokens": int(number)}}}

    def _key(self, line: dict[str, Any], message: dict[str, Any], path: str) -> Any:
        left_out, request, uuid = self._without, line.get("requestId"), line.get("uuid")
        if Rule.ONE_MESSAGE in left_out and request:
            return (uuid, request)
        if request:
            return (message["id"], request, path if Rule.COPY in left_out else "")
        scope = line.get("sessionId") if Rule.NO_REQUEST_COPY in left_out else ""
        main = not line.get("isSidechain")
        moment = line.get("timestamp") if main and Rule.NO_REQUEST in left_out else ""
        return (message["id"], moment, scope)

    def _add(self, key: Any, line: dict[str, Any], usage: dict[str, Any]) -> None:
        day, model = line.get("timestamp", "")[:10], line.get("message", {}).get("model", "")
        counts = Counter({name: usage.get(theirs) or 0 for name, theirs in FIELDS.items()})
        counts["messages"] = 1
        known = self._messages.setdefault(key, (day, model, counts))
        if Rule.LARGEST not in self._without:
            known[2].update({name: max(0, counts[name] - known[2][name]) for name in FIELDS})

    def totals(self) -> Totals:
        found: Totals = {}
        for day, model, counts in self._messages.values():
            found.setdefault((day, model), Counter()).update(counts)
        return found


def together(totals: Totals, place: int | None = None) -> dict[str, dict[str, int]]:
    """The sums by day (0), by model (1), or all in one."""
    found: dict[str, Counter[str]] = {}
    for key, counts in totals.items():
        found.setdefault("all" if place is None else key[place], Counter()).update(counts)
    return {
        key: {name: counts[name] for name in (*FIELDS, "messages")} for key, counts in found.items()
    }
