"""The verdict on recorded and invented results; the exit code decides nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from workers_tui.engine.agents.verdict import Circumstances, judge
from workers_tui.engine.errors import Incomplete, UpstreamFailed, WorkFailed

RECORDED = Path(__file__).parents[2] / "data" / "agent_events"
GOOD = {
    "subtype": "success",
    "is_error": False,
    "terminal_reason": "completed",
    "result": "done",
    "stop_reason": "end_turn",
}


def recorded(name: str) -> dict[str, Any]:
    lines = (RECORDED / f"{name}.jsonl").read_text().splitlines()
    result: dict[str, Any] = json.loads(lines[-1])
    return result


@pytest.mark.parametrize("name", ["agent", "partial", "perm_denied"])
@pytest.mark.parametrize("code", [0, 1, 130])
def test_a_completed_run_is_good_whatever_the_exit_code(name: str, code: int) -> None:
    verdict = judge(recorded(name), Circumstances(code))
    assert verdict.failure is None
    assert verdict.text


def test_success_with_is_error_is_a_failure_in_the_providers_words() -> None:
    verdict = judge(recorded("retries"), Circumstances(0))
    assert isinstance(verdict.failure, UpstreamFailed)
    assert verdict.failure.status == 529
    assert "529 Overloaded" in str(verdict.failure)


def test_the_limit_of_turns_is_told() -> None:
    failure = judge(recorded("maxturns"), Circumstances(1)).failure
    assert isinstance(failure, Incomplete)
    assert "limit of turns" in str(failure)


def test_an_interrupted_run_is_a_failure() -> None:
    assert judge(recorded("sigint_bash"), Circumstances(0)).failure is not None


def test_no_result_is_a_failure_with_what_was_said() -> None:
    failure = judge(None, Circumstances(0, "boom")).failure
    assert str(failure) == "the agent ended without a result (exit code 0): boom"
    gone = judge(None, Circumstances(1, "No conversation found with session ID: x")).failure
    assert "start it anew" in str(gone)


def test_the_caps_words_win() -> None:
    known = Circumstances(1, refused="no room under the daily cap: …")
    failure = judge({**GOOD, "is_error": True, "result": "API Error: 402"}, known).failure
    assert str(failure) == "stopped at the cap: no room under the daily cap: …"


def test_a_stall_wins_over_a_result() -> None:
    assert isinstance(judge(GOOD, Circumstances(stalled="it stalled")).failure, Incomplete)


def test_an_empty_answer_is_none() -> None:
    assert isinstance(judge({**GOOD, "result": " \n"}, Circumstances()).failure, WorkFailed)


def test_a_truncated_answer_is_marked() -> None:
    assert judge({**GOOD, "stop_reason": "max_tokens"}, Circumstances()).truncated
    assert not judge(GOOD, Circumstances()).truncated


@pytest.mark.parametrize("strange", [None, 5, "x", [], [1], {}, {"a": 1}, 10**400, True])
@pytest.mark.parametrize(
    "name",
    [
        "result", "is_error", "subtype", "terminal_reason", "errors", "stop_reason",
        "api_error_status", "total_cost_usd",
    ],
)  # fmt: skip
def test_a_strange_result_is_judged_all_the_same(name: str, strange: object) -> None:
    verdict = judge({**GOOD, name: strange}, Circumstances())
    assert isinstance(verdict.text, str)
    assert verdict.own_cost_usd is None or verdict.own_cost_usd < 10
    assert verdict.failure is None or str(verdict.failure)


def test_an_answer_that_is_no_text_is_none() -> None:
    assert isinstance(judge({**GOOD, "result": [1, 2]}, Circumstances()).failure, WorkFailed)
