"""What an agent worker did, step by step, as values and as lines of a file.

The file lies beside the session, so the steps of a finished run can be looked
at after a restart. Texts are data of a model: front ends show them as such.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Any

from workers_tui.engine.money import Cost, CostSource
from workers_tui.engine.usage import Usage

LINE_KEPT = 160
TEXT_KEPT = 4000
"""Characters of a step's text that are kept."""


class StepKind(StrEnum):
    """What happened in one step."""

    TEXT = "text"
    """The worker said something."""
    TOOL = "tool"
    """It called a tool; `name` is the tool, `text` what it asked of it."""
    RESULT = "result"
    """What the tool gave back; `ok` tells whether it worked."""
    DENIED = "denied"
    """A tool call that was not permitted."""
    REQUEST = "request"
    """One request to the model, with its tokens and cost."""
    RETRY = "retry"
    """The client waits before it asks again."""
    NOTE = "note"
    """Something about the session: compaction, a subagent, the end."""


@dataclass(frozen=True, slots=True)
class TraceStep:
    """One step."""

    number: int
    at: datetime
    kind: StepKind
    text: str = ""
    name: str = ""
    """Tool, model or event."""
    ok: bool = True
    agent: str | None = None
    """Set for steps of a subagent: its id or the tool call it belongs to."""
    usage: Usage | None = None
    cost: Cost | None = None
    ms: int | None = None
    bytes_out: int = 0
    """Size of a request."""

    def line(self) -> str:
        """The step on one line, for replies and lists."""
        name = f" {self.name}" if self.name else ""
        sign = "" if self.ok else " failed"
        text = " ".join(self.text.split())
        return f"{self.at:%H:%M:%S} {self.kind.value}{name}{sign}: {text[:LINE_KEPT]}".rstrip(": ")


def step_line(step: TraceStep) -> str:
    """A step as one line of JSON."""
    raw = {name: value for name, value in asdict(step).items() if value not in (None, "")}
    return json.dumps(raw | {"at": step.at.isoformat()}, ensure_ascii=False) + "\n"


def read_steps(lines: Iterable[str]) -> list[TraceStep]:
    """Steps from a file's lines; a torn or strange line is skipped."""
    steps = []
    for line in lines:
        try:
            raw = json.loads(line)
            if isinstance(raw, dict):
                steps.append(_step(raw))
        except (ValueError, TypeError, KeyError, RecursionError):
            continue
    return steps


def _step(raw: dict[str, Any]) -> TraceStep:
    known = {one.name for one in fields(TraceStep)}
    values = {name: value for name, value in raw.items() if name in known}
    values["at"] = datetime.fromisoformat(raw["at"])
    values["kind"] = StepKind(raw["kind"])
    if raw.get("usage"):
        values["usage"] = Usage(**raw["usage"])
    if raw.get("cost"):
        cost = raw["cost"]
        values["cost"] = Cost(cost["pico"], CostSource(cost["source"]), cost.get("list_pico"))
    return TraceStep(**values)


def load_steps(path: Path) -> list[TraceStep]:
    """The steps of a finished run; none when there is no file."""
    try:
        # Only \n ends a line here: a text may hold other separators as they are.
        return read_steps(path.read_text(encoding="utf-8", errors="replace").split("\n"))
    except OSError:
        return []
