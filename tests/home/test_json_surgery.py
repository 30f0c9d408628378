"""Edits of other people's JSON: exact, reversible, and refused where the file is not plain."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers_tui.home.json_surgery import JsonText, NotJson

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=12,
)
OBJECTS = st.dictionaries(st.text(max_size=4), VALUES, max_size=4)
INDENTS = st.sampled_from([None, 1, 2, 4, "\t"])


@given(OBJECTS, INDENTS, st.booleans(), st.booleans())
def test_what_is_added_can_be_removed_to_the_byte(
    value: dict[str, Any], indent: Any, windows: bool, bom: bool
) -> None:
    value.pop("new", None)
    text = json.dumps(value, indent=indent, ensure_ascii=False) + "\n"
    text = ("\ufeff" if bom else "") + (text.replace("\n", "\r\n") if windows else text)
    added = JsonText(text).add(["new", "deep", -1], {"a": [1, "é"]})
    assert json.loads(added.text.removeprefix("\ufeff")) == {
        **value,
        "new": {"deep": [{"a": [1, "é"]}]},
    }
    back = added.remove(["new", "deep", 0]).remove_empty(["new", "deep"]).remove_empty(["new"])
    assert back.text == text


@given(st.lists(VALUES, min_size=1, max_size=4), INDENTS, st.data())
def test_any_item_can_be_removed(items: list[Any], indent: Any, data: st.DataObject) -> None:
    number = data.draw(st.integers(0, len(items) - 1))
    text = JsonText(json.dumps({"list": items}, indent=indent))
    left = items[:number] + items[number + 1 :]
    assert json.loads(text.remove(["list", number]).text) == {"list": left}


@given(OBJECTS, VALUES)
def test_a_value_is_replaced_in_place(value: dict[str, Any], new: Any) -> None:
    text = JsonText(json.dumps({"x": 1, **value, "y": 2}, indent=2))
    assert json.loads(text.replace(["x"], new).text) == {"x": 1, **value, "y": 2} | {"x": new}


def test_an_edit_follows_the_files_own_style() -> None:
    text = '{\n    "a": 1,\n    "p": {"allow": ["x"]}\n}\n'
    edited = JsonText(text).add(["p", "allow", -1], "y").add(["h"], {"k": 1})
    assert edited.text == (
        '{\n    "a": 1,\n    "p": {"allow": ["x", "y"]},\n    "h": {\n        "k": 1\n    }\n}\n'
    )


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ('{\n  "a": 1,\n}', 3, "comma"),
        ('{\n  // why\n  "a": 1\n}', 2, "comment"),
        ('{"a": /* b */ 1}', 1, "comment"),
        ('{\n"a": [1, 2,]}', 2, "comma"),
        ("{", 1, "expecting"),
        ("[" * 50_000, 1, "deeply"),
        ('{\n"a": [1, NaN]}', 2, "NaN is not JSON"),
        ('{\n"a": -Infinity}', 2, "-Infinity is not JSON"),
        ('{\n"a": ' + "9" * 5000 + "}", 2, "thousands of digits"),
        ('{"a": "\x01"}', 1, "invalid control character$"),
    ],
)
def test_what_is_not_plain_json_is_refused_with_its_line(text: str, line: int, said: str) -> None:
    with pytest.raises(NotJson, match=said) as caught:
        JsonText(text)
    assert caught.value.line == line


def test_something_else_in_the_way_is_refused() -> None:
    with pytest.raises(NotJson, match="hooks is not an object") as caught:
        JsonText('{\n"hooks": [1]}').add(["hooks", "Pre", -1], 1)
    assert caught.value.line == 2
    with pytest.raises(NotJson, match="not an array"):
        JsonText('{"a": {"b": {}}}').add(["a", "b", -1], 1)
    with pytest.raises(NotJson, match="the file is not an object"):
        JsonText("[]").add(["a"], 1)


def test_of_members_with_one_name_the_last_counts() -> None:
    text = JsonText('{"a": 1, "a": {"b": 2}}')
    assert text.get(["a", "b"]) == 2
    assert json.loads(text.remove(["a"]).text) == {"a": 1}


def test_only_what_an_edit_passes_through_is_looked_at() -> None:
    rest = json.dumps({str(number): {"n": number} for number in range(100)})
    text = JsonText(f'{{"rest": {rest}, "mine": {{}}}}').add(["mine", "a"], 1)
    assert text.get(["mine", "a"]) == 1
    untouched = text.root.entries[0].node
    assert "entries" not in vars(untouched), "a file of megabytes would take minutes"
