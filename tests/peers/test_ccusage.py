"""Our figures beside ccusage's on the same files: the same, or different by a rule with a name."""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.engine.plain_reader import FIELDS, Rule, read
from tests.engine.transcript_kit import Tree, dump, line, make_tree, sums_of, usage
from tests.peers.peers import peer
from tests.peers.programs import PATH

from workers_tui.engine.transcripts import cells
from workers_tui.engine.transcripts.cells import Sums

pytestmark = [pytest.mark.peers, pytest.mark.timeout(120)]

THEIRS = ("inputTokens", "outputTokens", "cacheCreationTokens", "cacheReadTokens")
OURS = ("input", "output", "creation", "read")
LACKS = {Rule.NO_REQUEST, Rule.NO_REQUEST_COPY}
"""Rules of ours by which ccusage does not go: without a request id it counts a message once
for each session and moment."""
Tokens = tuple[int, ...]


@pytest.fixture(autouse=True)
def in_utc(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both count UTC days."""
    import time

    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    cells._days.clear()


def ccusage(root: Path) -> Any:
    """Its report on a directory."""
    environ = {"CLAUDE_CONFIG_DIR": str(root), "TZ": "UTC", "HOME": str(root), "PATH": PATH}
    command = [str(peer("ccusage")), "daily", "--json", "--offline"]
    done = subprocess.run(command, env=environ, capture_output=True, check=True)
    return json.loads(done.stdout)


def by_day_and_model(report: Any) -> dict[tuple[str, str], Tokens]:
    return {
        (day["period"], model["modelName"]): tuple(model[name] for name in THEIRS)
        for day in report["daily"]
        for model in day["modelBreakdowns"]
    }


def of_ours(root: Path) -> dict[tuple[str, str], Tokens]:
    from datetime import date

    found: dict[tuple[str, str], Counter[str]] = {}
    for row in Tree(root).scan().rows:
        key = (date.fromordinal(row.day).isoformat(), row.model)
        counts = found.setdefault(key, Counter())
        counts.update({name: getattr(row.sums, name) for name in OURS})
    return {key: tuple(counts[name] for name in OURS) for key, counts in found.items()}


def of_plain(root: Path, without: set[Rule]) -> dict[tuple[str, str], Tokens]:
    return {
        key: tuple(counts[name] for name in FIELDS) for key, counts in read(root, without).items()
    }


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_on_files_with_request_ids_both_find_the_same_by_day_and_model(
    tmp_path: Path, seed: int
) -> None:
    shares = ("--resumed-share", "0.5", "--subagent-share", "0.5", "--truncated-share", "0.3")
    make_tree(tmp_path / "tree", seed=seed, extra=(*shares, "--gateway-share", "0"))
    assert of_ours(tmp_path / "tree") == by_day_and_model(ccusage(tmp_path / "tree"))


@pytest.mark.parametrize("seed", [4, 5, 6])
def test_on_any_files_the_difference_is_the_rules_that_it_lacks(tmp_path: Path, seed: int) -> None:
    shares = ("--resumed-share", "0.5", "--gateway-share", "0.5", "--truncated-share", "0.3")
    make_tree(tmp_path / "tree", seed=seed, extra=shares)
    theirs = by_day_and_model(ccusage(tmp_path / "tree"))
    assert of_ours(tmp_path / "tree") == of_plain(tmp_path / "tree", set())
    assert theirs == of_plain(tmp_path / "tree", LACKS)
    assert theirs != of_ours(tmp_path / "tree")


def without(name: str) -> dict[str, Any]:
    counts = usage()
    del counts[name]
    return counts


ONE: Tokens = (10, 5, 100, 1000)
Case = tuple[Callable[[Tree], object], Tokens, Tokens]
CASES: dict[str, Case] = {
    "a message inside of a progress line is another line's": (
        lambda tree: tree.write(
            line(), {"type": "progress", "data": {"message": line("msg_2", "req_2")}}
        ),
        ONE,
        (20, 10, 200, 2000),
    ),
    "a request id that is null is none": (
        lambda tree: tree.write(line(requestId=None)), ONE, (0, 0, 0, 0),
    ),
    "a count that is null is 0": (
        lambda tree: tree.write(line(counts=usage(cache_read_input_tokens=None))),
        (10, 5, 100, 0),
        (0, 0, 0, 0),
    ),
    "a count that is missing is 0": (
        lambda tree: tree.write(line(counts=without("input_tokens"))),
        (0, 5, 100, 1000),
        (0, 0, 0, 0),
    ),
    "a byte order mark is no part of a line": (
        lambda tree: tree.write(b"\xef\xbb\xbf" + dump(line()), line("msg_2", "req_2")),
        (20, 10, 200, 2000),
        ONE,
    ),
    "a synthetic message costs nothing": (
        lambda tree: tree.write(line(model="<synthetic>"), line("msg_2", "req_2")),
        ONE,
        (20, 10, 200, 2000),
    ),
    "an API error costs nothing": (
        lambda tree: tree.write(line(isApiErrorMessage=True), line("msg_2", "req_2")),
        ONE,
        (20, 10, 200, 2000),
    ),
    "an impossible count makes a bad line": (
        lambda tree: tree.write(line(counts=usage(input_tokens=10**17)), line("msg_2", "req_2")),
        ONE,
        (10**17 + 10, 10, 200, 2000),
    ),
    "an unknown speed keeps the row": (
        lambda tree: tree.write(line(counts=usage(speed="ludicrous"))), ONE, (0, 0, 0, 0),
    ),
    "without a request id an endpoint that repeats its ids makes new messages": (
        lambda tree: tree.write(
            *(
                line("fixed", None, uuid=f"u{n}", parentUuid=f"p{n}", counts=usage(input_tokens=n))
                for n in range(3)
            )
        ),
        (3, 15, 300, 3000),
        (2, 5, 100, 1000),
    ),
    "a line without any id stands alone": (
        lambda tree: tree.write(line(None, None, uuid="u1"), line(None, None, uuid="u2")),
        (20, 10, 200, 2000),
        (0, 0, 0, 0),
    ),
    "a line without a time has that of the one before": (
        lambda tree: tree.write(line(), line("msg_2", "req_2", timestamp=None)),
        (20, 10, 200, 2000),
        ONE,
    ),
    "a model without a name is an unknown one": (
        lambda tree: tree.write(line(model=None)), ONE, (0, 0, 0, 0),
    ),
    "a line without a session belongs to its file's": (
        lambda tree: tree.write(line(sessionId=None)), ONE, (0, 0, 0, 0),
    ),
}  # fmt: skip


@pytest.mark.parametrize("rule", list(CASES))
def test_a_difference_in_one_case_has_a_name(tmp_path: Path, rule: str) -> None:
    make, ours, theirs = CASES[rule]
    tree = Tree(tmp_path)
    make(tree)
    assert (tokens(tree.sums()), theirs_on(tmp_path)) == (ours, theirs)


def tokens(sums: Sums) -> Tokens:
    return tuple(getattr(sums, name) for name in OURS)


def theirs_on(root: Path) -> Tokens:
    totals = ccusage(root)["totals"] or {}
    return tuple(totals.get(name, 0) for name in THEIRS)


SAME: dict[str, Callable[[Tree], object]] = {
    "a line that is not UTF-8 is lost alone": lambda tree: tree.write(
        line(), dump(line("msg_2", "req_2")).replace(b"hello", b"he\xff\xfello")
    ),
    "a negative count makes a bad line": lambda tree: tree.write(
        line(counts=usage(input_tokens=-5)), line("msg_2", "req_2")
    ),
    "a fraction makes a bad line": lambda tree: tree.write(
        line(counts=usage(input_tokens=1.5)), line("msg_2", "req_2")
    ),
    "the largest output is taken": lambda tree: tree.write(
        line(counts=usage(40)), line(counts=usage(1))
    ),
    "a message has the day of its first line": lambda tree: tree.write(
        line(counts=usage(1), timestamp="2026-06-10T23:59:58.000Z"),
        line(counts=usage(9), timestamp="2026-06-11T00:00:02.000Z"),
    ),
    "a clock in the future counts": lambda tree: tree.write(
        line(timestamp="2999-01-01T00:00:00.000Z")
    ),
    "a whole last line counts without its line feed": lambda tree: tree.write(dump(line()).strip()),
}


@pytest.mark.parametrize("rule", list(SAME))
def test_by_these_rules_both_go(tmp_path: Path, rule: str) -> None:
    tree = Tree(tmp_path)
    SAME[rule](tree)
    assert tokens(sums_of(tree.scan().rows)) == theirs_on(tmp_path)
