"""kill -9 of whole engines, as the provider sees it: what it received is in our books.

The provider here keeps its own list of requests and of the words it streamed.
After the kills the next engine must know every one of these requests, hold
nothing, and have the words in the result file.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import sqlite3
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from tests.engine.aftermath import Found
from tests.torture.table import report
from tests.torture.test_kills import RUNS, SEED

from workers_tui.engine.engine import Engine, EngineOptions
from workers_tui.engine.jobs.results import WRITE_EVERY, read_result
from workers_tui.home.files import prepare
from workers_tui.home.places import Home

pytestmark = pytest.mark.torture

VICTIM = Path(__file__).with_name("engine_victim.py")
MODEL = "maker/model"
SETTINGS = {
    "tiers": {"fast": {"model": MODEL}},
    "prices": {MODEL: {"input": 0.1, "output": 0.2}},
    "daily_budget_usd": 50,
    "concurrency": 4,
    "default_max_tokens": 400,
}
WORD_EVERY = 0.01
SLACK = WRITE_EVERY + 0.5
"""A loaded machine takes its time between the socket and the file."""


@dataclass
class Provider:
    """Streams slowly and remembers everything."""

    requests: Counter[str] = field(default_factory=Counter)
    """How often each task arrived."""
    words: dict[str, list[float]] = field(default_factory=dict)
    """When each word of a task's newest answer left."""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection."""
        try:
            while head := await _head(reader):
                length = int(re.search(rb"content-length: (\d+)", head.lower())[1])  # type: ignore[index]
                body = await reader.readexactly(length)
                await self.answer(json.loads(body), writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # the victim is dead
        finally:
            writer.close()

    async def answer(self, body: dict[str, object], writer: asyncio.StreamWriter) -> None:
        task = re.search(r"t\d+-\d+", json.dumps(body["messages"]))
        assert task is not None
        name = task[0]
        self.requests[name] += 1
        words = self.words[name] = []
        writer.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
            b"X-Generation-Id: gen-" + name.encode() + b"\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
        for number in range(30):
            delta = {"index": 0, "delta": {"content": f"w{number} "}, "finish_reason": None}
            await _event(writer, {"model": MODEL, "choices": [delta]})
            words.append(time.monotonic())
            await asyncio.sleep(WORD_EVERY)
        end = {"index": 0, "delta": {}, "finish_reason": "stop"}
        await _event(writer, {"model": MODEL, "choices": [end]})
        usage = {"prompt_tokens": 50, "completion_tokens": 30, "cost": 0.00001}
        await _event(writer, {"model": MODEL, "choices": [], "usage": usage})
        writer.write(_chunk(b"data: [DONE]\n\n") + b"0\r\n\r\n")
        await writer.drain()


async def _head(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return b""


async def _event(writer: asyncio.StreamWriter, event: dict[str, object]) -> None:
    writer.write(_chunk(b"data: " + json.dumps(event).encode() + b"\n\n"))
    await writer.drain()


def _chunk(data: bytes) -> bytes:
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


@asynccontextmanager
async def running(provider: Provider) -> AsyncIterator[str]:
    """The provider's address."""
    server = await asyncio.start_server(provider.serve, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        yield f"http://127.0.0.1:{port}/api/v1"


@dataclass
class Told:
    """What the victims said."""

    jobs: dict[str, str] = field(default_factory=dict)
    """Job of each task."""
    done: dict[str, int] = field(default_factory=dict)
    """What each answered job cost."""

    def hear(self, output: bytes) -> None:
        for line in output.decode().splitlines():
            match line.split():
                case ["job", job, task]:
                    self.jobs[task] = job
                case ["done", job, pico]:
                    self.done[job] = int(pico)
                case _:
                    pass


async def test_engines_killed_at_random_moments(tmp_path: Path) -> None:
    home = Home(config=tmp_path / "home", state=tmp_path / "home")
    prepare(home)
    home.models_json.write_text(json.dumps(SETTINGS))
    provider, told, dice = Provider(), Told(), random.Random(SEED)
    killed: dict[str, float] = {}
    async with running(provider) as url:
        for run in range(RUNS):
            process = await asyncio.create_subprocess_exec(
                sys.executable, str(VICTIM), str(home.state), url, f"t{run}", "40", stdout=-1,
                env={**os.environ, "NO_PROXY": "*"},
            )  # fmt: skip
            assert process.stdout is not None
            await process.stdout.readline()
            await asyncio.sleep(dice.uniform(0, 1.5))
            process.kill()
            killed[f"t{run}"] = time.monotonic()
            told.hear(await process.stdout.read())
            await process.wait()
        found = await examine(home, url, provider, told, killed)
    report("whole engines", len(killed), found)


async def examine(
    home: Home, url: str, provider: Provider, told: Told, killed: dict[str, float]
) -> Found:
    """Start the next engine and compare its books with the provider's."""
    environ = {"OPENROUTER_API_KEY": "sk-test", "OPENROUTER_BASE_URL": url}
    engine = await Engine.start(EngineOptions(home=home, environ=environ, watch=False))
    jobs = {job.task: job for job in await engine.list_jobs(limit=100_000)}
    rows = await engine.store.read(_calls_per_job)
    holds = await engine.store.read(_holds)
    lost = []
    for task, times in provider.requests.items():
        job = jobs.get(task)
        if job is None or rows[job.id] < times:
            lost.append(f"{task} was sent {times} times, booked {job and rows[job.id]} times")
        elif _missing_words(job.result_path, provider.words[task], killed[task.split("-")[0]]):
            lost.append(f"text of {task}")
    for job_id, pico in told.done.items():
        _usage, cost = await engine.ledger.of_job(job_id)
        if cost is None or cost.pico != pico:
            lost.append(f"{job_id} was told to cost {pico}, is booked as {cost}")
    lost += [f"{job.id} is still {job.state}" for job in jobs.values() if not job.state.ended]
    await engine.close()
    return Found(sum(provider.requests.values()), holds, lost)


def _missing_words(path: Path | None, times: list[float], killed: float) -> bool:
    """True when words that left well before the kill are not in the file."""
    due = sum(at < killed - SLACK for at in times)
    text = "" if path is None else read_result(path)
    return not text.startswith("".join(f"w{number} " for number in range(due)))


def _calls_per_job(conn: sqlite3.Connection) -> Counter[str]:
    return Counter(
        job for (job,) in conn.execute("SELECT job FROM ledger WHERE status<>'correction'")
    )


def _holds(conn: sqlite3.Connection) -> int:
    (count,) = conn.execute("SELECT count(*) FROM holds").fetchone()
    return int(count)
