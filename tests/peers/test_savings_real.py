"""The savings of a real Claude Code session, live: its own counts are the truth."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.peers.claude import over_http
from tests.peers.stage import ARCHITECT, Begin, Stage, beginning, staged

from workers_tui.engine.board import Board, Key, Topic
from workers_tui.engine.engine import Engine
from workers_tui.engine.transcripts.follow_transcripts import FollowOptions, TranscriptFollower
from workers_tui.engine.transcripts.savings_view import SavingsView
from workers_tui.home.notices import read_notices
from workers_tui.home.places import Home
from workers_tui.simulator.simulator import Simulator

pytestmark = [pytest.mark.peers, pytest.mark.timeout(300)]


@pytest.fixture
async def begin(tmp_path: Path) -> AsyncIterator[Begin]:
    async with Simulator(ARCHITECT) as architect, beginning(tmp_path, architect) as start:
        yield start


@pytest.fixture
async def shop(home: Home) -> AsyncIterator[Stage]:
    async with staged(home) as stage:
        yield stage


def follower_of(engine: Engine, config: Path) -> TranscriptFollower:
    environ = {"CLAUDE_WORKERS_ROOT": str(config / "no-workers")}
    options = FollowOptions(engine.home, environ, [config])
    return TranscriptFollower(options, engine.store, engine.board, engine.events, engine.clock)


async def shown(board: Board, session: str) -> SavingsView:
    """The view once it has joined the session and its last message."""
    watcher = board.watch()
    async with asyncio.timeout(30):
        while True:
            view: SavingsView | None = board.get(Key(Topic.SAVINGS))
            if view and view.session_id == session and view.all_time.manager.sums.messages > 1:
                watcher.close()
                return view
            await watcher.changed()


async def noted(home: Home, session: str) -> None:
    """Wait for the line for the hooks: a living follower writes it after the figures show."""
    async with asyncio.timeout(10):
        while session not in read_notices(home).sessions:  # noqa: ASYNC110 - a file
            await asyncio.sleep(0.05)


async def test_a_living_session_is_counted_as_it_counts_itself(
    shop: Stage, begin: Begin, tmp_path: Path
) -> None:
    async with shop.open() as (engine, host):
        assert host.url is not None
        follower = follower_of(engine, tmp_path / "claude-config")
        following = asyncio.create_task(follower.run())
        await follower.ready.wait()
        claude = await begin(over_http(shop.home, host.url))
        result = await claude.say("BIG")
        view = await shown(engine.board, claude.session)
        await noted(shop.home, claude.session)
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)
    sums = view.all_time.manager.sums
    told = list(result["modelUsage"].values())
    assert sums.input == sum(one["inputTokens"] for one in told)
    assert sums.output == sum(one["outputTokens"] for one in told)
    assert sums.creation == sum(one["cacheCreationInputTokens"] for one in told)
    assert sums.read == sum(one["cacheReadInputTokens"] for one in told)
    assert view.sessions == 1
    assert view.kept_out_tokens > 10_000
