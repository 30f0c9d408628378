"""Arguments that do not fit are refused in words that say which and why."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers_tui.engine.errors import WrongUse
from workers_tui.server import schemas
from workers_tui.server.arguments import check

SHAPES = {tool["name"]: tool["inputSchema"] for tool in schemas.tool_list("auto")}


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("delegate", {}, "task is missing"),
        ("delegate", {"task": 5}, "task must be a text"),
        ("delegate", {"task": "t", "file": "x"}, "unknown argument file; there are: task, tier"),
        ("delegate", {"task": "t", "files": "x"}, "files must be a list"),
        ("delegate", {"task": "t", "files": ["x", 5]}, "files[1] must be a text"),
        ("delegate", {"task": "t", "max_tokens": True}, "max_tokens must be a whole number"),
        ("delegate", {"task": "t", "max_tokens": 0}, "max_tokens must be between 1"),
        ("delegate_batch", {"jobs": []}, "jobs takes 1 to 100 entries, not 0"),
        ("delegate_batch", {"jobs": [{"task": "t"}] * 101}, "not 101"),
        ("delegate_batch", {"jobs": [{"task": "t"}, {}]}, "jobs[1].task is missing"),
        ("worker_stats", {"x": 1}, "unknown argument x; there are: none"),
    ],
)
def test_what_is_wrong_is_named(tool: str, arguments: Any, said: str) -> None:
    with pytest.raises(WrongUse) as error:
        check(SHAPES[tool], arguments)
    assert said in str(error.value)


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("delegate", {"task": "t"}),
        ("delegate", {"task": "t", "tier": "fast", "files": ["a"], "max_tokens": 5}),
        ("delegate_batch", {"jobs": [{"task": "t"}] * 100}),
        ("delegate_start", {"prompt": "p", "wait_seconds": 0}),
        ("worker_stats", {}),
    ],
)
def test_what_fits_passes(tool: str, arguments: Any) -> None:
    check(SHAPES[tool], arguments)


@given(
    st.sampled_from(sorted(SHAPES)),
    st.dictionaries(
        st.sampled_from(["task", "jobs", "files", "job_id", "x"]),
        st.none() | st.text(max_size=3) | st.lists(st.integers(), max_size=3) | st.integers(),
    ),
)
def test_any_arguments_pass_or_are_refused_in_words(tool: str, arguments: Any) -> None:
    with contextlib.suppress(WrongUse):
        check(SHAPES[tool], arguments)
