"""Row 11: how long a finished call takes to be durable, alone and with four processes at once.

    python benchmarks/durable.py [--processes 4] [--calls 500] [--runs 7]

Timed is `Budget.settle`: ledger row, sums and the end of the hold on the disk;
the line in usage.jsonl is written behind it. Afterwards every call is looked for in the store
and in the file. The peer, in the same place: append to a file and fsync it.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from workers_tui.engine.board import Board
from workers_tui.engine.clock import SystemClock
from workers_tui.engine.jobs.job import JobKind
from workers_tui.engine.money import Cost, CostSource, from_usd
from workers_tui.engine.spending.budget import Ask, Budget, BudgetRules
from workers_tui.engine.spending.ledger import Entry, Ledger
from workers_tui.engine.spending.schema import STORE_MIGRATIONS
from workers_tui.engine.store.store import Store
from workers_tui.engine.usage import Usage
from workers_tui.home.files import prepare
from workers_tui.home.places import Home

ALONE_LIMIT = 5e-3
CROWD_LIMIT = 25e-3
PRICE = from_usd("0.001")
RULES = BudgetRules(from_usd("100"), "strict", "UTC", from_usd("0.05"))


def main() -> None:
    """Run alone and crowded, count what is there, print it beside the limits."""
    options = _options()
    if options.worker:
        print(json.dumps(asyncio.run(_work(options.worker, options.name, options.calls))))
        return
    alone95: list[float] = []
    crowd99: list[float] = []
    fsync95: list[float] = []
    tried = held = lost = 0
    for _ in range(options.runs):
        with tempfile.TemporaryDirectory(dir=options.place) as directory:
            home = _home(Path(directory))
            fsync95.append(_percentile(_fsyncs(Path(directory) / "peer"), 95))
            alone95.append(_percentile(_crowd(home, 1, options.calls), 95))
            crowd99.append(_percentile(_crowd(home, options.processes, options.calls), 99))
            expected = (options.processes + 1) * options.calls
            rows, holds, lines = asyncio.run(_count(home))
            tried, held = tried + expected, held + holds
            lost += 2 * expected - rows - lines
    alone, crowd = statistics.median(alone95), statistics.median(crowd99)
    print(f"{'tried':>8}{'held':>8}{'lost':>8}")
    print(f"{tried:>8}{held:>8}{lost:>8}")
    print(f"append + fsync, alone     p95 {statistics.median(fsync95) * 1e3:7.2f} ms   (peer)")
    print(f"settle, alone             p95 {alone * 1e3:7.2f} ms   <= 5 ms")
    print(f"settle, {options.processes} processes       p99 {crowd * 1e3:7.2f} ms   <= 25 ms")
    good = not held and not lost and alone <= ALONE_LIMIT and crowd <= CROWD_LIMIT
    print("reached" if good else "NOT reached")
    raise SystemExit(not good)


def _crowd(home: Home, processes: int, calls: int) -> list[float]:
    """The settle times of several processes that work at the same time."""
    started = [
        subprocess.Popen(
            [sys.executable, __file__, "--worker", str(home.state), "--name",
             f"{processes}-{number}", "--calls", str(calls)],
            stdout=subprocess.PIPE,
        )
        for number in range(processes)
    ]  # fmt: skip
    times: list[float] = []
    for process in started:
        output, _ = process.communicate()
        times += json.loads(output)
    return times


async def _work(place: Path, name: str, calls: int) -> list[float]:
    home = Home(config=place, state=place)
    store = await Store.open(home.store_db, STORE_MIGRATIONS)
    ledger = Ledger(store, SystemClock(), home.usage_jsonl)
    budget = Budget(store, Board(), SystemClock(), lambda: RULES, ledger, engine_id=name)
    times = []
    for number in range(calls):
        ask = Ask(f"{name}-{number}", name, JobKind.CALL, "p", "m", PRICE, PRICE)
        hold = await budget.reserve(ask)
        start = time.perf_counter()
        await budget.settle(hold, _entry(ask))
        times.append(time.perf_counter() - start)
    await budget.close()
    await ledger.written()
    await store.close()
    return times


def _entry(ask: Ask) -> Entry:
    return Entry(
        call=ask.call,
        job=ask.job,
        kind=ask.kind,
        tier="fast",
        model=ask.model,
        provider=ask.provider,
        usage=Usage(1000, 100),
        cost=Cost(PRICE // 2, CostSource.REPORTED),
        ms=900,
        task="summarise the module and list its public names",
        status="ok",
        at=SystemClock().now(),
    )


async def _count(home: Home) -> tuple[int, int, int]:
    """Rows of distinct calls, holds that are left, distinct calls in usage.jsonl."""
    store = await Store.open(home.store_db, STORE_MIGRATIONS)
    rows, holds = await store.read(
        lambda conn: conn.execute(
            "SELECT (SELECT count(DISTINCT call) FROM ledger), (SELECT count(*) FROM holds)"
        ).fetchone()
    )
    await store.close()
    with home.usage_jsonl.open("rb") as file:
        calls = {json.loads(line)["call"] for line in file}
    return rows, holds, len(calls)


def _home(place: Path) -> Home:
    home = Home(config=place, state=place)
    prepare(home)
    return home


def _fsyncs(path: Path) -> list[float]:
    times = []
    with path.open("ab", buffering=0) as file:
        for _ in range(200):
            start = time.perf_counter()
            file.write(b"x" * 400)
            os.fsync(file.fileno())
            times.append(time.perf_counter() - start)
    return times


def _percentile(times: list[float], percent: int) -> float:
    return sorted(times)[min(len(times) - 1, len(times) * percent // 100)]


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--processes", type=int, default=4)
    parser.add_argument("--calls", type=int, default=500)
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--place", type=Path, help="where to work; the default temporary place")
    parser.add_argument("--worker", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--name", default="", help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    main()
