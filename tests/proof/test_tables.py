"""The tables keep up with the code: a line that moved is noticed at once, without a proof of it.

What `make proof` shows in a quarter of an hour begins with places that are right;
only these are looked at here.
"""

from __future__ import annotations

import ast
from collections import Counter
from functools import cache
from pathlib import Path

import pytest
from tests.proof.promise import Moved, Promise, without
from tests.proof.run import AREAS, table

TESTS = Path(__file__).resolve().parents[1]
SOURCE = TESTS.parent / "src" / "workers_tui"
PROMISES = [promise for area in AREAS for promise in table(area)]


def test_the_code_of_every_promise_stands_once_where_its_line_says() -> None:
    moved = [wrong for promise in PROMISES if (wrong := _moved(promise))]
    assert not moved, "\n".join(moved)


def test_the_tests_of_every_promise_are_there() -> None:
    missing = [test for promise in PROMISES for test in promise.tests if not _stands(test)]
    assert missing == []
    assert [promise.says for promise in PROMISES if not promise.tests] == []


def test_no_two_promises_have_the_same_words() -> None:
    twice = [says for says, times in Counter(one.says for one in PROMISES).items() if times > 1]
    assert twice == []


@pytest.mark.parametrize("code", ["c = 1", "= 1"])
def test_code_that_stands_nowhere_or_twice_has_moved(code: str) -> None:
    with pytest.raises(Moved):
        without(Promise("it is kept", "file.py", code, "pass", ()), "a = 1\nb = 1\n")


def _moved(promise: Promise) -> str:
    """What is wrong with a promise's place; nothing when it is right."""
    path = SOURCE / promise.file
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    try:
        left = without(promise, text)
        if path.suffix == ".py":
            compile(left, path.name, "exec", dont_inherit=True)
    except Moved as error:
        return f"{promise.says}: {error}"
    except SyntaxError as error:
        return f"{promise.says}: what stands there instead is no Python: {error}"
    return f"{promise.says}: nothing changes" if left == text else ""


def _stands(test: str) -> bool:
    file, _, name = test.partition("::")
    return name.partition("[")[0] in _functions(TESTS / file)


@cache
def _functions(path: Path) -> frozenset[str]:
    tree = ast.parse(path.read_text(encoding="utf-8")) if path.exists() else ast.Module([], [])
    defined = (ast.FunctionDef, ast.AsyncFunctionDef)
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, defined))
