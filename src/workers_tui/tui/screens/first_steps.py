"""The first run in three short steps: a key, the tiers tried, Claude Code connected.

Each step says how it stands and which key does it. Skippable; not shown again.
The first run's leave by themselves once a client hands over a job.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime
from typing import TYPE_CHECKING

from textual import work
from textual.app import ComposeResult

from workers_tui.engine.board import Key, Topic
from workers_tui.engine.errors import WorkersError
from workers_tui.engine.jobs.job import CallRequest, Origin
from workers_tui.home.connection_plan import Unusable
from workers_tui.tui import connecting, local_server, words
from workers_tui.tui.deeds import asks, does
from workers_tui.tui.keymap import bindings
from workers_tui.tui.panes import steps
from workers_tui.tui.panes.frame import Frame
from workers_tui.tui.panes.prose import Prose
from workers_tui.tui.panes.steps import Tried
from workers_tui.tui.screens.face import CLIENT
from workers_tui.tui.screens.moves import Moves
from workers_tui.tui.screens.settings_verbs import TEST_TASK, TEST_TOKENS, SettingsVerbs

if TYPE_CHECKING:
    from workers_tui.engine.board import ServerView
    from workers_tui.engine.calls.tiers import TierView
    from workers_tui.engine.checks.local_servers import LocalServer
    from workers_tui.engine.jobs.job import Job

Find = Callable[[], Awaitable[Sequence["LocalServer"]]]


async def find_here() -> Sequence[LocalServer]:
    """The model servers on this machine's usual ports."""
    # Loaded with the engine, long before.
    from workers_tui.engine.checks.local_servers import find_local_servers

    return await find_local_servers()


class FirstSteps(SettingsVerbs, Moves):
    """Three steps on one screen."""

    BINDINGS = bindings("type_key", "add_server", "try_tiers", "connect", "undo", "back")

    def __init__(self, find: Find = find_here, *, first_run: bool = False) -> None:
        super().__init__()
        self._find = find
        self._first_run = first_run
        self._tried: dict[str, Tried] = {}
        self._trying = ""
        """The tier that is asked now."""
        self._opened_at: datetime | None = None
        self._found: list[LocalServer] = []
        self._planned: list[str] = []
        """What connecting would change, while it is asked about."""

    def body(self) -> ComposeResult:
        """One text."""
        yield Frame("First steps", Prose(id="steps"), id="full", corners=("top", "top"))

    def opened(self) -> None:
        """Seen once is enough."""
        self._opened_at = self.now
        self.dashboard.memory.remember(first_steps_shown=True)
        self.query_one(Prose).focus()
        self._look_around()

    def tier(self) -> TierView | None:
        """None: this screen is about all of them."""
        return None

    def hidden_hints(self) -> AbstractSet[str]:
        """Nothing to add where no server was found."""
        return frozenset() if self._offered() else frozenset({"add_server"})

    def show(self, keys: AbstractSet[Key]) -> None:
        """Steps are ticked off as things change."""
        self.show_spend(keys)
        topics = {key.topic for key in keys}
        if topics & {Topic.PROVIDER, Topic.SERVER, Topic.TIER}:
            self._lay_out()
            self.update_hints()
        if self._first_run and Topic.JOB in topics and self._handed_over():
            self.dismiss(None)

    def _handed_over(self) -> bool:
        """Whether somebody else's job came meanwhile; what is typed or asked here goes first."""
        board, since = self.board, self._opened_at
        if board is None or since is None or self.busy:
            return False
        names = board.names(Topic.JOB)
        jobs: list[Job | None] = [board.get(Key(Topic.JOB, name)) for name in names]
        return any(job and job.client != CLIENT and job.created_at >= since for job in jobs)

    def _lay_out(self) -> None:
        ready, names, clients = self._ready(), self._names(), self._clients()
        offered = [one.told for one in self._offered()]
        rows = [
            *steps.key(ready, offered),
            *steps.tiers(names, self._tried, self._trying),
            *steps.client(clients, self._planned),
        ]
        for text in self.query(Prose):  # none while the screen is taken down
            text.say(rows)
        done = ready and steps.all_work(names, self._tried) and clients
        leaves = " shows the dashboard" if done else " skips"
        for frame in self.query(Frame):
            frame.tell("three, then it runs by itself", note=[("esc", "key"), leaves])

    def _ready(self) -> list[str]:
        """Providers that there is a key for."""
        board = self.board
        names = board.names(Topic.PROVIDER) if board else []
        views = [board.get(Key(Topic.PROVIDER, name)) for name in names] if board else []
        return [view.name for view in views if view.has_key]

    def _names(self) -> list[str]:
        return self.board.names(Topic.TIER) if self.board else []

    def _clients(self) -> int:
        server: ServerView | None = self.board.get(Key(Topic.SERVER)) if self.board else None
        return server.clients if server is not None else 0

    @work(group="look", exclusive=True)
    async def _look_around(self) -> None:
        self._found = list(await self._find())
        self._lay_out()
        self.update_hints()

    def _offered(self) -> list[LocalServer]:
        """Servers found that the settings do not know."""
        if self.engine is None:
            return []
        providers = self.engine.config.settings.providers.values()
        return local_server.not_yet(self._found, [one.base_url or "" for one in providers])

    @does
    async def action_add_server(self) -> None:
        """Write the first server found into models.json."""
        engine, offered = self.engine, self._offered()
        if engine is None or not offered:
            self.say("No local model server was found that is not in models.json.")
            return
        made = await self.attempt(local_server.add(engine.config, offered[0]))
        if made is None:
            return
        tier, take_back = made
        self.dashboard.undo.push(f"{offered[0].title} is out of models.json", take_back)
        self.say(f"Tier {tier} asks {offered[0].models[0]}. u undoes it.")
        self._lay_out()
        self.update_hints()

    @asks
    async def action_connect(self) -> None:
        """Show what registering changes, ask, and do it."""
        if self.engine is None or self.dashboard.demo:
            self.say("The demo connects nothing: start workers-tui without --demo.")
            return
        folder, environ = self.dashboard.folder, self.engine.environ
        try:
            planned = await asyncio.to_thread(connecting.plan, folder, environ)
            self._planned = connecting.in_words(planned)
            if not planned.needed:
                self.say("It is registered already. Start a new Claude Code session.")
                return
            self._lay_out()
            if await self.ask("change these files?"):
                await asyncio.to_thread(connecting.carry_out, planned, self.dashboard.home, environ)
                self.say("Done: start a new Claude Code session to use it.")
        except Unusable as error:
            self.say(str(error))
        finally:
            self._planned = []
            self._lay_out()

    @asks
    async def action_type_key(self) -> None:
        """Type a key; it is not shown."""
        # Loaded with the engine, long before a key is typed.
        from workers_tui.engine.settings.keys import save_key
        from workers_tui.engine.settings.providers import DEFAULT

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
        try:
            for name in self._names():
                self._trying = name
                self._lay_out()
                self._tried[name] = await self._try(name)
        finally:
            self._trying = ""
            self._lay_out()

    async def _try(self, tier: str) -> Tried:
        engine = self.engine
        if engine is None:
            return Tried(worked=False, said="the engine is gone")
        request = CallRequest(task=TEST_TASK, tier=tier, max_tokens=TEST_TOKENS)
        try:
            job = await engine.delegate(request, Origin(roots=(), client=CLIENT))
            ended = await engine.ended(job.id)
        except WorkersError as error:
            return Tried(worked=False, said=str(error))
        if ended.error:
            return Tried(worked=False, said=ended.error)
        return Tried(worked=True, said=f"{words.took(ended.ms or 0)}, {words.cost(ended.cost)}")
