"""Recorded streams of Claude Code 2.1.197, folded."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from workers_tui.engine.agents.agent_events import Did, Ended, Happening, Progress, Said
from workers_tui.engine.agents.agent_trace import StepKind

RECORDED = Path(__file__).parents[2] / "data" / "agent_events"


def folded(name: str) -> tuple[Progress, list[Happening]]:
    progress, found = Progress(), []
    for line in (RECORDED / f"{name}.jsonl").read_text().splitlines():
        found += list(progress.feed(json.loads(line)))
    return progress, found


def kinds(found: list[Happening]) -> list[StepKind]:
    return [one.kind for one in found if isinstance(one, Did)]


def test_subagents_count_as_tool_calls_and_their_turns_do_not() -> None:
    progress, found = folded("agent")
    assert (progress.turns, progress.tool_calls) == (2, 3)
    assert kinds(found).count(StepKind.RESULT) == 3
    inner = [one for one in found if isinstance(one, Did) and one.agent]
    assert {one.kind for one in inner} == {StepKind.TOOL, StepKind.RESULT}
    assert progress.session
    assert progress.version == "2.1.197"


def test_a_denied_call_is_listed() -> None:
    progress, found = folded("perm_denied")
    assert progress.denied
    assert StepKind.DENIED in kinds(found)
    assert "denied: " in progress.summary()


def test_text_comes_as_it_is_spoken() -> None:
    progress, found = folded("partial")
    said = "".join(one.text for one in found if isinstance(one, Said))
    assert said == "Hello from the fake model."
    assert progress.summary() == "no tool was used: unverified"


def test_a_retry_shows_as_the_last_action() -> None:
    progress, found = folded("retries")
    assert progress.last_action == "attempt 1 failed (529), waits 1 s"
    assert kinds(found) == [StepKind.RETRY]
    assert progress.turns == 0


@pytest.mark.parametrize("path", sorted(RECORDED.glob("*.jsonl")), ids=lambda path: path.stem)
def test_every_recorded_run_ends_with_its_result(path: Path) -> None:
    _, found = folded(path.stem)
    assert isinstance(found[-1], Ended)


@pytest.mark.parametrize(
    "event",
    [
        {},
        {"type": "assistant"},
        {"type": "assistant", "message": {"content": "text"}},
        {"type": "user", "message": {"content": [7, {"type": "tool_result"}]}},
        {"type": "stream_event", "event": None},
        {"type": "system", "subtype": "api_retry"},
        {"type": "result", "permission_denials": None},
        {"type": "what", "is": "this"},
    ],
)
def test_strange_events_break_nothing(event: dict[str, object]) -> None:
    list(Progress().feed(event))
