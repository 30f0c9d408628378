"""Scenarios from JSON: what the documentation shows works, what is unknown is named."""

from __future__ import annotations

import json
import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from workers_tui.simulator.faults import PLAIN
from workers_tui.simulator.scenario import (
    BEFORE_STREAM,
    FAULTS,
    Behaviour,
    Picker,
    Scenario,
    directive,
    scenario_of,
)

DOCUMENT = Path(__file__).parents[2] / "docs" / "simulator.md"


def test_the_example_of_the_documentation_works() -> None:
    found = re.search(r"```json\n(.*?)```", DOCUMENT.read_text(), re.DOTALL)
    assert found
    picker = Picker(scenario_of(json.loads(found[1])))
    faults = [picker.pick({"model": "x-flash", "user": "a"}) for _ in range(3)]
    assert [one.fault if one else None for one in faults] == ["429", "429", None]
    spoken = picker.pick({"user": "read /etc/x", "tool": {"Read"}, "model": "m"})
    assert spoken is not None
    assert spoken.content == ({"tool": "Read", "input": {"file_path": "/etc/x"}},)
    assert spoken.tokens_per_second == 60


def test_every_fault_before_the_stream_has_its_answer() -> None:
    pages = {fault for fault in BEFORE_STREAM if fault.startswith("html-")}
    assert BEFORE_STREAM - pages - {"hang", "drop"} == set(PLAIN)


@pytest.mark.parametrize(
    ("prompt", "model", "fault"),
    [
        ("x", "sim/cut", "cut"),
        ("x", "any/model#raw-429", "raw-429"),
        ("x [[sim: stall]] y", "m", "stall"),
        ("x [[sim: fault=empty, first_delay=0.5]]", "m", "empty"),
    ],
)
def test_a_request_can_choose_for_itself(prompt: str, model: str, fault: str) -> None:
    chosen = directive(prompt, model, Behaviour())
    assert chosen is not None
    assert chosen.fault == fault


def test_an_ordinary_request_chooses_nothing() -> None:
    assert directive("summarise", "deepseek/deepseek-v4-flash", Behaviour()) is None
    assert directive("summarise", "sim/whatever", Behaviour()) is None


@pytest.mark.parametrize("raw", [{"speed": 1}, {"fault": "tsunami"}])
def test_what_is_unknown_is_named_with_what_there_is(raw: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="known: ") as caught:
        scenario_of({"default": raw})
    assert "cut" in str(caught.value) or "chunk_chars" in str(caught.value)
    assert "cut" in FAULTS


def test_the_documentation_names_every_fault_and_behaviour() -> None:
    named = set(re.findall(r"`([^`\n]+)`", DOCUMENT.read_text()))
    assert sorted(FAULTS - named) == []
    assert sorted({one.name for one in fields(Behaviour)} - named) == []
    assert sorted({one.name for one in fields(Scenario)} - named) == []


@pytest.mark.parametrize(
    "raw",
    [
        [], None, {"rulez": []}, {"rules": {}}, {"rules": [5]}, {"rules": [{"behavior": {}}]},
        {"rules": [{"when": {"usr": "x"}}]}, {"rules": [{"when": {"user": "("}}]},
        {"rules": [{"when": {"user": 5}}]}, {"rules": [{"when": {"stream": "yes"}}]},
        {"rules": [{"times": "2"}]}, {"default": {"first_delay": "soon"}},
        {"default": {"first_delay": [1]}}, {"default": {"text": 5}},
        {"default": {"chunk_chars": 0}}, {"default": {"tokens_per_second": -1}},
        {"default": {"cost": "x"}}, {"default": {"cost": "NaN"}}, {"default": {"headers": 5}},
        {"default": {"content": [5]}}, {"default": {"content": [{"foo": 1}]}},
        {"default": {"usage_style": "x"}}, {"default": {"byok": 5}}, {"count_tokens": "maybe"},
        {"limit": "x"}, {"keys": "abc"}, {"need_key": "no"}, {"seed": "x"},
    ],
)  # fmt: skip
def test_what_a_scenario_cannot_mean_is_refused(raw: Any) -> None:
    with pytest.raises(ValueError, match=r"."):
        scenario_of(raw)
