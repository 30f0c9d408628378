"""The de-duplication rule, case by case."""

from __future__ import annotations

import itertools
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.engine.transcript_kit import Tree, line, sums_of, usage

from workers_tui.engine.transcripts.scan import scan
from workers_tui.engine.transcripts.transcript_lines import seconds


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path / "claude")


def test_lines_of_one_message_count_once_with_the_largest_of_each_count(tree: Tree) -> None:
    tree.write(*(line(counts=usage(output)) for output in (1, 40, 7)))
    sums = tree.sums()
    assert (sums.messages, sums.output, sums.input) == (1, 40, 10)


def test_a_message_that_was_broken_off_is_a_lower_bound(tree: Tree) -> None:
    tree.write(line(stop=None), line(stop=None))
    assert tree.sums().unfinished == 1
    tree.write(line(stop=None), line(stop="tool_use"))
    assert tree.sums().unfinished == 0


def test_the_same_message_id_with_another_request_id_is_another_message(tree: Tree) -> None:
    tree.write(line("fixed", "req_1"), line("fixed", "req_2"))
    assert tree.sums().messages == 2


def test_a_resumed_session_copies_lines_and_nothing_counts_twice(tree: Tree) -> None:
    original = [line(f"m{n}", f"r{n}") for n in range(3)]
    tree.write(*original)
    copies = [{**one, "sessionId": "s2"} for one in original]
    tree.write(*copies, line("m9", "r9", sessionId="s2"), name="s2")
    scanned = tree.scan()
    assert sums_of(scanned.rows).messages == 4
    by_session = {row.session: row.sums.messages for row in scanned.rows}
    assert by_session == {"s1": 3, "s2": 1}


def test_copies_without_a_request_id_are_known_by_their_uuid(tree: Tree) -> None:
    original = [line(f"m{n}", None, uuid=f"u{n}") for n in range(3)]
    tree.write(*original)
    tree.write(*({**one, "sessionId": "s2"} for one in original), name="s2")
    assert tree.sums().messages == 3


def test_main_and_subagent_file_share_a_message(tree: Tree) -> None:
    tree.write(line())
    side: dict[str, Any] = {"isSidechain": True, "agentId": "a1"}
    tree.write(line(**side), line("m2", "r2", **side), name="s1/subagents/agent-a1")
    scanned = tree.scan()
    assert {row.session for row in scanned.rows} == {"s1"}
    assert sums_of(scanned.rows).messages == 2


def test_a_subagent_line_without_a_session_belongs_to_its_parent(tree: Tree) -> None:
    tree.write(line(sessionId=None), name="s7/subagents/agent-a1")
    assert [row.session for row in tree.scan().rows] == ["s7"]


def test_without_request_ids_blocks_of_one_message_belong_together(tree: Tree) -> None:
    blocks = [
        line(request=None, uuid="u1", parentUuid="u0", stop=None, counts=usage(1)),
        line(request=None, uuid="u2", parentUuid="u1", stop=None, counts=usage(9)),
        line(request=None, uuid="u4", parentUuid="u3", stop="tool_use", counts=usage(30)),
    ]
    tree.write(*blocks)
    sums = tree.sums()
    assert (sums.messages, sums.output) == (1, 30)


def test_an_endpoint_that_repeats_its_ids_makes_new_messages(tree: Tree) -> None:
    turns = [
        line("fixed", None, uuid=f"u{n}", parentUuid=f"p{n}", counts=usage(5, input_tokens=10 + n))
        for n in range(5)
    ]
    tree.write(*turns)
    assert tree.sums().messages == 5
    same = [line("fixed", None, uuid=f"u{n}", parentUuid=f"p{n}") for n in range(5)]
    tree.write(*same)
    assert tree.sums().messages == 5


def test_two_sessions_of_an_endpoint_that_repeats_its_ids_are_two(tree: Tree) -> None:
    tree.write(line("fixed", None, uuid="u1"))
    tree.write(line("fixed", None, uuid="u2", sessionId="s2"), name="s2")
    assert tree.sums().messages == 2


def test_lines_without_any_id_stand_alone(tree: Tree) -> None:
    tree.write(
        line(None, None, uuid="u1"), line(None, None, uuid="u2"), line(None, None, uuid="u1")
    )
    assert tree.sums().messages == 2


def test_a_message_lies_on_the_day_of_its_first_line(tree: Tree) -> None:
    tree.write(
        line(stop=None, timestamp="2026-06-10T23:59:58.000Z"),
        line(timestamp="2026-06-11T00:00:03.000Z", counts=usage(50)),
    )
    rows = tree.scan().rows
    assert len(rows) == 1
    assert rows[0].sums.output == 50


def test_ids_of_two_identities_say_nothing_about_each_other(tmp_path: Path) -> None:
    trees = [Tree(tmp_path / owner, owner) for owner in ("kimi", "zai")]
    for tree in trees:
        tree.write(line("fixed", "fixed"))
    rows = scan([tree.source for tree in trees]).rows
    assert {row.owner: row.sums.messages for row in rows} == {"kimi": 1, "zai": 1}


def test_a_copied_directory_of_the_same_user_counts_once(tmp_path: Path) -> None:
    trees = [Tree(tmp_path / name) for name in ("old", "new")]
    for tree in trees:
        tree.write(line())
    assert sums_of(scan([tree.source for tree in trees]).rows).messages == 1


@given(st.data())
@settings(max_examples=40, deadline=None)
def test_order_and_repetition_of_lines_change_nothing(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    lines = [
        line(
            f"m{message}",
            f"r{message}",
            counts=usage(output),
            timestamp=f"2026-06-{10 + message}T10:00:00Z",
        )
        for message, output in itertools.product(range(4), (1, 5, 9))
    ]
    shuffled = data.draw(st.permutations(lines))
    repeated = shuffled + data.draw(st.lists(st.sampled_from(lines)))
    tree = Tree(tmp_path_factory.mktemp("claude"))
    cut = data.draw(st.integers(0, len(repeated)))
    tree.write(*repeated[:cut])
    tree.write(*repeated[cut:], name="s2")
    sums = tree.sums()
    assert (sums.messages, sums.output, sums.input) == (4, 36, 40)


def test_of_files_read_together_the_one_that_ended_first_keeps_the_message(tree: Tree) -> None:
    first = tree.write(line(), name="z-first")
    second = tree.write({**line(), "sessionId": "s2"}, name="a-second")
    os.utime(first, (1000, 1000))
    os.utime(second, (2000, 2000))
    assert [row.session for row in tree.scan().rows] == ["s1"]


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("2026-06-10T12:00:05.712Z", 5),
        ("2026-06-10T12:00:05Z", 5),
        ("2026-06-10T14:00:05.7+02:00", 5),
        ("2026-06-10T11:59:59.999999999Z", -1),
    ],
)
def test_times_with_any_fraction_and_zone_are_moments(written: str, meant: int) -> None:
    assert seconds(written) - seconds("2026-06-10T12:00:00.000Z") == meant


@pytest.mark.parametrize("written", ["", "soon", "2026-06-10T25:00:00Z", "2026-13-01"])
def test_a_time_that_makes_no_sense_is_none(written: str) -> None:
    assert seconds(written) == 0
