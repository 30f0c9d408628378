"""Row 12: how long a hook keeps Claude Code waiting, as it is registered, beside Python and Node.

    python benchmarks/hook_start.py [--runs 15]

The program is laid out as pipx installs it. Each event is run as `connect` registers it
(`python -I -S run.py EVENT`), as the plugin does (`sh bin/workers-tui hook EVENT`) and by the
console script, with a home after months of work. All take turns; the ratios are medians of pairs.
Targets: at most 2 x Python's start (`python -c pass`), at most half of Node's (`node -e 0`).
"""

from __future__ import annotations

import argparse
import compileall
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import venv
from dataclasses import dataclass
from pathlib import Path

import workers_tui
from workers_tui.home.gate import Gate, GateTier, write_gate
from workers_tui.home.notices import Notices, write_notices
from workers_tui.home.places import Home

PACKAGE = Path(workers_tui.__file__).parent
SESSION = "0a1b2c3d-1111-2222-3333-444455556666"
ENTRY = "#!{python}\nimport sys\nfrom workers_tui.__main__ import main\nsys.exit(main())\n"
PYTHON_TIMES = 2.0
NODE_PART = 0.5


@dataclass(frozen=True, slots=True)
class Timed:
    """One command of a round."""

    name: str
    command: list[str]
    given: bytes = b""
    judged: bool = False
    """A form that Claude Code is given: the targets are for it."""


def install(place: Path) -> tuple[Path, Path]:
    """An environment with the program in it; its Python and its `run.py`."""
    venv.create(place, symlinks=True)
    python = place / "bin" / "python"
    (packages,) = place.glob("lib/python3*/site-packages")
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(PACKAGE, packages / "workers_tui", ignore=ignored)
    compileall.compile_dir(packages, quiet=1)
    program = place / "bin" / "workers-tui"
    program.write_text(ENTRY.format(python=python))
    program.chmod(0o755)
    return python, packages / "workers_tui" / "hooks" / "run.py"


def furnish(place: Path) -> dict[str, str]:
    """Four tiers, a hundred sessions, 250 KB of Claude Code's own state."""
    state, claude, project = place / "workers", place / "claude", place / "project"
    for directory in (state, claude, project):
        directory.mkdir()
    uses = ("summaries, extraction, boilerplate", "code, tests, diffs", "reviews", "large files")
    tiers = tuple(GateTier(f"tier{number}", use) for number, use in enumerate(uses))
    home = Home(state, state)
    write_gate(home, Gate(tiers=tiers, workers=("zai", "kimi"), resets_at=time.time() + 9_000))
    line = "workers, this session: workers did 41 % of the work, net +$1.20 to +$3.40"
    sessions = {f"{number:08x}-aaaa-bbbb-cccc-ddddeeeeffff": line for number in range(99)}
    write_notices(home, Notices(line, sessions | {SESSION: line}))
    projects = {
        f"/home/dev/project{number}": {"history": ["x" * 400] * 5, "mcpServers": {}}
        for number in range(120)
    }
    own = {"projects": projects, "mcpServers": {"workers": {"command": "workers-tui"}}}
    (claude / ".claude.json").write_text(json.dumps(own, indent=2))
    (project / "small.py").write_text("x = 1\n")
    (project / "big.log").write_text("line\n" * 20_000)
    return {
        "PATH": os.defpath,
        "HOME": str(place),
        "WORKERS_HOME": str(state),
        "CLAUDE_CONFIG_DIR": str(claude),
        "CLAUDE_PROJECT_DIR": str(project),
    }


def given(project: str, tool: str = "Read", **asked: str) -> bytes:
    """A hook's input as Claude Code writes it."""
    value = {
        "session_id": SESSION,
        "transcript_path": f"{project}/{SESSION}.jsonl",
        "cwd": project,
        "permission_mode": "default",
        "hook_event_name": "PreToolUse",
        "tool_name": tool,
        "tool_input": asked,
        "tool_response": "a line of the worker's answer\n" * 200,
    }
    return json.dumps(value, separators=(",", ":")).encode()


def commands(place: Path, environ: dict[str, str]) -> list[Timed]:
    """What is timed: the peers, every event as registered, and the other two forms."""
    python, script = install(place / "venv")
    environ["PATH"] = f"{python.parent}:{environ['PATH']}"
    project = environ["CLAUDE_PROJECT_DIR"]
    denied = given(project, file_path=f"{project}/big.log")
    events = {
        "large-read, small file": ("large-read", given(project, file_path=f"{project}/small.py")),
        "large-read, denied": ("large-read", denied),
        "large-read, cat denied": ("large-read", given(project, "Bash", command="cat big.log")),
        "session-start": ("session-start", given(project)),
        "after-dispatch": ("after-dispatch", given(project, "mcp__workers__delegate")),
    }
    rows = [Timed("python -c pass", [str(python), "-c", "pass"])]
    if node := shutil.which("node"):
        rows.append(Timed("node -e 0", [node, "-e", "0"]))
    registered = [str(python), "-I", "-S", str(script)]
    rows += [
        Timed(name, [*registered, event], raw, judged=True) for name, (event, raw) in events.items()
    ]
    plugin = ["sh", str(PACKAGE / "plugin" / "bin" / "workers-tui"), "hook"]
    rows.append(Timed("plugin: denied", [*plugin, "large-read"], denied, judged=True))
    console = [str(python.with_name("workers-tui")), "hook"]
    rows.append(Timed("console script: denied", [*console, "large-read"], denied))
    return rows


def milliseconds(timed: Timed, environ: dict[str, str]) -> float:
    """One run, from start to end."""
    started = time.perf_counter()
    done = subprocess.run(
        timed.command, input=timed.given, capture_output=True, env=environ, check=True
    )
    taken = (time.perf_counter() - started) * 1000
    assert not done.stderr, done.stderr
    assert bool(done.stdout) == (timed.given != b"" and "small" not in timed.name), timed.name
    return taken


def main() -> int:
    """Print all figures; 1 when a registered form misses a target."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--runs", type=int, default=15)
    runs = options.parse_args().runs
    with tempfile.TemporaryDirectory() as folder:
        environ = furnish(Path(folder))
        rows = commands(Path(folder), environ)
        for row in rows:
            milliseconds(row, environ)
        rounds = [{row.name: milliseconds(row, environ) for row in rows} for _ in range(runs)]
    print(f"{'command':<24}{'median ms':>10}{'x python':>10}{'x node':>8}")
    return max([report(row, rounds) for row in rows])


def report(row: Timed, rounds: list[dict[str, float]]) -> int:
    """One line of the table; 1 when a target is missed."""
    median = statistics.median(one[row.name] for one in rounds)
    python = statistics.median(one[row.name] / one["python -c pass"] for one in rounds)
    with_node = "node -e 0" in rounds[0]
    node = statistics.median(one[row.name] / one["node -e 0"] for one in rounds) if with_node else 0
    missed = row.judged and (python > PYTHON_TIMES or node > NODE_PART)
    print(f"{row.name:<24}{median:>10.1f}{python:>10.2f}{node:>8.2f}{'  MISSED' * missed}")
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
