"""Row 13: the dashboard's memory after a day's work, and that it stays flat under load.

A store with 10,000 ended jobs and, with --transcripts, an index of a transcript
tree are there before the start. While calls stream, others come and go that
send long files along, and the memory is watched.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sqlite3
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

from benchmarks import bytecode
from benchmarks.key_to_paint import (
    BINARY,
    connected,
    start_jobs,
    start_simulator,
    write_settings,
)
from tests.walk.terminal import PtyProgram

JOBS = 10_000
TARGET_MIB = 120
FLAT_MIB = 8
STREAMS, BATCH = 20, 10
LONG_FILE = 300_000
"""Bytes of the file that each of the calls sends that come and go."""
BATCHES = (120, 80)
"""Batches of such calls until what is remembered of them is full, and from then on."""
INDEXED = 240
"""Seconds within which a gigabyte of transcripts is read."""


async def fill_store(home: Path) -> None:
    """Ten thousand ended jobs of the last days."""
    from workers_tui.engine.engine import Engine, EngineOptions
    from workers_tui.engine.jobs.job import Job, JobKind, JobState
    from workers_tui.home.places import find_home

    engine = await Engine.start(EngineOptions(home=find_home(flat=home), environ={}))
    now = datetime.now(UTC)
    for number in range(JOBS):
        at = now - timedelta(seconds=9 * (JOBS - number))
        job = Job(
            "", JobKind.CALL, JobState.QUEUED, f"task {number}: summarise the log", at, tier="fast"
        )
        made = await engine.jobs.create(job)
        await engine.jobs.change(made.id, state=JobState.RUNNING, started_at=at)
        await engine.jobs.change(made.id, state=JobState.DONE, ended_at=at, ms=4_000)
    await engine.close()


def main() -> int:
    """Print the figures; 1 when a target is missed."""
    bytecode.kept()
    options = argparse.ArgumentParser()
    options.add_argument("--transcripts", type=Path, help="a CLAUDE_CONFIG_DIR to index first")
    options.add_argument("--seconds", type=int, default=60)
    options.add_argument("--client", type=int, help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.client:
        asyncio.run(_delegate(given.client))
        return 0
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        write_settings(home, STREAMS + BATCH)
        (home / "project").mkdir()
        (home / "project" / "long.log").write_text("a line of a log\n" * (LONG_FILE // 16))
        asyncio.run(fill_store(home))
        simulator, url = start_simulator(home, 50)
        environ = dict(os.environ) | {
            "WORKERS_HOME": folder,
            "OPENROUTER_BASE_URL": url,
            "OPENROUTER_API_KEY": "bench",
            "CLAUDE_CONFIG_DIR": str(given.transcripts or home / "claude"),
            "TERM": "xterm-256color",
        }
        command = [str(BINARY), "--port", "0", "--project", str(home / "project")]
        program = PtyProgram(command, environ)
        try:
            program.wait_for(b"127.0.0.1:", 60)
            if given.transcripts:
                _wait_for_index(program, home, given.transcripts)
            _read_for(program, 10)
            idle = program.memory_kib() / 1024
            start_jobs(program, environ, STREAMS)
            _read_for(program, given.seconds / 3)
            early = program.memory_kib() / 1024
            _read_for(program, given.seconds * 2 / 3)
            late = program.memory_kib() / 1024
            peak = program.memory_kib("VmHWM") / 1024
            _come_and_go(program, environ, BATCHES[0])
            few = program.memory_kib() / 1024
            _come_and_go(program, environ, BATCHES[1])
            many = program.memory_kib() / 1024
        finally:
            program.close()
            simulator.terminate()
            simulator.wait()
    print(f"after {JOBS:,} jobs: {idle:.0f} MiB; with streams {early:.0f}, then {late:.0f} MiB")
    print(f"peak {peak:.0f} MiB, target <= {TARGET_MIB}; growth {late - early:.1f} <= {FLAT_MIB}")
    calls = f"{BATCHES[1] * BATCH} calls of {LONG_FILE // 1000} KB, {BATCH} at once"
    print(f"{calls}: {few:.0f}, then {many:.0f} MiB; growth {many - few:.1f} <= {FLAT_MIB}")
    flat = max(late - early, many - few) <= FLAT_MIB
    return 0 if peak <= TARGET_MIB and flat else 1


def _come_and_go(program: PtyProgram, environ: dict[str, str], batches: int) -> None:
    """A client whose calls send a long file and end at once."""
    command = [sys.executable, "-m", "benchmarks.memory", "--client", str(batches)]
    client = subprocess.Popen(command, env=environ, stdout=subprocess.DEVNULL)
    while client.poll() is None:
        program.read(0.2)
    assert client.returncode == 0


async def _delegate(batches: int) -> None:
    """What the client process does."""
    task = "Summarise [[sim: text=short, tokens_per_second=0]]"
    jobs = [{"task": task, "tier": "fast", "files": ["long.log"]}] * BATCH
    async with connected() as client:
        for _ in range(batches):
            told = await client.call_tool("delegate_batch", {"jobs": jobs})
            assert not told.is_error, told


def _wait_for_index(program: PtyProgram, home: Path, tree: Path) -> None:
    """Until every file of the tree is in the index."""
    from workers_tui.home.places import find_home

    wanted = sum(1 for _ in (tree / "projects").rglob("*.jsonl"))
    index, end = find_home(flat=home).index_db, time.perf_counter() + INDEXED
    while _files_in(index) < wanted:
        if time.perf_counter() > end:
            raise SystemExit(f"{_files_in(index)} of {wanted} files were read in {INDEXED} s")
        _read_for(program, 1)


def _files_in(index: Path) -> int:
    try:
        with closing(sqlite3.connect(f"{index.as_uri()}?mode=ro", uri=True)) as conn:
            (count,) = conn.execute("SELECT count(*) FROM file").fetchone()
    except sqlite3.OperationalError:
        return 0  # it, or its tables, are still to be made
    return int(count)


def _read_for(program: PtyProgram, seconds: float) -> None:
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        program.read(0.2)


if __name__ == "__main__":
    sys.exit(main())
