"""A follower as the engine runs it, for tests that watch the board."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime

from tests.engine.transcript_kit import Tree

from workers_tui.engine.board import Board, Key, Topic
from workers_tui.engine.clock import SystemClock
from workers_tui.engine.events import Events
from workers_tui.engine.jobs.job import Job, JobKind, JobState, Sent
from workers_tui.engine.jobs.jobs import Jobs
from workers_tui.engine.money import Cost, CostSource, from_usd
from workers_tui.engine.store.store import Store
from workers_tui.engine.transcripts.follow_transcripts import FollowOptions, TranscriptFollower
from workers_tui.engine.transcripts.savings_view import SavingsView
from workers_tui.engine.usage import Usage
from workers_tui.home.places import Home

SAVINGS = Key(Topic.SAVINGS)


class Following:
    """A follower with what the engine gives it."""

    def __init__(self, home: Home, store: Store, environ: dict[str, str], *trees: Tree) -> None:
        self.board = Board()
        clock = SystemClock()
        self.events = Events(self.board, clock)
        self.jobs = Jobs(store, self.board, clock, "engine", home.results)
        told = {"CLAUDE_WORKERS_ROOT": str(home.state / "none"), **environ}
        options = FollowOptions(home, told, [tree.root for tree in trees])
        self.follower = TranscriptFollower(options, store, self.board, self.events, clock)
        self.task = asyncio.create_task(self.follower.run())

    @property
    def view(self) -> SavingsView:
        view: SavingsView = self.board.get(SAVINGS)
        return view

    async def until(self, true: Callable[[SavingsView], bool]) -> SavingsView:
        """Wait for the board to show it."""
        watcher = self.board.watch()
        try:
            async with asyncio.timeout(20):
                while self.board.get(SAVINGS) is None or not true(self.view):
                    await watcher.changed()
        finally:
            watcher.close()
        return self.view

    async def ready(self) -> SavingsView:
        waiting = asyncio.create_task(self.follower.ready.wait())
        await asyncio.wait({waiting, self.task}, return_when=asyncio.FIRST_COMPLETED)
        if self.task.done():
            self.task.result()
        return self.view

    async def close(self) -> None:
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)


def messages(view: SavingsView) -> int:
    """How many of Claude's messages are counted."""
    return view.all_time.manager.sums.messages


def done_job() -> Job:
    """A finished call that some tool use asked for."""
    return Job(
        id="",
        kind=JobKind.CALL,
        state=JobState.DONE,
        task="sum up",
        created_at=datetime.now(UTC),
        tool_use_id="toolu_1",
        usage=Usage(input=10_000, output=500),
        cost=Cost(from_usd("0.001"), CostSource.REPORTED),
        attempts=1,
        bytes_out=40_000,
        sent=(Sent("a.log", 1, 100, 36_000, ""),),
    )
