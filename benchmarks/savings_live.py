"""Appends lines to a tree that the follower watches, and measures when the board shows them."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
import uuid
from collections.abc import Callable
from pathlib import Path

from workers_tui.engine.board import Board, Key, Topic
from workers_tui.engine.clock import SystemClock
from workers_tui.engine.events import Events
from workers_tui.engine.spending.schema import STORE_MIGRATIONS
from workers_tui.engine.store.store import Store
from workers_tui.engine.transcripts.follow_transcripts import FollowOptions, TranscriptFollower
from workers_tui.engine.transcripts.savings_view import SavingsView
from workers_tui.engine.transcripts.transcript_bell import SURELY
from workers_tui.home.files import prepare
from workers_tui.home.places import Home

PROJECT = "-home-dev-live"
MARK = 10**6
"""Input tokens of a line whose way is measured; all others have fewer."""
GROWER = """
import sys, time
from benchmarks.savings_live import line
end = time.perf_counter() + float(sys.argv[2])
begun, written = time.perf_counter(), 0
with open(sys.argv[1], "ab") as file:
    while time.perf_counter() < end:
        written += file.write(line(9000))
        file.flush()
        time.sleep(max(0, written / 1e6 - (time.perf_counter() - begun)))
"""


def line(size: int = 300, tokens: int = 10) -> bytes:
    """An assistant line of about this size, of now."""
    name = uuid.uuid4().hex
    now = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime())
    return (
        f'{{"parentUuid":null,"isSidechain":false,"cwd":"/home/dev/live","sessionId":"live",'
        f'"message":{{"model":"claude-opus-4-8","id":"msg_{name}","type":"message",'
        f'"role":"assistant","content":[{{"type":"text","text":"{"x" * size}"}}],'
        f'"stop_reason":"end_turn","usage":{{"input_tokens":{tokens},"output_tokens":5,'
        f'"cache_creation_input_tokens":1,"cache_read_input_tokens":1}}}},'
        f'"requestId":"req_{name}","type":"assistant","uuid":"{name}","timestamp":"{now}"}}\n'
    ).encode()


class Live:
    """The follower, and the board it writes on."""

    def __init__(self, tree: Path, board: Board) -> None:
        self.board = board
        self.path = tree / "projects" / PROJECT / "live.jsonl"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.touch()

    def marks(self) -> int:
        """How many of the marked lines are in the totals."""
        view: SavingsView = self.board.get(Key(Topic.SAVINGS))
        return view.today.manager.sums.input // MARK

    async def way(self) -> float:
        """Milliseconds from an appended line to new totals."""
        watcher, before = self.board.watch(), self.marks()
        begun = time.perf_counter()
        with self.path.open("ab") as file:
            file.write(line(tokens=MARK))
        async with asyncio.timeout(10):
            while self.marks() == before:
                await watcher.changed()
        watcher.close()
        return (time.perf_counter() - begun) * 1000

    async def ways(self, count: int, pause: float) -> str:
        """Percentiles over some lines."""
        taken = []
        for number in range(count):
            taken.append(await self.way())
            await asyncio.sleep(pause * (1 + number % 7 / 7))
        taken.sort()
        return f"p50 {taken[count // 2]:6.1f} ms  p95 {taken[int(count * 0.95)]:6.1f} ms"


async def share(seconds: float) -> float:
    """Percent of a core that this process takes."""
    cpu, wall = time.process_time(), time.perf_counter()
    await asyncio.sleep(seconds)
    return 100 * (time.process_time() - cpu) / (time.perf_counter() - wall)


async def measure_live(tree: Path, place: Path) -> None:
    """Print the figures of row 5 and the memory of a program that has indexed the tree."""
    home, board, clock = Home(place, place), Board(), SystemClock()
    prepare(home)
    store = await Store.open(home.store_db, STORE_MIGRATIONS)
    live = Live(tree, board)
    options = FollowOptions(home, {"CLAUDE_WORKERS_ROOT": str(place / "none")}, [tree])
    follower = TranscriptFollower(options, store, board, Events(board, clock), clock)
    task = asyncio.create_task(follower.run())
    try:
        await follower.ready.wait()
        await _measure(live, lambda text: print(f" append  {text}"))
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await store.close()


async def _measure(live: Live, tell: Callable[[str], None]) -> None:
    await asyncio.sleep(max(SURELY) + 1)  # the looks that follow a start are over
    tell(f"idle                {await share(20):5.2f} % of a core            <= 0.5 %")
    await live.way()
    tell(f"quiet               {await live.ways(100, 0.15)}  p95 <= 20 ms")
    grown = live.path.with_name("grown.jsonl")
    grower = subprocess.Popen(  # noqa: ASYNC220 - it starts in an instant
        [sys.executable, "-c", GROWER, str(grown), "25"]
    )
    await asyncio.sleep(1)
    tell(f"while 1 MB/s grows  {await share(8):5.2f} % of a core            <= 5 %")
    tell(f"while 1 MB/s grows  {await live.ways(80, 0.07)}  p95 <= 100 ms")
    grower.wait()
