"""Our totals equal the truth that the generator wrote beside the files, to the token."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from tests.engine.transcript_kit import DATA, Tree, as_truth, make_tree, of_truth, sums_of

from workers_tui.engine.transcripts.cells import Sums, total
from workers_tui.engine.transcripts.index_query import CellRow
from workers_tui.engine.transcripts.scan import scan

AXES: dict[str, Callable[[CellRow], str]] = {
    "by_model": lambda row: row.model,
    "by_day": lambda row: date.fromordinal(row.day).isoformat(),
    "by_project": lambda row: row.project,
}


def assert_true(rows: list[CellRow], truth: Any) -> None:
    """Totals and every axis."""
    assert as_truth(sums_of(rows)) == of_truth(truth["total"])
    for name, key in AXES.items():
        groups: dict[str, list[Sums]] = defaultdict(list)
        for row in rows:
            groups[key(row)].append(row.sums)
        ours = {group: as_truth(total(sums)) for group, sums in groups.items()}
        assert ours == {group: of_truth(row) for group, row in truth[name].items()}


@pytest.fixture(autouse=True)
def in_utc(monkeypatch: pytest.MonkeyPatch) -> None:
    """The truth counts UTC days."""
    import time

    from workers_tui.engine.transcripts import cells

    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    cells._days.clear()


@pytest.mark.parametrize("seed", [1, 2, 3, 99])
@pytest.mark.parametrize("processes", [1, 2])
def test_a_scan_equals_the_truth(tmp_path: Path, seed: int, processes: int) -> None:
    truth = make_tree(tmp_path / "tree", seed=seed)
    found = scan([Tree(tmp_path / "tree").source], processes=processes)
    assert_true(found.rows, truth)
    assert found.files.files == truth["counts"]["files"]
    assert found.files.bytes == truth["counts"]["bytes"]
    assert found.files.torn == truth["counts"]["truncated_files"]
    assert found.files.bad_lines == 0


def test_relays_resumed_sessions_and_subagents_in_plenty(tmp_path: Path) -> None:
    extra = ("--gateway-share", "0.5", "--resumed-share", "0.6", "--subagent-share", "0.6")
    truth = make_tree(tmp_path / "tree", seed=7, extra=extra)
    assert truth["counts"]["copied_lines"]
    assert_true(scan([Tree(tmp_path / "tree").source]).rows, truth)


EXPECTED = json.loads((DATA / "EXPECTED.json").read_text())
CASES = sorted(path.name for path in DATA.iterdir() if path.is_dir())


@pytest.mark.parametrize("case", CASES)
def test_real_transcripts_are_counted_as_claude_code_counted_them(
    tmp_path: Path, case: str
) -> None:
    tree = Tree(tmp_path / "claude")
    project = tree.path().parent
    project.rmdir()
    project.symlink_to(DATA / case)
    found: dict[str, list[Sums]] = defaultdict(list)
    for row in tree.scan().rows:
        found[row.model].append(row.sums)
    expected = EXPECTED[case]["deduplicated"]
    ours = {model: _names(total(sums)) for model, sums in found.items()}
    assert ours == {model: {name: row[name] for name in NAMES} for model, row in expected.items()}


NAMES = {
    "messages": "messages",
    "unfinished": "unfinished",
    "cache_1h": "creation_1h",
    "input_tokens": "input",
    "output_tokens": "output",
    "cache_read_input_tokens": "read",
    "cache_creation_input_tokens": "creation",
}


def _names(sums: Sums) -> dict[str, int]:
    return {name: getattr(sums, ours) for name, ours in NAMES.items()}


def test_a_real_fork_counts_its_copied_lines_once(tmp_path: Path) -> None:
    tree = Tree(tmp_path / "claude")
    for case in ("fork_original", "fork_copy"):
        for path in (DATA / case).glob("*.jsonl"):
            tree.write(path.read_bytes(), name=path.stem)
    expected = EXPECTED["fork_original+fork_copy"]["deduplicated"]["claude-opus-4-8"]
    sums = tree.sums()
    assert _names(sums) == {name: expected[name] for name in NAMES}
    assert len({row.session for row in tree.scan().rows}) == 2
