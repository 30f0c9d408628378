"""The first run in three short steps: a key, the tiers tried, Claude Code connected.

Each step says how it stands and which key does it. Skippable; not shown again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual import work
from textual.app import ComposeResult

from workers_tui.engine.board import Key, Topic
from workers_tui.engine.errors import WorkersError
from workers_tui.engine.jobs.job import CallRequest, Origin
from workers_tui.home.connection_plan import Unusable
from workers_tui.tui import connecting, local_server, safe, words
from workers_tui.tui.key_queue import asks
from workers_tui.tui.keymap import bindings
from workers_tui.tui.lines import Row, row
from workers_tui.tui.panes.frame import Frame
from workers_tui.tui.panes.prose import Prose
from workers_tui.tui.screens.moves import Moves
from workers_tui.tui.screens.settings_verbs import TEST_TASK, TEST_TOKENS, SettingsVerbs

if TYPE_CHECKING:
    from workers_tui.engine.calls.tiers import TierView
    from workers_tui.engine.checks.local_servers import LocalServer

Find = Callable[[], Awaitable[Sequence["LocalServer"]]]


async def find_here() -> Sequence[LocalServer]:
    """The model servers on this machine's usual ports."""
    # Loaded with the engine, long before.
    from workers_tui.engine.checks.local_servers import find_local_servers

    return await find_local_servers()


@dataclass(frozen=True, slots=True)
class Tried:
    """How a tier's test went."""

    worked: bool
    said: str


class FirstSteps(SettingsVerbs, Moves):
    """Three steps on one screen."""

    BINDINGS = bindings("type_key", "add_server", "try_tiers", "connect", "undo", "back")

    def __init__(self, find: Find = find_here) -> None:
        super().__init__()
        self._find = find
        self._tried: dict[str, Tried] = {}
        self._found: list[LocalServer] = []
        self._planned: list[str] = []
        """What connecting would change, while it is asked about."""

    def body(self) -> ComposeResult:
        """One text."""
        yield Frame("First steps", Prose(id="steps"), id="full", corners=("top", "top"))

    def opened(self) -> None:
        """Seen once is enough."""
        self.dashboard.memory.remember(first_steps_shown=True)
        self.query_one(Frame).tell("three, then it runs by itself", note=[("esc", "key"), " skips"])
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

    def _lay_out(self) -> None:
        rows = [row(), *self._key(), row(), *self._tiers(), row(), *self._client()]
        for text in self.query(Prose):  # none while the screen is taken down
            text.say(rows)

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
        rows += [_line(f"Found here: {safe.one_line(one.told)}.") for one in self._offered()]
        if self._offered():
            rows.append(
                row("     ", ("l", "key"), (" adds it as a tier; it costs nothing. ", ""), _UNDO)
            )
        return rows

    def _tiers(self) -> list[Row]:
        board = self.board
        names = board.names(Topic.TIER) if board else []
        worked = bool(names) and all(
            name in self._tried and self._tried[name].worked for name in names
        )
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
            connected = words.plural(clients, "client")
            rows.append(_line(f"{connected} connected. Ask Claude to delegate something."))
        else:
            rows.append(
                row("     ", ("m", "key"), (" registers with it; shows first what it changes.", ""))
            )
            rows.append(_line("Or in another terminal: workers-tui connect."))
            rows.append(_line("Then start Claude Code anew; this line notices."))
        rows += [row("       ", (safe.one_line(line), "")) for line in self._planned]
        return rows

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

    @work(group="verb", exclusive=True)
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

    @asks("connect", exclusive=True)
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
                self.say("It is registered already. Start Claude Code anew.")
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

    @asks("verb", exclusive=True)
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
        return Tried(worked=True, said=f"{words.took(ended.ms or 0)}, {words.cost(ended.cost)}")


def _step(number: int, title: str, *, done: bool) -> Row:
    mark = ("✓", "good") if done else (str(number), "key")
    return row("  ", mark, "  ", (title, "strong"))


_UNDO = ("u undoes it.", "dim")


def _line(text: str) -> Row:
    return row(("     " + text, "dim"))
