"""A working day for the demo: small generated files and an endless row of plausible tasks.

The values are plain, so that whoever wires the demo can make requests of them.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from workers_tui.simulator.prose import CODE, TESTS

LOG_LINES = (
    "INFO scheduler: job 4711 started",
    "INFO http: GET /health 200 1ms",
    "WARNING ntp: clock skew of 1.8 s on node-3",
    "ERROR backup: /var: disk full",
    "INFO scheduler: job 4711 ended with exit code 0",
    "ERROR http: POST /login 502 upstream auth-2",
    "WARNING smtp: deprecated TLS version on smtp-1",
    "INFO pool: 12 of 64 connections in use",
)
PLAN = """# Pagination

1. Pages are counted from 1.
2. The last page may be short; an empty list has no page.
3. `page_of` returns the rows and the number of pages.
"""
PAGES = '''"""Cuts rows into pages."""


def page_of(rows, number, size=50):
    start = number * size
    return rows[start:start + size], len(rows) // size
'''


@dataclass(frozen=True, slots=True)
class DemoTask:
    """One request of the demo's client."""

    task: str
    tier: str = "auto"
    files: tuple[str, ...] = ()
    write_to: str | None = None
    max_tokens: int | None = None


TASKS = (
    DemoTask("Summarise the errors in debug.log: when, where, how often", files=("debug.log",)),
    DemoTask(
        "Write tests for parse_range",
        "code",
        ("app/parser.py",),
        "tests/test_parser.py",
    ),
    DemoTask(
        "Fix the pagination as described in docs/plan.md; answer with a unified diff",
        files=("app/pages.py", "docs/plan.md"),
    ),
    DemoTask("Second opinion: any race or bug in these modules?", "reason", ("app/*.py",)),
    DemoTask("List every warning in the access log with its count", "fast", ("access.log",)),
    DemoTask("Write a script that rotates the logs in this directory", "code"),
    DemoTask("Extract all client addresses from access.log", files=("access.log:1-400",)),
    DemoTask("Why does the nightly job take twice as long as last week?", files=("debug.log",)),
    DemoTask("Translate the plan into one paragraph for the changelog", files=("docs/plan.md",)),
    DemoTask("Compare both logs and say what they have in common", "long", ("*.log",)),
    DemoTask("Boilerplate for a settings class with five typed fields", max_tokens=600),
    DemoTask("Review the tests: what is not covered?", files=("tests/", "app/parser.py")),
)


AGENT_TASKS = (
    "Look at the modules of this shop and say where ranges are parsed",
    "Find out how pages are counted and whether docs/plan.md is followed",
    "Read the tests and say which module has none",
)
"""Prompts for agents, which look around by themselves."""


def make_demo_files(root: Path) -> None:
    """Write the files that the tasks name, about 400 KB in all, under `root`."""
    dice = random.Random(7)
    for folder in ("app", "docs", "tests"):
        (root / folder).mkdir(parents=True, exist_ok=True)
    contents = {
        "debug.log": _log(dice, 5600),
        "access.log": _log(dice, 1400),
        "app/pages.py": PAGES,
        "app/parser.py": CODE,
        "docs/plan.md": PLAN,
        "tests/test_pages.py": TESTS.replace("parser", "pages"),
    }
    for name, text in contents.items():
        (root / name).write_text(text, encoding="utf-8")


def _log(dice: random.Random, lines: int) -> str:
    second, text = 13 * 3600, []
    for _ in range(lines):
        second += dice.randint(0, 2)
        clock = f"{second // 3600:02d}:{second // 60 % 60:02d}:{second % 60:02d}"
        text.append(f"2026-11-28 {clock} {dice.choice(LOG_LINES)}\n")
    return "".join(text)


def demo_tasks(seed: int = 1) -> Iterator[DemoTask]:
    """Tasks without end: every one of the list in each round, in changing order."""
    dice = random.Random(seed)
    while True:
        yield from dice.sample(TASKS, len(TASKS))
