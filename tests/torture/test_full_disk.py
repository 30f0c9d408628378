"""A disk that fills up in the middle of the work: one clear line, nothing half done.

Needs a small file system of its own, so it runs as root only.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.engine.aftermath import Found
from tests.engine.money_kit import Rules, ask, entry, job, open_money
from tests.torture.table import report

from workers_tui.engine.errors import StoreUnusable
from workers_tui.engine.jobs.job import JobState
from workers_tui.engine.recovery import recover
from workers_tui.home.files import prepare
from workers_tui.home.places import Home

pytestmark = pytest.mark.torture


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=12m", "tmpfs", str(place)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("only root can mount a small disk here")
    yield place
    subprocess.run(["umount", str(place)], check=True)


async def test_a_disk_that_fills_up_loses_nothing_that_was_told_as_booked(
    small_disk: Path,
) -> None:
    home = Home(config=small_disk, state=small_disk)
    prepare(home)
    ballast = small_disk / "ballast"
    ballast.write_bytes(b"x" * 3_000_000)
    booked, refused = [], ""
    async with open_money(home, rules=Rules(cap=None)) as money:
        for _ in range(10_000):
            try:
                made = await money.jobs.create(job("x" * 500))
                hold = await money.budget.reserve(ask(job=made.id))
                await money.budget.settle(hold, entry(hold, "0.001"))
                booked.append(hold.call)
                await money.jobs.change(made.id, state=JobState.RUNNING)
            except StoreUnusable as error:
                refused = str(error)
                break
        assert "full" in refused
        assert "\n" not in refused
        totals = (await money.ledger.totals())[""]
        assert totals.calls == len(booked)
    ballast.unlink()
    async with open_money(home, engine="next", rules=Rules(cap=None)) as money:
        assert (await money.ledger.totals())[""].calls == len(booked)
        left = (await money.budget.refresh()).holds  # reserved, but the disk was full to settle
        await recover(home, money.store, money.jobs, money.budget, money.clock)
        hold = await money.budget.reserve(ask())
        await money.budget.settle(hold, entry(hold, "0.001"))
        assert len(await money.lines()) == len(booked) + left + 1
        spend = await money.budget.refresh()
    report("full disk", 0, Found(len(booked), spend.holds, []))
