"""kill -9 at every step, at random moments, with others at work: nothing that was paid is lost.

    make torture

ends with a table, one line per kind of run: `tried` requests that left, `held` holds that
nobody let go, `lost` requests, texts or states that were promised and are gone.
The seeds are fixed; WORKERS_TORTURE_SEED starts others, WORKERS_TORTURE_RUNS
sets how many there are of each kind.
"""

from __future__ import annotations

import asyncio
import os
import random
from pathlib import Path

import pytest
from tests.engine.aftermath import Promises, examine, run_victim, start_victim
from tests.engine.victim import STEPS
from tests.torture.table import report

from workers_tui.home.files import prepare
from workers_tui.home.places import Home

pytestmark = pytest.mark.torture

SEED = int(os.environ.get("WORKERS_TORTURE_SEED", "1"))
RUNS = int(os.environ.get("WORKERS_TORTURE_RUNS", "20"))


def new_home(tmp_path: Path) -> Home:
    home = Home(config=tmp_path / "home", state=tmp_path / "home")
    prepare(home)
    return home


@pytest.mark.parametrize("step", STEPS)
async def test_kills_at_each_step(tmp_path: Path, step: str) -> None:
    """One home lives through all of them: what one leaves, the next must bear."""
    home, promises = new_home(tmp_path), Promises()
    for run in range(RUNS):
        await run_victim(home, step, SEED * 1000 + run, 3, promises)
    assert promises.kills == RUNS
    report(step, promises.kills, await examine(home, promises))


async def test_kills_at_random_moments_while_others_work(tmp_path: Path) -> None:
    home, promises = new_home(tmp_path), Promises()
    dice = random.Random(SEED)

    async def one(seed: int, delay: float) -> None:
        process = await start_victim(home, "none", seed, 1000)
        assert process.stdout is not None
        await process.stdout.readline()
        reader = asyncio.ensure_future(process.stdout.read())
        await asyncio.sleep(delay)
        if process.returncode is None:
            process.kill()
            promises.kills += 1
        promises.hear(await reader)
        await process.wait()

    for run in range(RUNS):
        delays = [dice.uniform(0.01, 1.0) for _ in range(3)]
        await asyncio.gather(*(one(SEED + run * 3 + n, delay) for n, delay in enumerate(delays)))
    found = await examine(home, promises)
    assert found.tried > RUNS
    report("random, three at once", promises.kills, found)


async def test_four_processes_of_five_hundred_calls(tmp_path: Path) -> None:
    home, promises = new_home(tmp_path), Promises()
    codes = await asyncio.gather(
        *(run_victim(home, "none", SEED + n, 500, promises) for n in range(4))
    )
    assert codes == [0, 0, 0, 0]
    assert len(promises.settled) == 2000
    report("4 processes x 500 calls", promises.kills, await examine(home, promises))
