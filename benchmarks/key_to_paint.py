"""Row 9: from a key to its paint in a real terminal, idle and under streams.

The dashboard, its engine and its server run as a user starts them; the streams
come from a simulator in a process of its own. The key is `p`: its answer is a
sentence in the footer that nothing else writes, so the paint cannot be mistaken.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks import bytecode
from tests.walk.terminal import PtyProgram

if TYPE_CHECKING:
    from mcp import Client

LOADS = {"idle": (0, 0), "20 x 50": (20, 50), "32 x 100": (32, 100)}
TARGETS = {
    "idle": (None, 30.0),
    "20 x 50": (None, 100.0),
    "32 x 100": (60.0, 150.0),
}
ANSWERS = (b"No new call starts", b"Calls start again")
BINARY = Path(sys.executable).with_name("workers-tui")


def measure(jobs: int, chunks: int, keys: int) -> list[float]:
    """Milliseconds for each key, sorted."""
    with tempfile.TemporaryDirectory() as folder:
        simulator, url = start_simulator(Path(folder), chunks)
        environ = dict(os.environ) | {
            "WORKERS_HOME": folder,
            "OPENROUTER_BASE_URL": url,
            "OPENROUTER_API_KEY": "bench",
            "TERM": "xterm-256color",
            "CLAUDE_CONFIG_DIR": f"{folder}/claude",
        }
        write_settings(Path(folder), jobs)
        program = PtyProgram([str(BINARY), "--port", "0"], environ)
        try:
            program.wait_for(b"127.0.0.1:")
            program.drain()
            if jobs:
                start_jobs(program, environ, jobs)
            return sorted(_one_key(program, ANSWERS[index % 2]) for index in range(keys))
        finally:
            program.close()
            simulator.terminate()
            simulator.wait()


def _one_key(program: PtyProgram, answer: bytes) -> float:
    """Milliseconds from the key to the answer on the terminal."""
    while program.read(0.0):
        pass
    start = time.perf_counter()
    program.write(b"p")
    took = program.wait_for(answer, 5.0) * 1_000
    assert time.perf_counter() - start < 6
    end = time.perf_counter() + 0.03
    while time.perf_counter() < end:
        program.read(0.01)
    return took


def start_jobs(program: PtyProgram, environ: dict[str, str], jobs: int) -> None:
    """A client delegates a batch over HTTP; wait until all of it streams."""
    client = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.key_to_paint", "--client", str(jobs)],
        env=environ,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    program.wait_for(f"{jobs} running".encode(), 60)
    end = time.perf_counter() + 3
    while time.perf_counter() < end:
        program.read(0.05)
    assert client.poll() is None


@asynccontextmanager
async def connected() -> AsyncIterator[Client]:
    """A client of the dashboard whose home WORKERS_HOME names."""
    import httpx2
    from mcp import Client
    from mcp.client.streamable_http import streamable_http_client

    home = Path(os.environ["WORKERS_HOME"])
    record = json.loads((home / "server.json").read_text())
    token = (home / "token").read_text().strip()
    http = httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=None)
    async with Client(streamable_http_client(record["url"], http_client=http)) as client:
        yield client


async def _delegate(jobs: int) -> None:
    """What the client process does."""
    batch = [{"task": f"stream {number}", "tier": "fast"} for number in range(jobs)]
    async with connected() as client:
        await client.call_tool("delegate_batch", {"jobs": batch})


def start_simulator(home: Path, chunks: int) -> tuple[subprocess.Popen[str], str]:
    scenario = home / "scenario.json"
    text = "word " * (max(1, chunks) * 300)
    behaviour = {"text": text, "tokens_per_second": max(1, chunks), "chunk_chars": 4}
    scenario.write_text(json.dumps({"default": behaviour}))
    process = subprocess.Popen(
        [str(BINARY), "simulate", "--scenario", str(scenario)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    return process, process.stdout.readline().split()[-1]


def write_settings(home: Path, jobs: int) -> None:
    tier = {"model": "deepseek/deepseek-v4-flash", "max_tokens": 200_000}
    settings = {"tiers": {"fast": tier}, "concurrency": max(1, jobs), "daily_budget_usd": None}
    (home / "models.json").write_text(json.dumps(settings))
    (home / "ui.json").write_text('{"first_steps_shown": true}')


def main() -> int:
    """Print p50, p95 and p99 of each load; 1 when a target is missed."""
    bytecode.kept()
    options = argparse.ArgumentParser()
    options.add_argument("--keys", type=int, default=500)
    options.add_argument("--client", type=int)
    options.add_argument("--load", choices=LOADS)
    given = options.parse_args()
    if given.client:
        import asyncio

        asyncio.run(_delegate(given.client))
        return 0
    missed = False
    for name in [given.load] if given.load else LOADS:
        times = measure(*LOADS[name], given.keys)
        p50, p95, p99 = (times[min(len(times) - 1, int(len(times) * q))] for q in (0.5, 0.95, 0.99))
        most95, most99 = TARGETS[name]
        good = p99 <= (most99 or p99) and p95 <= (most95 or p95)
        missed |= not good
        aim = f"p99 <= {most99:.0f}" + (f", p95 <= {most95:.0f}" if most95 else "")
        verdict = "met" if good else "missed"
        print(f"{name}: p50 {p50:.1f}, p95 {p95:.1f}, p99 {p99:.1f} ms; target {aim}: {verdict}")
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
