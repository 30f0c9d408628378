"""Row 10: the budget check on ledgers of 1,000 and 1,000,000 settled calls, and the start on both.

    python benchmarks/budget.py [--small 1000] [--large 1000000] [--runs 7] [--keep DIR]

The peer is what tools in this field do: read the whole log at every call.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

from workers_tui.engine.board import Board
from workers_tui.engine.clock import SystemClock
from workers_tui.engine.jobs.job import JobKind
from workers_tui.engine.money import Cost, CostSource, from_usd
from workers_tui.engine.spending import ledger_rows, usage_log
from workers_tui.engine.spending.budget import Ask, Budget, BudgetRules
from workers_tui.engine.spending.ledger import Entry, Ledger
from workers_tui.engine.spending.schema import STORE_MIGRATIONS
from workers_tui.engine.spending.spend import look
from workers_tui.engine.store import facts
from workers_tui.engine.store.store import Store
from workers_tui.engine.usage import Usage
from workers_tui.home.files import prepare
from workers_tui.home.places import Home

CHECK_LIMIT = 200e-6
START_LIMIT = 0.150
RULES = BudgetRules(from_usd("1000000"), "strict", "UTC", from_usd("0.05"))
UTC_ZONE = ZoneInfo("UTC")


@dataclass(frozen=True, slots=True)
class Figures:
    """Medians over the runs, in seconds."""

    check: float
    reserve: float
    start: float
    reread: float


def main() -> None:
    """Measure both sizes and print them beside the limits."""
    options = _options()
    with _place(options.keep) as place:
        sizes = (options.small, options.large)
        homes = {size: _filled(place / str(size), size) for size in sizes}
        runs: dict[int, list[Figures]] = {size: [] for size in sizes}
        for _ in range(options.runs):
            for size in sizes:
                runs[size].append(asyncio.run(_measure(homes[size])))
    small, large = (_median(runs[size]) for size in sizes)
    print(f"{'':34}{sizes[0]:>12,}{sizes[1]:>14,}   limit")
    _row("budget check", small.check, large.check, 1e6, "us", "<= 200 us, within 2x")
    _row("reserve, durable (hold on disk)", small.reserve, large.reserve, 1e6, "us", "")
    _row("start: open, load, first figures", small.start, large.start, 1e3, "ms", "<= 150 ms")
    _row("peer: re-read the log", small.reread, large.reread, 1e3, "ms", "")
    good = (
        max(small.check, large.check) <= CHECK_LIMIT
        and large.check <= 2 * small.check
        and large.start <= START_LIMIT
    )
    print("reached" if good else "NOT reached")
    raise SystemExit(not good)


async def _measure(home: Home) -> Figures:
    start = time.perf_counter()
    store = await Store.open(home.store_db, STORE_MIGRATIONS)
    ledger = Ledger(store, SystemClock(), home.usage_jsonl)
    budget = Budget(store, Board(), SystemClock(), lambda: RULES, ledger, engine_id="bench")
    await ledger.load()
    await budget.refresh()
    started = time.perf_counter() - start
    check = await store.read(_time_checks)
    reserve = await _time_reserves(budget)
    await budget.close()
    await store.close()
    return Figures(check, reserve, started, _time_reread(home.usage_jsonl))


def _time_checks(conn: sqlite3.Connection) -> float:
    """The median time of one look at the day, the cap and the holds."""
    times = []
    for _ in range(300):
        start = time.perf_counter()
        look(conn, datetime.now(UTC), facts.zone_of(conn), RULES)
        times.append(time.perf_counter() - start)
    return statistics.median(times)


async def _time_reserves(budget: Budget) -> float:
    times = []
    for number in range(50):
        ask = Ask(f"bench-{number}", "bench", JobKind.CALL, "p", "m", 1000, 1000)
        start = time.perf_counter()
        hold = await budget.reserve(ask)
        times.append(time.perf_counter() - start)
        await budget.release(hold)
    return statistics.median(times)


def _time_reread(path: Path) -> float:
    """What today's tools do before each call."""
    start = time.perf_counter()
    today = f"{datetime.now(UTC):%Y-%m-%d}"
    spent = 0.0
    with path.open(encoding="utf-8") as file:
        for line in file:
            row = json.loads(line)
            if row["ts"].startswith(today):
                spent += row["cost"] or 0
    return time.perf_counter() - start


def _filled(place: Path, size: int) -> Home:
    """A home with this many settled calls over a year; a third of them today."""
    home = Home(config=place, state=place)
    prepare(home)
    if home.usage_jsonl.exists():
        return home
    asyncio.run(_create(home.store_db))
    conn = sqlite3.connect(home.store_db, isolation_level=None)
    conn.execute("PRAGMA synchronous=OFF")
    conn.execute("BEGIN")
    for entry in _entries(size):
        ledger_rows.add(conn, entry, entry.at.date(), entry.cost.pico or 0, UTC_ZONE)
    conn.execute("COMMIT")
    usage_log.catch_up(conn, home.usage_jsonl)
    conn.close()
    return home


async def _create(path: Path) -> None:
    await (await Store.open(path, STORE_MIGRATIONS)).close()


def _entries(size: int) -> Iterator[Entry]:
    dice = random.Random(1)
    now = datetime.now(UTC)
    for number in range(size):
        days = 0 if number * 3 > size * 2 else 365 - number * 365 * 3 // (size * 2 + 1)
        yield Entry(
            call=f"c{number}",
            job=f"j{number // 2}",
            kind=JobKind.CALL,
            tier=dice.choice(("fast", "code", "reason")),
            model=f"maker/model-{dice.randrange(12)}",
            provider="openrouter",
            usage=Usage(dice.randrange(20_000), dice.randrange(2_000)),
            cost=Cost(dice.randrange(10**9), CostSource.REPORTED),
            ms=900,
            task="summarise the module and list its public names",
            status="ok",
            session=f"session-{number // 500}",
            at=now - timedelta(days=days),
        )


@contextmanager
def _place(keep: Path | None) -> Iterator[Path]:
    if keep is not None:
        keep.mkdir(parents=True, exist_ok=True)
        yield keep
        return
    with tempfile.TemporaryDirectory() as directory:
        yield Path(directory)


def _median(runs: list[Figures]) -> Figures:
    return Figures(
        *(statistics.median(getattr(run, name) for run in runs) for name in Figures.__slots__)
    )


def _row(name: str, small: float, large: float, scale: float, unit: str, limit: str) -> None:
    print(f"{name:34}{small * scale:>9.1f} {unit}{large * scale:>11.1f} {unit}   {limit}")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--small", type=int, default=1000)
    parser.add_argument("--large", type=int, default=1_000_000)
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--keep", type=Path, help="keep the filled homes here for the next run")
    return parser.parse_args()


if __name__ == "__main__":
    main()
