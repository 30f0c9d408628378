"""One Messages request as the simulator sees it, its prompt cache, and a worker's script."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from workers_tui.simulator.catalogue import count_tokens
from workers_tui.simulator.chat_answer import text_of
from workers_tui.simulator.http import Request
from workers_tui.simulator.prose import answer_for

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
    return [block for block in _objects(message.get("content")) if block.get("type") == kind]


def _objects(value: Any) -> list[dict[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _results_text(blocks: list[dict[str, Any]]) -> str:
    return "\n".join(text_of(block.get("content")) for block in blocks)


def _plain(message: Mapping[str, Any]) -> str:
    return REMINDER.sub("", text_of(message.get("content"))).strip()


def read_turn(raw: dict[str, Any], request: Request) -> Turn:
    """The request's facts; raises ValueError for what the original refuses."""
    messages, tools = _objects(raw.get("messages")), _objects(raw.get("tools"))
    most = raw.get("max_tokens")
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
        tools=frozenset(str(tool.get("name")) for tool in tools),
        results=sum(len(_blocks(one, "tool_result")) for one in messages),
        system=text_of(raw.get("system")),
        raw=json.dumps(last),
        prompt_tokens=count_tokens(prompt),
        max_tokens=most if isinstance(most, int) and most > 0 else 4096,
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
    found = re.search(r"^(\S+\.\w+)$", turn.tool_result or "", re.MULTILINE)
    if turn.results == 1 and found and "Read" in turn.tools:
        return [
            {"text": f"Reading {found[1]}."},
            {"tool": "Read", "input": {"file_path": found[1]}},
        ]
    return [{"text": answer_for(task, turn.model)}]
