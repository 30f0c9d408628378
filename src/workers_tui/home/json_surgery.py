"""Cuts into other people's JSON files without touching a byte beside the cut.

The text is parsed strictly, positions are kept, and an edit inserts or removes
exactly one member or item in the file's own indentation and line ends. A file
that is not plain JSON (comments, trailing commas) is never edited.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NoReturn

BOM = "\ufeff"
SPACE = re.compile(r"[ \t\r\n]*")
DECODER = json.JSONDecoder()
CONSTANT = re.compile(r"[:\[,]\s*(NaN|-?Infinity)")
LONG_NUMBER = re.compile(r"[:\[,]\s*-?\d{4300}")

Path_ = Sequence[str | int]
"""Names of members and numbers of items, from the outermost."""


class NotJson(ValueError):
    """The text is not plain JSON; `line` says where."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.line = line


class NoConstant(ValueError):
    """A word that Python's parser knows and JSON does not."""


class Node:
    """A value and where it stands in the text."""

    def __init__(self, text: str, start: int, value: Any, end: int) -> None:
        self.start = start
        self.end = end
        self.value = value
        self._text = text

    @cached_property
    def entries(self) -> list[Entry]:
        """Members of an object, items of an array; found when asked for, as files can be large."""
        return list(_entries(self._text, self)) if isinstance(self.value, dict | list) else []


@dataclass(frozen=True, slots=True)
class Entry:
    """One member or item; `start` is where its name or value begins."""

    name: str | int
    start: int
    node: Node


class JsonText:
    """A JSON text that can be edited. Every edit gives a new one."""

    def __init__(self, text: str) -> None:
        self.text = text
        body = text.removeprefix(BOM)
        try:
            value = json.loads(body, parse_constant=_no_constant)
        except json.JSONDecodeError as error:
            raise NotJson(_trouble(body, error), error.lineno) from None
        except RecursionError:
            raise NotJson("it is nested too deeply", 1) from None
        except NoConstant as error:
            raise NotJson(f"{error} is not JSON", _line_of(CONSTANT, body)) from None
        except ValueError:
            line = _line_of(LONG_NUMBER, body)
            raise NotJson("it holds a number of thousands of digits", line) from None
        start = _skip(text, len(text) - len(body))
        self.root = Node(text, start, value, len(text.rstrip(" \t\r\n")))

    @property
    def value(self) -> Any:
        """The parsed document."""
        return self.root.value

    def get(self, path: Path_) -> Any:
        """The value at a path, or None."""
        node = self._find(path)
        return node.value if node else None

    def add(self, path: Path_, value: Any) -> JsonText:
        """With `value` as new last member or item; missing objects on the way are made.

        The last step of the path is the member's name, or -1 to append to an array.
        Raises NotJson where something else than an object or array is in the way.
        """
        parent = self._find(path[:-1])
        if parent is None:
            empty: Any = [] if path[-1] == -1 else {}
            return self.add(path[:-1], empty).add(path, value)
        wanted = list if path[-1] == -1 else dict
        if not isinstance(parent.value, wanted):
            line = self.text.count("\n", 0, parent.start) + 1
            kind = "an array" if wanted is list else "an object"
            raise NotJson(f"{'.'.join(map(str, path[:-1])) or 'the file'} is not {kind}", line)
        return self._insert(parent, path[-1], value)

    def replace(self, path: Path_, value: Any) -> JsonText:
        """With another value in the same place."""
        node = self._need(path)
        text = self._dump(value, self._indent_at(node.start))
        return JsonText(self.text[: node.start] + text + self.text[node.end :])

    def remove(self, path: Path_) -> JsonText:
        """Without this member or item."""
        parent = self._need(path[:-1])
        entries = parent.entries
        at = max(i for i, entry in enumerate(entries) if entry.name == path[-1])
        if len(entries) == 1:
            start, end = parent.start + 1, parent.end - 1
        elif at:
            start, end = entries[at - 1].node.end, entries[at].node.end
        else:
            start, end = entries[0].start, entries[1].start
        return JsonText(self.text[:start] + self.text[end:])

    def remove_empty(self, path: Path_) -> JsonText:
        """Without this member when it is an empty object or array."""
        return self.remove(path) if path and self.get(path) in ({}, []) else self

    def _find(self, path: Path_) -> Node | None:
        node = self.root
        for name in path:
            found = [entry.node for entry in node.entries if entry.name == name]
            if not found:
                return None
            node = found[-1]  # of members that repeat a name, the last one counts
        return node

    def _need(self, path: Path_) -> Node:
        node = self._find(path)
        if node is None:
            raise KeyError("/".join(map(str, path)))
        return node

    def _insert(self, parent: Node, name: str | int, value: Any) -> JsonText:
        text, entries = self.text, parent.entries
        label = "" if name == -1 else json.dumps(name, ensure_ascii=False) + ": "
        if entries and "\n" not in text[parent.start : entries[0].start]:
            new = ", " + label + json.dumps(value, ensure_ascii=False)
            return JsonText(text[: entries[-1].node.end] + new + text[entries[-1].node.end :])
        line = self.newline
        outer = self._indent_at(parent.start)
        inner = self._indent_at(entries[0].start) if entries else outer + self.unit
        new = line + inner + label + self._dump(value, inner)
        if entries:
            at = entries[-1].node.end
            return JsonText(text[:at] + "," + new + text[at:])
        closing = line + outer
        return JsonText(text[: parent.start + 1] + new + closing + text[parent.end - 1 :])

    def _dump(self, value: Any, indent: str) -> str:
        lines = json.dumps(value, ensure_ascii=False, indent=self.unit).split("\n")
        return (self.newline + indent).join(lines)

    @property
    def newline(self) -> str:
        """The file's own line end."""
        return "\r\n" if "\r\n" in self.text else "\n"

    @property
    def unit(self) -> str:
        """The file's own step of indentation."""
        entries = self.root.entries
        return (self._indent_at(entries[0].start) if entries else "") or "  "

    def _indent_at(self, position: int) -> str:
        line = self.text[self.text.rfind("\n", 0, position) + 1 : position].removeprefix(BOM)
        return line[: len(line) - len(line.lstrip(" \t"))]


def _skip(text: str, at: int) -> int:
    match = SPACE.match(text, at)
    return match.end() if match else at


def _entries(text: str, node: Node) -> Iterator[Entry]:
    """What stands between the brackets of a node, in order."""
    at = _skip(text, node.start + 1)
    number = 0
    while text[at] not in "}]":
        name: str | int = number
        begin = at
        if isinstance(node.value, dict):
            name, at = DECODER.raw_decode(text, at)
            at = _skip(text, _skip(text, at) + 1)
        value, end = DECODER.raw_decode(text, at)
        yield Entry(name, begin, Node(text, at, value, end))
        number += 1
        at = _skip(text, end)
        if text[at] == ",":
            at = _skip(text, at + 1)


def _no_constant(word: str) -> NoReturn:
    raise NoConstant(word)


def _line_of(pattern: re.Pattern[str], text: str) -> int:
    found = pattern.search(text)
    return text.count("\n", 0, found.end()) + 1 if found else 1


def _trouble(text: str, error: json.JSONDecodeError) -> str:
    lines = text.split("\n")
    near = "\n".join(lines[max(0, error.lineno - 2) : error.lineno])
    if "//" in near or "/*" in near:
        return "it holds a comment, which plain JSON does not allow"
    if re.search(r",\s*$", text[: error.pos]) and text[error.pos : error.pos + 1] in {"}", "]"}:
        return "there is a comma after the last entry"
    return error.msg[:1].lower() + error.msg[1:].removesuffix(" at")
