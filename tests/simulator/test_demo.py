"""The demo's files and tasks belong together."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

from workers_tui.simulator.demo import TASKS, demo_tasks, make_demo_files


def test_every_file_a_task_names_is_there(tmp_path: Path) -> None:
    make_demo_files(tmp_path)
    for task in TASKS:
        for spec in task.files:
            assert list(tmp_path.glob(spec.partition(":")[0].rstrip("/"))), spec


def test_every_task_comes_in_each_round() -> None:
    rounds = list(islice(demo_tasks(), 3 * len(TASKS)))
    assert set(rounds[: len(TASKS)]) == set(rounds[len(TASKS) : 2 * len(TASKS)]) == set(TASKS)
