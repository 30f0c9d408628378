"""Recorded streams of Claude Code 2.1.197, folded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers_tui.engine.agents.agent_events import (
    LONGEST_WAIT,
    Did,
    Ended,
    Happening,
    Progress,
    Said,
)
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


FIELDS = (
    "message", "content", "text", "event", "delta", "id", "name", "input", "tool_use_id",
    "tool_name", "tool_input", "is_error", "parent_tool_use_id", "description",
)  # fmt: skip
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(FIELDS), inner, max_size=6)
    ),
    max_leaves=12,
)
KINDS = ("assistant", "user", "stream_event", "system", "result")
SUBTYPES = ("init", "api_retry", "compact_boundary", "task_started", "success")
BLOCKS = ("text", "tool_use", "tool_result")


@given(st.sampled_from(KINDS), st.sampled_from(SUBTYPES), st.sampled_from(BLOCKS), st.data())
def test_strange_events_break_nothing(
    kind: str, subtype: str, block: str, data: st.DataObject
) -> None:
    strange = st.fixed_dictionaries(
        {"type": st.just(block)}, optional=dict.fromkeys(FIELDS, ANYTHING)
    )
    event: dict[str, Any] = {
        "type": kind,
        "subtype": subtype,
        "message": data.draw(st.fixed_dictionaries({"content": st.lists(strange)}) | ANYTHING),
        "event": data.draw(st.fixed_dictionaries({"delta": ANYTHING}) | ANYTHING),
        "retry_delay_ms": data.draw(ANYTHING),
        "session_id": data.draw(ANYTHING),
        "claude_code_version": data.draw(ANYTHING),
        "description": data.draw(ANYTHING),
        "parent_tool_use_id": data.draw(ANYTHING),
        "permission_denials": data.draw(st.lists(strange) | ANYTHING),
    }
    progress = Progress()
    for happening in progress.feed(event):
        if isinstance(happening, Did):
            assert {type(happening.text), type(happening.name)} == {str}
            assert isinstance(happening.agent, str | None)
    assert progress.retry_in is None or 0 <= progress.retry_in <= LONGEST_WAIT
    assert isinstance(progress.session, str | None)
    assert progress.summary()


def test_what_has_another_kind_than_the_event_before_is_not_lost() -> None:
    progress = Progress()
    list(progress.feed({"type": "stream_event", "event": ["what"]}))
    said = {"type": "content_block_delta", "delta": {"type": "text_delta", "text": "still here"}}
    assert list(progress.feed({"type": "stream_event", "event": said})) == [Said("still here")]
