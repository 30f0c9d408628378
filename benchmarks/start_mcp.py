"""Row 12: start of `mcp` and `--version`, and of `hook` by the console script.

Hooks as they are registered are the subject of `hook_start.py`.

    python benchmarks/start_mcp.py [--runs 15]

`mcp` is timed from the start of the process to its answers to `initialize` and
`tools/list`, with nobody serving and with a server there. The peer of `mcp` is
what it would be on the SDK: the time to import its server.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

MODULE = [sys.executable, "-m", "workers_tui"]
PROGRAM = [str(Path(sys.executable).with_name("workers-tui"))]
HELLO = (
    json.dumps(
        {
            "jsonrpc": "2.0",
            "id": 0,
            "method": "initialize",
            "params": {
                "protocolVersion": "2025-11-25",
                "capabilities": {},
                "clientInfo": {"name": "benchmark", "version": "1"},
            },
        }
    )
    + "\n"
    + json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
    + "\n"
).encode()
HOOK = json.dumps(
    {
        "session_id": "s",
        "hook_event_name": "PreToolUse",
        "cwd": "/tmp",  # noqa: S108 - a value in a message, nothing is opened there
        "tool_name": "Read",
        "tool_input": {"file_path": "/no/such/file"},
    }
).encode()

MCP_LIMIT = 100.0
VERSION_LIMIT = 60.0


def main() -> None:
    """Print each figure with its limit; exit 1 when one is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=15)
    runs = parser.parse_args().runs
    with tempfile.TemporaryDirectory() as place:
        environ = {"PATH": os.defpath, "HOME": place, "WORKERS_HOME": place}
        ok = measure(runs, environ)
    sys.exit(not ok)


def measure(runs: int, environ: dict[str, str]) -> bool:
    """All figures, measured side by side: a round of each, `runs` times."""
    node = shutil.which("node")
    kinds: dict[str, Callable[[], float]] = {
        "python": lambda: whole([sys.executable, "-c", "pass"], environ),
        "mcp, nobody serves": lambda: answers(environ),
        "hook, console script": lambda: whole([*PROGRAM, "hook", "large-read"], environ, HOOK),
        "--version": lambda: whole([*PROGRAM, "--version"], environ),
    }
    if node:
        kinds["node"] = lambda: whole([node, "-e", ""], environ)
    figures = rounds(kinds, runs)
    served = with_server(runs, environ)
    figures["mcp, a server is there"] = served
    sdk = rounds({"sdk": lambda: whole([sys.executable, "-c", "import mcp.server"], environ)}, 3)
    python, hook = figures["python"], figures["hook, console script"]
    half_node = figures.get("node", float("inf")) / 2
    rows = [
        ("mcp, nobody serves", figures["mcp, nobody serves"], MCP_LIMIT, f"SDK {sdk['sdk']:.0f}"),
        ("mcp, a server is there", served, MCP_LIMIT, f"SDK {sdk['sdk']:.0f}"),
        (
            "hook, console script",
            hook,
            min(2 * python, half_node),
            f"python {python:.0f}, half of node",
        ),
        ("--version", figures["--version"], VERSION_LIMIT, f"python {python:.0f}"),
    ]
    for name, figure, limit, peer in rows:
        verdict = "ok" if figure <= limit else "MISSED"
        print(f"{name:24} {figure:6.1f} ms   limit {limit:6.1f}   peer: {peer} ms   {verdict}")
    return all(figure <= limit for _, figure, limit, _ in rows)


def rounds(kinds: dict[str, Callable[[], float]], runs: int) -> dict[str, float]:
    """Medians in milliseconds; the kinds take turns, so that a busy moment hits all."""
    times: dict[str, list[float]] = {name: [] for name in kinds}
    for _ in range(runs):
        for name, timed in kinds.items():
            times[name].append(timed())
    return {name: statistics.median(values) * 1000 for name, values in times.items()}


def whole(command: list[str], environ: dict[str, str], stdin: bytes = b"") -> float:
    """Seconds of a process from start to end."""
    start = time.perf_counter()
    subprocess.run(command, input=stdin, capture_output=True, check=True, env=environ)
    return time.perf_counter() - start


def answers(environ: dict[str, str]) -> float:
    """Seconds until a forwarder has answered `initialize` and `tools/list`."""
    start = time.perf_counter()
    process = subprocess.Popen(
        [*PROGRAM, "mcp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environ
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(HELLO)
    process.stdin.flush()
    process.stdout.readline()
    process.stdout.readline()
    took = time.perf_counter() - start
    process.communicate()
    return took


def with_server(runs: int, environ: dict[str, str]) -> float:
    """The same while `serve` runs."""
    server = subprocess.Popen(
        [*MODULE, "serve", "--port", "0"], stdout=subprocess.PIPE, env=environ
    )
    assert server.stdout is not None
    try:
        server.stdout.readline()
        return rounds({"mcp": lambda: answers(environ)}, runs)["mcp"]
    finally:
        server.terminate()
        server.communicate()


if __name__ == "__main__":
    main()
