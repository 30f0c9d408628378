"""A small engine that books calls until it is killed, for tests that look at what remains.

`victim.py HOME STEP SEED CALLS` tells on standard output what it was promised
(`sent CALL`, `settled CALL PICO`, `text JOB LENGTH`, `ended JOB STATE`) and
kills itself with SIGKILL at the named step of a call picked by the seed;
`none` leaves the killing to others.
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
import sys
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, NoReturn

from workers_tui.engine.board import Board
from workers_tui.engine.clock import SystemClock
from workers_tui.engine.jobs.job import Job, JobKind, JobState
from workers_tui.engine.jobs.jobs import Jobs
from workers_tui.engine.jobs.results import WRITE_EVERY, ResultFile
from workers_tui.engine.money import Cost, CostSource, from_usd
from workers_tui.engine.recovery import recover
from workers_tui.engine.spending import holds, ledger_rows, usage_log
from workers_tui.engine.spending.budget import Ask, Budget, BudgetRules
from workers_tui.engine.spending.ledger import Entry, Ledger
from workers_tui.engine.spending.schema import STORE_MIGRATIONS
from workers_tui.engine.store.engine_lock import EngineLock
from workers_tui.engine.store.store import Store
from workers_tui.engine.usage import Usage
from workers_tui.home.files import prepare
from workers_tui.home.places import Home

STEPS = (
    "created",
    "in-reserve",
    "reserved",
    "generation",
    "streaming",
    "text-kept",
    "in-settle",
    "settled-unprojected",
    "torn-projection",
    "settled",
    "ended",
)
CAP = "50"
HOLD = from_usd("0.01")


def say(*words: object) -> None:
    os.write(1, (" ".join(str(word) for word in words) + "\n").encode())


def die() -> NoReturn:
    os.kill(os.getpid(), signal.SIGKILL)
    raise SystemExit


class Victim:
    """Runs calls; dies at a step."""

    def __init__(self, home: Home, step: str, seed: int, calls: int) -> None:
        self.home = home
        self.step = step
        self.random = random.Random(seed)
        self.calls = calls
        self.fatal = self.random.randrange(calls) if step in STEPS else -1
        self.number = -1
        self.clock = SystemClock()

    def at(self, step: str) -> None:
        if step == self.step and self.number == self.fatal:
            die()

    async def run(self) -> None:
        prepare(self.home)
        lock = EngineLock.take(self.home.engines)
        store = await Store.open(self.home.store_db, STORE_MIGRATIONS)
        board = Board()
        ledger = Ledger(store, self.clock, self.home.usage_jsonl)
        rules = BudgetRules(from_usd(CAP), "strict", "UTC", from_usd("0.05"))
        budget = Budget(store, board, self.clock, lambda: rules, ledger, engine_id=lock.id)
        jobs = Jobs(store, board, self.clock, lock.id, self.home.results)
        await ledger.load()
        await jobs.load()
        await recover(self.home, store, jobs, budget, self.clock)
        self.set_traps()
        say("ready", lock.id)
        for number in range(self.calls):
            self.number = number
            await self.call(jobs, budget)
        await budget.close()
        await jobs.close()
        await store.close()
        lock.release()
        say("bye")

    async def call(self, jobs: Jobs, budget: Budget) -> None:
        text = "x" * self.random.randint(1, 5000)
        cost = self.random.randint(0, HOLD)
        job = await jobs.create(
            Job("", JobKind.CALL, JobState.QUEUED, f"task {self.number}", self.clock.now())
        )
        self.at("created")
        call = f"{job.id}-1"
        hold = await budget.reserve(
            Ask(call, job.id, JobKind.CALL, "openrouter", "m/one", HOLD, HOLD)
        )
        say("sent", call)
        self.at("reserved")
        job = await jobs.change(job.id, state=JobState.RUNNING, tier="fast")
        await budget.note_generation(hold, f"gen-{call}")
        self.at("generation")
        assert job.result_path is not None
        file = ResultFile.open(job.result_path)
        file.append(text)
        self.at("streaming")
        if self.step == "text-kept" and self.number == self.fatal:
            await asyncio.sleep(2 * WRITE_EVERY)
            say("text", job.id, len(text))
            die()
        await budget.settle(hold, self.entry(hold.call, job, cost))
        say("settled", call, cost)
        self.at("settled")
        await file.close()
        say("text", job.id, len(text))
        await jobs.change(
            job.id, state=JobState.DONE, cost=Cost(cost, CostSource.REPORTED), usage=Usage(10, 5)
        )
        say("ended", job.id, "done")
        self.at("ended")

    def entry(self, call: str, job: Job, cost: int) -> Entry:
        return Entry(
            call, job.id, JobKind.CALL, job.tier, "m/one", "openrouter", Usage(10, 5),
            Cost(cost, CostSource.REPORTED), 12, job.task, "ok", at=self.clock.now(),
        )  # fmt: skip

    def set_traps(self) -> None:
        """Die inside transactions and in the middle of a line of usage.jsonl."""
        self.trap(holds, "add", lambda: self.at("in-reserve"))
        self.trap(ledger_rows, "add", lambda: self.at("in-settle"))
        line = usage_log.line

        def torn(row: Any) -> bytes:
            # Lines are written beside the calls: by now, `number` may be that of the next one.
            if row.entry.task != f"task {self.fatal}":
                return line(row)
            if self.step == "settled-unprojected":
                die()
            if self.step == "torn-projection":
                text = line(row)
                with self.home.usage_jsonl.open("ab") as file:
                    file.write(text[: self.random.randrange(1, len(text))])
                die()
            return line(row)

        usage_log.line = torn

    def trap(self, module: Any, name: str, spring: Callable[[], None]) -> None:
        """Run `spring` after the function has done its work."""
        inner = getattr(module, name)

        @wraps(inner)
        def trapped(*args: Any, **kwargs: Any) -> Any:
            outcome = inner(*args, **kwargs)
            spring()
            return outcome

        setattr(module, name, trapped)


if __name__ == "__main__":
    place = Path(sys.argv[1])
    asyncio.run(Victim(Home(place, place), sys.argv[2], int(sys.argv[3]), int(sys.argv[4])).run())
