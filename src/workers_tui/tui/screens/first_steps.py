"""The first run in three short steps: a key, the tiers tried, Claude Code connected.

Each step says how it stands and which key does it. Skippable; not shown again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from textual import work
from textual.app import ComposeResult

from workers_tui.engine.board import Key, Topic
from workers_tui.engine.errors import WorkersError
from workers_tui.engine.job import CallRequest, Origin
from workers_tui.tui import safe, words
from workers_tui.tui.keymap import bindings
from workers_tui.tui.lines import Row, row
from workers_tui.tui.panes.frame import Frame
from workers_tui.tui.panes.prose import Prose
from workers_tui.tui.screens.moves import Moves
from workers_tui.tui.screens.settings_verbs import TEST_TASK, TEST_TOKENS

LOCAL = {"Ollama": 11434, "LM Studio": 1234, "llama.cpp": 8080}
"""Model servers that people run, and where they listen."""

LOOK_FOR = 0.3
"""Seconds to wait for a local server."""


@dataclass(frozen=True, slots=True)
class Tried:
    """How a tier's test went."""

    worked: bool
    said: str


class FirstSteps(Moves):
    """Three steps on one screen."""

    BINDINGS = bindings("back", "type_key", "try_tiers")

    def __init__(self) -> None:
        super().__init__()
        self._tried: dict[str, Tried] = {}
        self._found: list[str] = []

    def body(self) -> ComposeResult:
        """One text."""
        yield Frame("First steps", Prose(id="steps"), id="full", corners=("top", "top"))

    def on_mount(self) -> None:
        """Seen once is enough."""
        self.dashboard.memory.remember(first_steps_shown=True)
        self.query_one(Frame).tell("three, then it runs by itself", note=[("esc", "key"), " skips"])
        self.query_one(Prose).focus()
        self._look_around()

    def show(self, keys: AbstractSet[Key]) -> None:
        """Steps are ticked off as things change."""
        self.show_spend(keys)
        topics = {key.topic for key in keys}
        if topics & {Topic.PROVIDER, Topic.SERVER, Topic.TIER}:
            self._lay_out()

    def _lay_out(self) -> None:
        self.query_one(Prose).say(
            [row(), *self._key(), row(), *self._tiers(), row(), *self._client()]
        )

    def _key(self) -> list[Row]:
        board = self.board
        views = (
            [board.get(Key(Topic.PROVIDER, name)) for name in board.names(Topic.PROVIDER)]
            if board
            else []
        )
        ready = [view.name for view in views if view.has_key]
        rows = [_step(1, "A key for a provider", done=bool(ready))]
        if ready:
            rows.append(_line(f"There is one for {', '.join(map(safe.one_line, ready))}."))
        else:
            rows.append(
                row(
                    ("     "),
                    ("k", "key"),
                    (" types one for OpenRouter; it stays in a file that only you can read.", ""),
                )
            )
            rows.append(
                _line("Or in another terminal: workers-tui login, which asks in the browser.")
            )
        if self._found:
            rows.append(
                _line(
                    f"Running here: {', '.join(self._found)}. Add it under `providers` in "
                    "models.json; it costs nothing."
                )
            )
        return rows

    def _tiers(self) -> list[Row]:
        board = self.board
        names = board.names(Topic.TIER) if board else []
        worked = bool(self._tried) and all(tried.worked for tried in self._tried.values())
        rows = [_step(2, "The tiers tried", done=worked)]
        rows.append(
            row(
                "     ",
                ("t", "key"),
                (f" sends one short call to each of {len(names)}; it costs well below a cent.", ""),
            )
        )
        for name, tried in self._tried.items():
            mark, style = ("✓", "good") if tried.worked else ("✗", "warn")
            rows.append(
                row(
                    f"     {safe.fit(safe.one_line(name), 10)}",
                    (f"{mark} ", style),
                    (safe.one_line(tried.said), ""),
                )
            )
        return rows

    def _client(self) -> list[Row]:
        server = self.board.get(Key(Topic.SERVER)) if self.board else None
        clients = server.clients if server is not None else 0
        rows = [_step(3, "Claude Code connected", done=clients > 0)]
        if clients:
            rows.append(
                _line(f"{words.plural(clients, 'client')} connected. Ask it to delegate something.")
            )
        else:
            rows.append(row("     In another terminal: ", ("workers-tui connect", "strong")))
            rows.append(_line("Then start Claude Code there; this line notices."))
        return rows

    @work(group="look", exclusive=True)
    async def _look_around(self) -> None:
        for name, port in LOCAL.items():
            if await _listens(port):
                self._found.append(f"{name} on port {port}")
        if self._found:
            self._lay_out()

    @work(group="verb", exclusive=True)
    async def action_type_key(self) -> None:
        """Type a key; it is not shown."""
        # Loaded with the engine, long before a key is typed.
        from workers_tui.engine.keys import save_key
        from workers_tui.engine.providers import DEFAULT

        key = await self.prompt("OpenRouter key:", hidden=True)
        if not key or self.engine is None:
            return
        try:
            await asyncio.to_thread(save_key, self.engine.home, DEFAULT, key)
        except (WorkersError, OSError) as error:
            self.say(f"Not saved: {error}")
            return
        self.engine.providers.show()
        self.say("Saved.")

    @work(group="try", exclusive=True)
    async def action_try_tiers(self) -> None:
        """One short call to each tier."""
        engine = self.engine
        if engine is None:
            return
        self._tried.clear()
        for name in engine.board.names(Topic.TIER):
            self.say(f"Trying {name}.")
            self._tried[name] = await self._try(name)
            self._lay_out()

    async def _try(self, tier: str) -> Tried:
        engine = self.engine
        if engine is None:
            return Tried(worked=False, said="the engine is gone")
        request = CallRequest(task=TEST_TASK, tier=tier, max_tokens=TEST_TOKENS)
        try:
            job = await engine.delegate(request, Origin(roots=(), client="dashboard"))
            ended = await engine.ended(job.id)
        except WorkersError as error:
            return Tried(worked=False, said=str(error))
        if ended.error:
            return Tried(worked=False, said=ended.error)
        return Tried(
            worked=True, said=f"{words.milliseconds(ended.ms or 0)}, {words.cost(ended.cost)}"
        )


def _step(number: int, title: str, *, done: bool) -> Row:
    mark = ("✓", "good") if done else (str(number), "key")
    return row("  ", mark, "  ", (title, "strong"))


def _line(text: str) -> Row:
    return row(("     " + text, "dim"))


async def _listens(port: int) -> bool:
    try:
        async with asyncio.timeout(LOOK_FOR):
            _, writer = await asyncio.open_connection("127.0.0.1", port)
    except (OSError, TimeoutError):
        return False
    writer.close()
    return True
