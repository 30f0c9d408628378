"""A changed JSON file keeps its author's hand."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers_tui.engine.settings.json_text import change_json

WRITTEN = """\
{
    "z": 1.50,
    "tiers": {
        "fast": {"model": "a/b", "params": {"x": 1e3}, "use": "sums"},
        "code": {
            "model": "c"
        }
    },
    "odd key": [1,2,   3]
}
"""


def changed(text: str, **values: Any) -> str:
    return change_json(text, lambda raw: raw.update(values))


def test_nothing_changed_is_nothing_written() -> None:
    assert change_json(WRITTEN, lambda _: None) == WRITTEN


def test_one_value_changes_one_place() -> None:
    def change(raw: dict[str, Any]) -> None:
        raw["tiers"]["fast"]["model"] = "new/ö"

    assert change_json(WRITTEN, change) == WRITTEN.replace('"a/b"', '"new/ö"')


def test_a_new_key_is_laid_out_like_its_neighbours() -> None:
    def change(raw: dict[str, Any]) -> None:
        raw["tiers"]["fast"]["max_tokens"] = 5
        raw["tiers"]["code"]["max_tokens"] = 6
        raw["cap"] = None

    expected = (
        WRITTEN.replace('"use": "sums"}', '"use": "sums", "max_tokens": 5}')
        .replace('"model": "c"\n', '"model": "c",\n            "max_tokens": 6\n')
        .replace("[1,2,   3]\n", '[1,2,   3],\n    "cap": null\n')
    )
    assert change_json(WRITTEN, change) == expected


def test_a_new_object_is_laid_out_like_its_neighbours() -> None:
    assert changed('{\n  "a": 1\n}', b={"c": 2}) == ('{\n  "a": 1,\n  "b": {\n    "c": 2\n  }\n}')


@pytest.mark.parametrize("key", ["a", "b", "c"])
def test_a_removed_key_takes_its_comma_along(key: str) -> None:
    text = '{\n  "a": 1,\n  "b": 2,\n  "c": 3\n}'
    left = {name: value for name, value in json.loads(text).items() if name != key}
    assert change_json(text, lambda raw: raw.pop(key)) == json.dumps(left, indent=2)


def test_an_object_deep_down_is_indented_as_the_file_is() -> None:
    def change(raw: dict[str, Any]) -> None:
        raw["a"]["b"]["c"] = {"d": [1]}

    text = json.dumps({"a": {"b": {"x": 0}}}, indent=3)
    expected = json.dumps({"a": {"b": {"x": 0, "c": {"d": [1]}}}}, indent=3)
    assert change_json(text, change) == expected


def test_an_empty_object_stays_on_its_line() -> None:
    assert changed("{}", a=1) == '{"a": 1}'
    assert changed("{\n}", a=1) == '{"a": 1}'


def test_line_ends_stay() -> None:
    assert changed('{\r\n\t"a": 1\r\n}\r\n', b=[2]) == (
        '{\r\n\t"a": 1,\r\n\t"b": [\r\n\t\t2\r\n\t]\r\n}\r\n'
    )


@pytest.mark.parametrize(("old", "new"), [(1, True), (1, 1.0), (0, False), ("1", 1)])
def test_values_that_python_takes_for_equal_are_changed(old: Any, new: Any) -> None:
    assert changed(json.dumps({"a": old}), a=new) == json.dumps({"a": new})


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=8,
)
objects = st.dictionaries(st.text(max_size=3), values, max_size=5)


@given(objects, objects, st.sampled_from([None, 1, 2, "\t"]))
def test_any_change_gives_exactly_the_new_value(
    old: dict[str, Any], new: dict[str, Any], indent: Any
) -> None:
    def change(raw: dict[str, Any]) -> None:
        raw.clear()
        raw.update(new)

    text = change_json(json.dumps(old, indent=indent), change)
    assert json.dumps(json.loads(text), sort_keys=True) == json.dumps(new, sort_keys=True)
