"""What Claude Code's stream of events says about a run, folded as it comes. Pure.

Counts turns and tool calls, knows the newest action and what was denied, and
gives each event as happenings: text for the screen, steps for the trace, the
result. Tokens and money are the gateway's; they are not read here.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from workers_tui.engine.agents.agent_request import one_line
from workers_tui.engine.agents.agent_trace import TEXT_KEPT, StepKind

INPUT_KEYS = ("file_path", "command", "pattern", "path", "url", "query", "description", "prompt")
"""What of a tool's input says most about the call."""

LONGEST_WAIT = 86_400.0
"""Seconds; a longer wait before a retry is not believed."""


@dataclass(frozen=True, slots=True)
class Said:
    """A piece of the worker's own text."""

    text: str


@dataclass(frozen=True, slots=True)
class Did:
    """A step for the trace."""

    kind: StepKind
    text: str = ""
    name: str = ""
    ok: bool = True
    agent: str | None = None


@dataclass(frozen=True, slots=True)
class Ended:
    """The result event; the turn is over."""

    raw: Mapping[str, Any]


Happening = Said | Did | Ended


@dataclass(slots=True)
class Progress:
    """The run so far."""

    session: str | None = None
    version: str | None = None
    turns: int = 0
    tool_calls: int = 0
    last_action: str | None = None
    denied: list[str] = field(default_factory=list)
    retry_in: float | None = None
    """Seconds until the client asks again, while it waits to."""
    _messages: set[str] = field(default_factory=set)
    _tools: dict[str, str] = field(default_factory=dict)
    _silent: bool = True
    """Nothing was said yet in this message."""
    _spoke: bool = False

    def feed(self, event: Mapping[str, Any]) -> Iterator[Happening]:
        """What one event tells."""
        kind = event.get("type")
        if kind != "system":
            self.retry_in = None
        if kind == "stream_event":
            yield from self._partial(event)
        elif kind == "assistant":
            yield from self._assistant(event)
        elif kind == "user":
            yield from self._results(event)
        elif kind == "system":
            yield from self._system(event)
        elif kind == "result":
            yield from self._denials(event)
            yield Ended(event)

    def _partial(self, event: Mapping[str, Any]) -> Iterator[Happening]:
        raw = object_of(event.get("event"))
        if event.get("parent_tool_use_id") is not None:
            return
        if raw.get("type") == "message_start":
            self._silent = True
        delta = object_of(raw.get("delta"))
        if delta.get("type") == "text_delta" and (text := text_of(delta.get("text"))):
            gap = "\n\n" if self._silent and self._spoke else ""
            self._silent, self._spoke = False, True
            yield Said(gap + text)

    def _assistant(self, event: Mapping[str, Any]) -> Iterator[Happening]:
        message = object_of(event.get("message"))
        agent = _agent(event)
        if message.get("model") == "<synthetic>":
            return  # the client's own words about an error; the result has them too
        if agent is None and str(message.get("id")) not in self._messages:
            self._messages.add(str(message.get("id")))
            self.turns += 1
        for block in _blocks(message):
            if block.get("type") == "text" and (text := text_of(block.get("text"))):
                yield Did(StepKind.TEXT, text[:TEXT_KEPT], agent=agent)
            elif block.get("type") == "tool_use":
                yield self._call(block, agent)

    def _call(self, block: Mapping[str, Any], agent: str | None) -> Did:
        name, text = str(block.get("name")), input_text(block.get("input"))
        self.tool_calls += 1
        self._tools[str(block.get("id"))] = name
        self.last_action = one_line(f"{name} {text}", 80)
        return Did(StepKind.TOOL, text[:TEXT_KEPT], name, agent=agent)

    def _results(self, event: Mapping[str, Any]) -> Iterator[Happening]:
        for block in _blocks(object_of(event.get("message"))):
            if block.get("type") == "tool_result":
                name = self._tools.get(str(block.get("tool_use_id")), "")
                text = result_text(block.get("content"))[:TEXT_KEPT]
                yield Did(StepKind.RESULT, text, name, not block.get("is_error"), _agent(event))

    def _system(self, event: Mapping[str, Any]) -> Iterator[Happening]:
        subtype = event.get("subtype")
        if subtype == "init":
            self.session = text_of(event.get("session_id")) or self.session
            self.version = text_of(event.get("claude_code_version")) or self.version
        elif subtype == "api_retry":
            self.retry_in = wait = _seconds(event.get("retry_delay_ms"))
            status = event.get("error_status") or "no answer"
            self.last_action = (
                f"attempt {event.get('attempt')} failed ({status}), waits {wait:.0f} s"
            )
            yield Did(StepKind.RETRY, self.last_action, str(status), ok=False)
        elif subtype == "compact_boundary":
            yield Did(StepKind.NOTE, "the conversation was summarised to make room", "compaction")
        elif subtype == "task_started":
            yield Did(StepKind.NOTE, text_of(event.get("description")), "subagent")

    def _denials(self, event: Mapping[str, Any]) -> Iterator[Happening]:
        for denial in objects_of(event.get("permission_denials")):
            name, text = str(denial.get("tool_name")), input_text(denial.get("tool_input"))
            self.denied.append(one_line(f"{name} {text}", 80))
            yield Did(StepKind.DENIED, text[:TEXT_KEPT], name, ok=False)

    def summary(self) -> str:
        """How much work stands behind the answer, and what was denied, on one line."""
        calls = "1 tool call" if self.tool_calls == 1 else f"{self.tool_calls} tool calls"
        parts = [calls if self.tool_calls else "no tool was used: unverified"]
        if self.denied:
            parts.append(f"denied: {'; '.join(self.denied[:5])}")
        return ", ".join(parts)


def object_of(value: Any) -> dict[str, Any]:
    """The value, if it is an object: a program that is not ours may say anything."""
    return value if isinstance(value, dict) else {}


def objects_of(value: Any) -> list[dict[str, Any]]:
    """The objects of a list."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def text_of(value: Any) -> str:
    """The value, if it is a text."""
    return value if isinstance(value, str) else ""


def _blocks(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    return objects_of(message.get("content"))


def _agent(event: Mapping[str, Any]) -> str | None:
    return text_of(event.get("parent_tool_use_id")) or None


def _seconds(milliseconds: Any) -> float:
    """A wait as it is told; what is no number, or none that makes sense, is none."""
    told = isinstance(milliseconds, int | float) and 0 <= milliseconds <= LONGEST_WAIT * 1000
    return milliseconds / 1000 if told else 0.0


def input_text(raw: Any) -> str:
    """What a tool was asked, shortly: its telling argument, else all of them."""
    if not isinstance(raw, dict):
        return ""
    for key in INPUT_KEYS:
        if isinstance(raw.get(key), str):
            return str(raw[key])
    return json.dumps(raw, ensure_ascii=False) if raw else ""


def result_text(content: Any) -> str:
    """The text of a tool's result."""
    if isinstance(content, str):
        return content
    return "\n".join(text_of(part.get("text")) for part in objects_of(content))
