"""Runs victims and checks what they were promised against what the store holds."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import sys
from collections import Counter
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path

from tests.engine.money_kit import HeldClock, Rules, open_money

from workers_tui.engine.jobs.job import JobState
from workers_tui.engine.jobs.results import read_result
from workers_tui.engine.money import PER_USD
from workers_tui.engine.recovery import recover
from workers_tui.engine.store.engine_lock import EngineLock
from workers_tui.home.files import prepare
from workers_tui.home.places import Home

VICTIM = Path(__file__).with_name("victim.py")


@dataclass
class Promises:
    """What victims said before they died."""

    sent: set[str] = field(default_factory=set)
    settled: dict[str, int] = field(default_factory=dict)
    texts: dict[str, int] = field(default_factory=dict)
    ended: set[str] = field(default_factory=set)
    kills: int = 0

    def hear(self, output: bytes) -> None:
        """Take in what one victim said."""
        for line in output.decode().splitlines():
            match line.split():
                case ["sent", call]:
                    self.sent.add(call)
                case ["settled", call, pico]:
                    self.settled[call] = int(pico)
                case ["text", job, length]:
                    self.texts[job] = int(length)
                case ["ended", job, _state]:
                    self.ended.add(job)
                case _:
                    pass


@dataclass
class Found:
    """What the store holds after recovery."""

    tried: int
    held: int
    lost: list[str]


async def start_victim(home: Home, step: str, seed: int, calls: int) -> asyncio.subprocess.Process:
    """A victim on its way."""
    return await asyncio.create_subprocess_exec(
        sys.executable, str(VICTIM), str(home.state), step, str(seed), str(calls),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip


async def run_victim(home: Home, step: str, seed: int, calls: int, promises: Promises) -> int:
    """Run one victim to its end; return its exit code."""
    process = await start_victim(home, step, seed, calls)
    output, errors = await process.communicate()
    promises.hear(output)
    assert process.returncode in {0, -9}, errors.decode()
    promises.kills += process.returncode == -9
    return process.returncode


async def examine(home: Home, promises: Promises) -> Found:
    """Recover as the next engine would, then look for everything that was promised."""
    prepare(home)
    lock = EngineLock.take(home.engines)
    async with open_money(home, engine=lock.id, rules=Rules(cap="50")) as money:
        await recover(home, money.store, money.jobs, money.budget, HeldClock())
        rows = await money.store.read(_rows)
        held = await money.store.read(_held)
        live = await money.jobs.find(state=[s for s in JobState if not s.ended], limit=10_000)
        states = {job.id: job.state for job in await money.jobs.find(limit=100_000)}
        sums = (await money.ledger.totals())[""].cost_pico
    lock.release()
    booked = Counter(call for call, _cost, _status in rows)
    costs = {call: (cost, status) for call, cost, status in rows}
    lost = [f"{call} was sent and is not booked" for call in promises.sent - set(booked)]
    lost += [f"{call} is booked {n} times" for call, n in booked.items() if n != 1]
    lost += [
        f"{call} was settled at {pico}, is {costs.get(call)}"
        for call, pico in promises.settled.items()
        if costs.get(call) != (pico, "ok")
    ]
    lost += [f"text of {job}" for job in _short_texts(home, promises)]
    lost += [f"{job} ended, is {states.get(job)}" for job in promises.ended
             if states.get(job) is not JobState.DONE]  # fmt: skip
    lost += [f"{job.id} is still {job.state}" for job in live]
    if sums != sum(cost for _call, cost, _status in rows):
        lost.append("the sums are not the sum of the rows")
    lost += _against_file(home, rows)
    return Found(len(promises.sent), held, lost)


def _rows(conn: sqlite3.Connection) -> list[tuple[str, int, str]]:
    return conn.execute("SELECT call, cost, status FROM ledger ORDER BY number").fetchall()


def _held(conn: sqlite3.Connection) -> int:
    (count,) = conn.execute("SELECT count(*) FROM holds").fetchone()
    return int(count)


def _short_texts(home: Home, promises: Promises) -> list[str]:
    return [
        job
        for job, length in promises.texts.items()
        if len(read_result(home.results / f"{job}.txt")) != length
    ]


def _against_file(home: Home, rows: list[tuple[str, int, str]]) -> list[str]:
    lines = [json.loads(line, parse_float=Decimal) for line in home.usage_jsonl.open("rb")]
    shown = [(line["call"], round(Decimal(line["cost"]) * PER_USD)) for line in lines]
    if shown == [(call, cost) for call, cost, _status in rows]:
        return []
    return ["usage.jsonl does not hold the rows in their order"]
