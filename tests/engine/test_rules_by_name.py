"""Every trap of the generator has its rules by name, and a reader without one falls into it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.engine.plain_reader import FIELDS, TRAPS, Rule, read, together
from tests.engine.transcript_kit import make_tree

EXTRA = (
    "--gateway-share", "0.4", "--resumed-share", "0.6",
    "--subagent-share", "0.6", "--truncated-share", "1",
)  # fmt: skip


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    root = tmp_path_factory.mktemp("traps") / "tree"
    return root, make_tree(root, seed=3, size="8m", extra=EXTRA)


def truth_of(rows: dict[str, dict[str, int]]) -> dict[str, dict[str, int]]:
    return {key: {name: row[name] for name in (*FIELDS, "messages")} for key, row in rows.items()}


def test_every_trap_is_set_and_has_its_rules_and_every_rule_its_trap(
    tree: tuple[Path, Any],
) -> None:
    traps = tree[1]["traps"]
    assert all(traps.values())
    assert set(TRAPS) == set(traps)
    assert {rule for rules in TRAPS.values() for rule in rules} == set(Rule)


def test_with_every_rule_the_plain_reader_finds_the_truth(tree: tuple[Path, Any]) -> None:
    root, truth = tree
    found = read(root)
    assert together(found) == truth_of({"all": truth["total"]})
    assert together(found, 0) == truth_of(truth["by_day"])
    assert together(found, 1) == truth_of(truth["by_model"])


@pytest.mark.parametrize("rule", list(Rule), ids=lambda rule: rule.name)
def test_without_a_rule_the_trap_snaps(tree: tuple[Path, Any], rule: Rule) -> None:
    root, truth = tree
    assert together(read(root, {rule})) != truth_of({"all": truth["total"]})
