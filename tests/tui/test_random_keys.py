"""Whatever is typed, clicked and resized, and however late answers come: the dashboard goes on.

`WORKERS_SEEDS=100:200` tries other seeds than the few that always run.
"""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from tests.tui.conftest import Desk, Open
from tests.tui.fakes import FakeEngine, fill, make_job, make_savings
from textual import events
from textual.errors import NoWidget

from workers_tui.engine.board import Key, Topic
from workers_tui.engine.errors import StoreUnusable, WrongUse
from workers_tui.engine.jobs.job import Job, JobState
from workers_tui.home.places import Home
from workers_tui.tui import pager
from workers_tui.tui.app import DashboardApp
from workers_tui.tui.keymap import DEEDS, MOVES

ROUNDS = 120
SIZES = [(124, 34), (80, 24), (60, 15), (200, 60), (40, 10), (20, 5), (1, 1)]
KEYS = sorted(
    {key for deed in (*DEEDS.values(), *MOVES.values()) for key in deed.keys.split(",")}
    | {"enter", "backspace", "left", "right", "shift+tab", "ctrl+home", "ctrl+end", *"yn07./ 3"}
)
PASTED = ["", "words", "two\nlines", "~who/x", "0.50", "\x1b[31mred", "x" * 300]
LATE = ["text", "job", "list_jobs", "ended", "cancel", "rerun", "delegate"]


def seeds() -> range:
    """Those asked for, or a few."""
    first, _, last = os.environ.get("WORKERS_SEEDS", "0:3").partition(":")
    return range(int(first), int(last))


class Chaos:
    """A user, an engine and a terminal at their worst, the same for the same seed."""

    def __init__(self, d: Desk, seed: int) -> None:
        self.d = d
        self.random = random.Random(seed)
        self.typed: list[str] = []

    async def round(self) -> None:
        """Some keys, something that happens, and a moment."""
        for _ in range(self.random.choice([1, 1, 1, 2, 3, 6])):
            self._type(self.random.choice(KEYS))
        happens = self.random.choice(
            [self._job_moves, self._text_comes, self._job_comes, self._board_moves, self._click,
             self._resize, self._paste, *[self._nothing] * 5]
        )  # fmt: skip
        await happens()
        for _ in range(self.random.choice([0, 0, 1, 3, 10, 40])):
            await asyncio.sleep(0)

    def _type(self, key: str) -> None:
        self.typed.append(key)
        self.d.app.post_message(events.Key(key, key if len(key) == 1 else None))

    async def _nothing(self) -> None:
        """Quiet."""

    async def _paste(self) -> None:
        self.d.app.post_message(events.Paste(self.random.choice(PASTED)))

    async def _click(self) -> None:
        width, height = self.d.app.size
        at = (self.random.randrange(max(1, width)), self.random.randrange(max(1, height)))
        with suppress(NoWidget):  # a screen that has just opened is nowhere yet
            await self.d.pilot.click(offset=at, times=self.random.choice([1, 1, 2]))

    async def _resize(self) -> None:
        small = (self.random.randint(1, 60), self.random.randint(1, 20))
        await self.d.pilot.resize_terminal(*self.random.choice([*SIZES, small, small]))

    def _any_job(self) -> str:
        return self.random.choice(self.d.engine.board.names(Topic.JOB))

    async def _job_moves(self) -> None:
        job: Job = self.d.engine.board.get(Key(Topic.JOB, self._any_job()))
        state = self.random.choice(list(JobState))
        if state is JobState.WAITING:
            return
        ends: dict[str, Any] = {}
        if state.ended:
            ends = {"ended_at": self.d.engine.clock.now(), "ms": 100}
        self.d.engine.put(replace(job, state=state, waiting_for=None, question=None, **ends))

    async def _text_comes(self) -> None:
        self.d.engine.add_text(self._any_job(), "more\n" * self.random.randint(1, 50))

    async def _job_comes(self) -> None:
        self.d.engine.put(make_job(f"z{self.random.randrange(99)}", JobState.QUEUED))

    async def _board_moves(self) -> None:
        self.d.engine.put_spend(cap=self.random.choice([None, "0", "3", "1000"]))
        self.d.engine.put_server(clients=self.random.randrange(3))
        self.d.engine.board.put(Key(Topic.SAVINGS), make_savings())


def late(
    work: Callable[..., Awaitable[Any]], chance: random.Random
) -> Callable[..., Awaitable[Any]]:
    """The same, but late, and refused now and then."""

    async def answer(*arguments: Any, **named: Any) -> Any:
        for _ in range(chance.choice([0, 0, 1, 5, 20, 60])):
            await asyncio.sleep(0)
        if chance.random() < 0.1:
            raise chance.choice([WrongUse, StoreUnusable])("refused: do something else")
        return await work(*arguments, **named)

    return answer


@pytest.fixture
def slow(
    engine: FakeEngine, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> FakeEngine:
    """The engine, whose answers come late; nothing is saved or shown outside."""
    monkeypatch.chdir(tmp_path_factory.mktemp("saved"))
    chance = random.Random(0)
    parts: dict[Any, list[str]] = {
        engine: LATE, engine.ledger: ["totals"], engine.agents: ["followup"],
        engine.prices: ["refresh"], engine.config: ["set_cap", "set_tier", "edit"],
    }  # fmt: skip
    for part, names in parts.items():
        for name in names:
            monkeypatch.setattr(part, name, late(getattr(part, name), chance))
    providers = SimpleNamespace(names=lambda: ["openrouter"], show=lambda: None)
    monkeypatch.setattr(engine, "providers", providers, raising=False)

    async def shown(*_: object) -> str:
        return ""

    monkeypatch.setattr(pager, "show", shown)
    return engine


@pytest.mark.parametrize("seed", seeds())
async def test_nothing_that_is_typed_or_comes_late_ends_the_dashboard(
    desk: Open, slow: FakeEngine, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    async with desk(size=SIZES[seed % len(SIZES)]) as d:
        await rage(Chaos(d, seed), monkeypatch)


@pytest.mark.parametrize("seed", seeds())
async def test_nothing_that_is_typed_while_it_starts_ends_the_dashboard(
    home: Home, slow: FakeEngine, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    fill(slow)
    starts = 0

    async def start() -> FakeEngine:
        nonlocal starts
        starts += 1
        await asyncio.sleep(0.1)
        if starts % 2:
            raise StoreUnusable("the store is locked")
        return slow

    app = DashboardApp(home, start, folder=home.state)  # type: ignore[arg-type]
    async with app.run_test(size=SIZES[seed % len(SIZES)]) as pilot:
        await rage(Chaos(Desk(app, slow, pilot), seed), monkeypatch)


async def rage(chaos: Chaos, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let it do its worst, then leave in the middle of it."""
    app = chaos.d.app
    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(app, "depart", lambda _: None)
        meanwhile.setattr(app, "action_suspend", lambda: None)
        for _ in range(ROUNDS):
            await chaos.round()
            assert app.is_running, f"ended after {chaos.typed[-20:]}"
    app.depart("the test is over")
    await chaos.d.until(lambda: not app.is_running)
