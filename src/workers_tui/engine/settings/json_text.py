"""Changes a JSON file's text as a careful person would: only what has to change.

Key order, indent, line ends, the way an object is laid out and every number's
spelling stay as they are; a new member is laid out like its neighbours.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

BLANKS = " \t\r\n"
_decode = json.JSONDecoder().raw_decode


@dataclass(frozen=True, slots=True)
class Member:
    """One key of an object and where it stands."""

    key: str
    before: str
    """From the brace or the value before it, comma included."""
    start: int
    value_start: int
    end: int


@dataclass(frozen=True, slots=True)
class Layout:
    """An object as it is written."""

    members: tuple[Member, ...]
    lead: str
    """Between the brace and the first key."""
    tail: str
    """Between the last value and the closing brace."""


def change_json(text: str, change: Callable[[dict[str, Any]], None]) -> str:
    """The text with `change` applied to its object."""
    start = _skip(text, 0)
    old, end = _decode(text, start)
    new = copy.deepcopy(old)
    change(new)
    return text[:start] + _object(text, start, old, new) + text[end:]


def _object(text: str, at: int, old: dict[str, Any], new: dict[str, Any]) -> str:
    """The object at this place, changed from old to new."""
    layout = _layout(text, at)
    parts: list[str] = []
    for member in layout.members:
        if member.key in new:
            key = text[member.start : member.value_start]
            value = _value(text, member, old[member.key], new[member.key], layout.lead)
            parts.append((member.before if parts else layout.lead) + key + value)
    # an empty object is written on its line
    lead, tail = (layout.lead, layout.tail) if layout.members else ("", "")
    for key in (key for key in new if key not in old):
        before = _separator(layout, lead) if parts else lead
        parts.append(f"{before}{_dump(text, key, lead)}: {_dump(text, new[key], lead)}")
    return "{" + "".join(parts) + (tail if parts else "") + "}"


def _value(text: str, member: Member, old: Any, new: Any, lead: str) -> str:
    if isinstance(old, dict) and isinstance(new, dict):
        return _object(text, member.value_start, old, new)
    if _same(old, new):
        return text[member.value_start : member.end]
    return _dump(text, new, lead)


def _same(old: Any, new: Any) -> bool:
    """Equal for JSON: 1, 1.0 and true are three things."""
    return json.dumps(old) == json.dumps(new)


def _layout(text: str, at: int) -> Layout:
    """Where the members of the object at this place stand."""
    members: list[Member] = []
    after = at + 1
    position = _skip(text, after)
    while text[position] != "}":
        start = _skip(text, position + (text[position] == ","))
        key, key_end = _decode(text, start)
        value_start = _skip(text, _skip(text, key_end) + 1)
        end = _decode(text, value_start)[1]
        members.append(Member(key, text[after:start], start, value_start, end))
        after, position = end, _skip(text, end)
    lead = members[0].before if members else text[after:position]
    return Layout(tuple(members), lead, text[after:position])


def _skip(text: str, at: int) -> int:
    while text[at] in BLANKS:
        at += 1
    return at


def _separator(layout: Layout, lead: str) -> str:
    """What stands before a further member."""
    return layout.members[-1].before if len(layout.members) > 1 else f",{lead or ' '}"


def _unit(text: str) -> str:
    """What one level of the file is indented by."""
    first = re.search(r"\n([ \t]+)\S", text)
    return first[1] if first else "  "


def _dump(text: str, value: Any, lead: str) -> str:
    """A value written at the depth of the members beside it."""
    newline = re.search(r"(\r?\n)([ \t]*)$", lead)
    if newline is None or not isinstance(value, dict | list) or not value:
        return json.dumps(value, ensure_ascii=False)
    written = json.dumps(value, ensure_ascii=False, indent=_unit(text))
    return written.replace("\n", newline[1] + newline[2])
