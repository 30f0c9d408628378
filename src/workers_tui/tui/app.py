"""The shell of the dashboard: paints at once, loads the rest, starts engine and server, leaves.

What is imported here is what the first picture needs; everything else is loaded
in a thread once it stands. Whatever ends the program, what was started is
stopped and the terminal is as it was.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import sys
import threading
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual import work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.command import Provider
from textual.driver import Driver
from textual.events import Event, Key, Paste

from workers_tui.engine.errors import WorkersError
from workers_tui.home.assets import asset
from workers_tui.home.places import Home
from workers_tui.tui.deeds import asks
from workers_tui.tui.key_queue import KeyQueue, Passed
from workers_tui.tui.keymap import bindings, read_keymap
from workers_tui.tui.memory import Memory
from workers_tui.tui.shell import Shell
from workers_tui.tui.splash import Splash
from workers_tui.tui.undo import Undo

if TYPE_CHECKING:
    from workers_tui.engine.engine import Engine
    from workers_tui.tui.job_table import JobTable
    from workers_tui.tui.observer import Observer
    from workers_tui.tui.ports import OwnTerminal, StartEngine, StartServer, Stoppable

log = logging.getLogger(__name__)

DEFAULT_THEME = "tokyo-night"
HANG_UP_PATIENCE = 8.0
"""Seconds for an orderly end after the terminal is gone."""


NEWS = {"information": "message", "warning": "warn", "error": "bad"}
"""Styles of what is told."""


def palette() -> type[Provider]:
    """Every action by name; loaded when the palette is first opened."""
    from workers_tui.tui.screens.palette import Actions

    return Actions


class DashboardApp(Shell, inherit_bindings=False):
    """One process: these screens, an engine and, where wanted, its server."""

    TITLE = "workers"
    CSS_PATH = str(asset("styles") / "splash.tcss")
    COMMANDS = {palette}  # noqa: RUF012 - Textual's own way
    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings(
            "leave", "help", "palette", "themes", "redraw", "suspend",
            "next_pane", "previous_pane",
        ),
    ]  # fmt: skip

    def __init__(
        self,
        home: Home,
        start_engine: StartEngine,
        start_server: StartServer | None = None,
        *,
        demo: bool = False,
        folder: Path | None = None,
        driver_class: type[Driver] | None = None,
    ) -> None:
        super().__init__(driver_class=driver_class, watch_css=False)
        self.home = home
        self.demo = demo
        self.folder = folder or Path.cwd()
        self.memory = Memory(home)
        self.undo = Undo()
        self.keys = KeyQueue(self, super().on_event)
        self.engine: Engine | None = None
        self.server: Stoppable | None = None
        self.terminal: OwnTerminal | None = None
        self.observer: Observer | None = None
        """Shows the board; there once the first picture stands."""
        self.awaited = "opening the store"
        self.trouble = ""
        """Why the engine could not start."""
        self._start_engine = start_engine
        self._start_server = start_server
        self._leaving = False
        chosen = self.memory.theme
        self.theme = chosen if chosen in self.available_themes else DEFAULT_THEME

    def compose(self) -> ComposeResult:
        """The first picture."""
        yield Splash()

    async def on_event(self, event: Event) -> None:
        """What is typed waits its turn; everything else is Textual's."""
        if isinstance(event, Key | Paste) and not event.is_forwarded:
            await self.keys.take(event)
        elif not (isinstance(event, Key) and await self.keys.comes_back(event)):
            await super().on_event(event)

    async def on_passed(self, event: Passed) -> None:
        """A key has been dealt with."""
        event.stop()
        await self.keys.go_on()

    def on_mount(self) -> None:
        """Everything slow waits until the first picture is painted."""
        self._catch_signals()
        self.call_after_refresh(self._open_up)

    @work(group="start", exit_on_error=True)
    async def _open_up(self) -> None:
        keymap, wrong = read_keymap(self.home)
        self.set_keymap(keymap)
        module = await asyncio.to_thread(import_module, "workers_tui.tui.observer")
        observer: Observer = module.Observer(self)
        self.observer = observer
        await self.push_screen(observer.first_screen())
        for line in wrong:
            self.tell(line, "warning")
        self.begin()

    @work(group="begin", exit_on_error=True)
    async def begin(self) -> None:
        """Start the engine, show its board, start the server."""
        self.trouble, self.awaited = "", "opening the store"
        self.pulse()
        try:
            engine = self.engine = await self._start_engine()
        except WorkersError as error:
            self._cannot_start(str(error))
            return
        if self.observer is not None:
            self.observer.begin(engine)
        if not self.demo and not self.memory.first_steps_shown:
            self._show_first_steps()
        if self._start_server is not None:
            await self._serve(engine, self._start_server)

    async def _serve(self, engine: Engine, start: StartServer) -> None:
        self.awaited = "starting the server"
        self.pulse()
        try:
            self.server = await start(engine)
        except WorkersError as error:
            self.awaited = "no server"
            self.tell(f"No client can connect: {error}", "error")
        self.pulse()

    def _show_first_steps(self) -> None:
        from workers_tui.tui.screens.first_steps import FirstSteps  # the first run only

        self.push_screen(FirstSteps(first_run=True))

    def _cannot_start(self, why: str) -> None:
        log.error("the engine could not start: %s", why)
        self.trouble, self.awaited = why, "not started"
        self.pulse()
        face = self.observer.face if self.observer is not None else None
        if face is not None:
            face.show(frozenset())

    @property
    def jobs(self) -> JobTable | None:
        """All jobs in the screen's order, once the board is looked at."""
        return self.observer.jobs if self.observer is not None else None

    def pulse(self) -> None:
        """Refresh what tells how the program itself does."""
        if self.observer is not None:
            self.observer.pulse()

    def tell(self, text: str, severity: str = "information") -> None:
        """What the user did not just do, in the last line: there it covers nothing."""
        face = self.observer.face if self.observer is not None else None
        if face is not None:
            face.tell(text, NEWS[severity])
        else:
            log.warning("%s", text)

    def bell(self) -> None:
        """Textual's first act on an error that nobody handled: the moment to log it."""
        error = sys.exc_info()[1]
        if error is not None:
            log.critical("the dashboard ends by an error of its own", exc_info=error)
        super().bell()

    def _catch_signals(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            with contextlib.suppress(NotImplementedError, RuntimeError, ValueError):
                loop.add_signal_handler(number, self._signalled, number)

    def _signalled(self, number: signal.Signals) -> None:
        if number is signal.SIGINT and self.terminal is not None and self.terminal.lent:
            return
        log.info("got %s: leaving", number.name)
        self.call_later(self.depart, "the dashboard was told to end")

    def hung_up(self) -> None:
        """The terminal is gone: leave in good order. Called from the driver's thread."""
        log.info("the terminal is gone: leaving")
        # Should the loop be stuck writing to what is not there, the process must not stay behind.
        last = threading.Timer(HANG_UP_PATIENCE, os._exit, (0,))
        last.daemon = True
        last.start()
        self.call_later(self.depart, "the terminal is gone")

    def depart(self, reason: str) -> None:
        """Stop what was started, then end the program."""
        if not self._leaving:
            self._leaving = True
            self._leave_in_background(reason)

    @work(group="leave", exit_on_error=True)
    async def _leave_in_background(self, reason: str) -> None:
        self.awaited = "letting clients know"
        await self.shut_down(reason)
        self.exit(0)

    async def shut_down(self, reason: str) -> None:
        """Stop what was started, in the order that lets clients hear of it."""
        engine, server = self.engine, self.server
        self.engine = self.server = None
        if server is not None:
            await server.stop(reason)
        if engine is not None:
            await engine.close()

    @asks
    async def action_leave(self) -> None:
        """Quit; while jobs run, ask once."""
        if self.observer is not None and not await self.observer.may_leave():
            return
        self.depart("the user quit the dashboard")

    def action_redraw(self) -> None:
        """Draw everything again."""
        self.refresh(repaint=True, layout=True)
        self.screen.refresh(repaint=True, layout=True)

    def action_suspend(self) -> None:
        """Go to the background, as every program does on this key."""
        self.action_suspend_process()

    def action_themes(self) -> None:
        """Choose a theme."""
        from workers_tui.tui.screens.pick import pick_theme  # loaded when first wanted

        pick_theme(self)

    def action_command_palette(self) -> None:
        """Search every action by name."""
        from workers_tui.tui.screens.palette import Palette  # loaded when first wanted

        if not isinstance(self.screen, Palette):
            self.push_screen(Palette())

    def action_help(self) -> None:
        """Show every key."""
        from workers_tui.tui.screens.help import HelpScreen  # loaded when first wanted

        if not isinstance(self.screen, HelpScreen):
            self.push_screen(HelpScreen())
