"""How the program itself does, in a few words: for the header and the window's title."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from workers_tui.engine.board import Key, ServerView, Topic
from workers_tui.engine.jobs.job import Job
from workers_tui.tui import marks, words
from workers_tui.tui.panes.header import Pulse

if TYPE_CHECKING:
    from workers_tui.engine.engine import Engine
    from workers_tui.engine.spending.spend import Spend


def pulse_of(engine: Engine | None, active: Sequence[Job], awaited: str) -> Pulse:
    """What the header says; `awaited` while something is still starting."""
    running = sum(map(marks.runs, active))
    asking = sum(map(marks.asks, active))
    server: ServerView | None = engine.board.get(Key(Topic.SERVER)) if engine else None
    if engine is None or server is None or (server.url is None and not server.message):
        return Pulse(awaited, running=running, asking=asking)
    where = _address(server.url) if server.url else server.message
    paused = "paused" if engine.queue.paused else ""
    return Pulse(where, server.url is not None, server.clients, paused, running, asking)


def window_title(engine: Engine | None, running: int) -> str:
    """`workers · 2 running · $1.07`."""
    spend: Spend | None = engine.board.get(Key(Topic.SPEND)) if engine else None
    said = ["workers"]
    if running:
        said.append(f"{running} running")
    if spend is not None:
        said.append(words.money(spend.spent_pico))
    return " · ".join(said)


def _address(url: str) -> str:
    return url.partition("://")[2].partition("/")[0]
