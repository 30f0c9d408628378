"""An agent's trace is read back whatever a crash or another program left in its file."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from workers_tui.engine.agents.agent_trace import StepKind, TraceStep, read_steps, step_line

GOOD = TraceStep(1, datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC), StepKind.TEXT, "hello")
STRANGE = {
    "empty": "",
    "torn": step_line(GOOD)[:20],
    "a list": "[]",
    "null": "null",
    "without what it needs": "{}",
    "with a time of another kind": '{"number": 1, "kind": "text", "at": 5}',
    "of an unknown kind": step_line(GOOD).replace('"text"', '"dream"', 1),
    "nested too deeply": "[" * 100_000 + "]" * 100_000,
}


@pytest.mark.parametrize("kind", STRANGE)
def test_a_torn_or_strange_line_is_skipped(kind: str) -> None:
    assert read_steps([STRANGE[kind], step_line(GOOD), STRANGE[kind]]) == [GOOD]
