"""The hooks' own JSON says what the standard module says."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.hooks.kit import RUN

from workers_tui.hooks.large_json import member
from workers_tui.hooks.plain_json import MOST_QUOTES, dumps, loads

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)
texts = st.recursive(
    st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20
)
SIGNS = '{}[]",: \\\n\tunr/0123'
WORDS = ("-", "1.5", "1e5", "true", "null", "\\u0041", "\\ud800", "é", '"a"')
pieces = st.lists(st.sampled_from([*SIGNS, *WORDS]))


def result(read: Any, raw: bytes) -> tuple[object, type | None]:
    """What comes out, or the kind of the refusal."""
    try:
        return read(raw), None
    except ValueError as error:
        return None, type(error)


@given(values, st.booleans(), st.sampled_from([None, 2]))
@example('\\\\"\\/\b\f\n\r\t\x7f\u2028', True, None)
@example({"a": [1.5, -0, 10, "é😀"], "": {}}, False, 2)
def test_what_the_standard_module_writes_is_read_like_there(
    value: Any, ascii_only: bool, indent: int | None
) -> None:
    raw = json.dumps(value, ensure_ascii=ascii_only, indent=indent).encode(errors="surrogatepass")
    assert repr(loads(raw)) == repr(json.loads(raw))


@given(pieces.map("".join))
@example('"\\')
@example('["a",]')
@example('{"a":1,}')
@example("01")
@example("1.")
@example("1_0")
@example('"a\nb"')
@example('"\\\\\\""')
@example('{"a":1} x')
@example('{"a":1,"a":2}')
@example("")
def test_any_text_is_judged_like_there(text: str) -> None:
    assert repr(result(loads, text.encode())) == repr(result(json.loads, text.encode()))


@given(texts)
@example("\ud800 \U0001f600 é \x00 / \\")
def test_what_is_written_is_what_the_standard_module_writes(value: Any) -> None:
    assert dumps(value) == json.dumps(value)


@pytest.mark.parametrize("raw", [b"\xef\xbb\xbf[1]", '["a"]'.encode("utf-16"), b'["\xff"]'])
def test_other_encodings_are_left_to_the_standard_module(raw: bytes) -> None:
    plain = raw.removeprefix(b"\xef\xbb\xbf")
    assert result(loads, raw) == result(json.loads, plain)


def test_very_much_and_very_deep_texts_are_left_to_the_standard_module() -> None:
    many = json.dumps(["a"] * MOST_QUOTES).encode()
    assert loads(many) == ["a"] * MOST_QUOTES
    with pytest.raises(RecursionError):
        loads(b"[" * 100_000)


def test_a_hook_input_is_read_without_the_standard_module() -> None:
    given = {"tool_input": {"file_path": "/é/a\\b", "limit": None}, "n": 1.5, "s": 'a\n"b"'}
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); from workers_tui.hooks.plain_json import *;"
        "assert dumps('é\\n\"'); loads(sys.stdin.buffer.read()); print('json' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code, str(RUN.parents[2])],
        input=json.dumps(given, ensure_ascii=False).encode(),
        capture_output=True, timeout=20, check=True,
    )  # fmt: skip
    assert done.stdout.strip() == b"False"


STATE = {
    "numStartups": 3,
    "empty": {},
    "tipsHistory": {"mcpServers": 3, "x": [1, {"mcpServers": {"no": 1}}]},
    "text": 'a\n  "mcpServers": {"no": 1}',
    "mcpServers": {"workers": {"command": "workers-tui", "args": ["mcp"]}},
    "projects": {
        '/a "b"\\é': {"allowedTools": [], "mcpServers": {"workers": {"type": "stdio"}}},
        "/other": {"mcpServers": {}, "last": None},
        "/bare": {"n": 1},
    },
    "last": "x",
}
PATHS = [
    ("mcpServers",),
    ("projects", '/a "b"\\é', "mcpServers"),
    ("projects", "/other", "mcpServers"),
    ("projects", "/bare", "mcpServers"),
    ("projects", "/none", "mcpServers"),
    ("empty", "mcpServers"),
    ("numStartups",),
    ("text",),
    ("last",),
    ("last", "mcpServers"),
    ("tipsHistory", "x"),
]


@pytest.mark.parametrize("indent", [None, 2, 4, "\t"])
@pytest.mark.parametrize("backwards", [False, True])
def test_members_are_found_in_any_layout(indent: int | str | None, backwards: bool) -> None:
    rows = sorted(STATE.items(), reverse=True) if backwards else STATE.items()
    raw = json.dumps(dict(rows), ensure_ascii=False, indent=indent).encode()
    wanted: list[Any] = []
    for path in PATHS:
        value: Any = STATE
        for name in path:
            value = value.get(name) if isinstance(value, dict) else None
        wanted.append(value)
    assert [member(raw, path) for path in PATHS] == wanted


@pytest.mark.parametrize(
    "raw", [b"", b"[]", b"{", b'{\n  "mcpServers": {', b'{\n  "mcpServers": x\n}', b"\xff"]
)
def test_a_broken_file_has_no_members(raw: bytes) -> None:
    assert member(raw, ("mcpServers",)) is None
    assert member(raw, ("projects", "/a")) is None
