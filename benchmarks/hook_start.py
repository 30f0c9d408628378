"""How long a hook keeps Claude Code waiting, beside Python's own start and Node's (row 12).

    python benchmarks/hook_start.py

Targets: at most 2 x Python's start (`python -c pass`), at most half of Node's.
"""

from __future__ import annotations

import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from workers_tui import hooks
from workers_tui.home.gate import Gate, GateTier, write_gate
from workers_tui.home.places import Home

RUNS = 21
RUN = Path(hooks.__file__).with_name("run.py")


def _given(project: Path, name: str) -> dict[str, object]:
    return {
        "session_id": "0a1b2c3d-bench",
        "cwd": str(project),
        "tool_name": "Read",
        "tool_input": {"file_path": str(project / name)},
    }


def _commands(project: Path) -> dict[str, tuple[list[str], dict[str, object]]]:
    hook = [sys.executable, "-I", "-S", str(RUN)]
    commands: dict[str, tuple[list[str], dict[str, object]]] = {
        "python -c pass": ([sys.executable, "-c", "pass"], {}),
        "large-read, small file": ([*hook, "large-read"], _given(project, "small.py")),
        "large-read, denied": ([*hook, "large-read"], _given(project, "big.log")),
        "session-start": ([*hook, "session-start"], _given(project, "small.py")),
        "after-dispatch": ([*hook, "after-dispatch"], _given(project, "small.py")),
    }
    program = Path(sys.executable).with_name("workers-tui")
    if program.exists():
        commands["workers-tui hook, small"] = (
            [str(program), "hook", "large-read"], _given(project, "small.py"),
        )  # fmt: skip
    if node := shutil.which("node"):
        commands["node -e 0"] = ([node, "-e", "0"], {})
    return commands


def main() -> None:
    """Run all commands in turns and print their medians."""
    with tempfile.TemporaryDirectory() as place:
        project, state = Path(place) / "project", Path(place) / "workers"
        project.mkdir()
        state.mkdir()
        (project / "small.py").write_text("x = 1\n")
        (project / "big.log").write_text("line\n" * 20_000)
        (project / ".mcp.json").write_text('{"mcpServers": {"workers": {}}}')
        write_gate(Home(state, state), Gate(tiers=(GateTier("fast"),)))
        environ = {"WORKERS_HOME": str(state), "HOME": place, "CLAUDE_PROJECT_DIR": str(project)}
        commands = _commands(project)
        times: dict[str, list[float]] = {name: [] for name in commands}
        for _ in range(RUNS):
            for name, (command, given) in commands.items():
                raw = json.dumps(given).encode()
                started = time.perf_counter()
                subprocess.run(command, input=raw, capture_output=True, env=environ, check=True)
                times[name].append((time.perf_counter() - started) * 1000)
    base = statistics.median(times["python -c pass"])
    print(f"{'command':<26}{'median ms':>10}{'x python':>10}")
    for name, taken in times.items():
        median = statistics.median(taken)
        print(f"{name:<26}{median:>10.1f}{median / base:>10.2f}")


if __name__ == "__main__":
    main()
