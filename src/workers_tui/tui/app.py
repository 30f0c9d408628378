"""The dashboard: paints first, then starts engine and server, then shows what the board says.

One worker watches the board and hands what changed to the screen in front, at
most 15 times a second; totals twice a second, clocks once. The engine never
knows who looks: commands go to it as plain calls, answers come by the board.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual import work
from textual.app import App
from textual.binding import BindingType
from textual.driver import Driver

from workers_tui.engine.board import Key, Topic
from workers_tui.engine.errors import WorkersError
from workers_tui.engine.events import Level
from workers_tui.home.assets import asset
from workers_tui.home.places import Home
from workers_tui.tui import marks, words
from workers_tui.tui.job_table import JobTable
from workers_tui.tui.keymap import bindings, read_keymap
from workers_tui.tui.memory import Memory
from workers_tui.tui.ports import StartEngine, StartServer, Stoppable
from workers_tui.tui.pulse import pulse_of, window_title
from workers_tui.tui.rates import Rates
from workers_tui.tui.screens.dashboard import DashboardScreen
from workers_tui.tui.screens.face import Face
from workers_tui.tui.screens.palette import Actions
from workers_tui.tui.undo import Undo

if TYPE_CHECKING:
    from workers_tui.engine.engine import Engine
    from workers_tui.engine.job import Job
    from workers_tui.tui.driver import Terminal

log = logging.getLogger(__name__)

FRAME = 1 / 15
"""Seconds between two repaints at most."""

TOTALS_EVERY = 0.5
"""Seconds between two repaints of totals."""

SLOW = frozenset({Topic.SPEND, Topic.TIER, Topic.SAVINGS, Topic.WORKER, Topic.PROVIDER})
"""Topics whose panes are totals."""

DEFAULT_THEME = "tokyo-night"
HANG_UP_PATIENCE = 8.0
"""Seconds for an orderly end after the terminal is gone."""


def stylesheets() -> list[str]:
    """Every style file, the shared one first."""
    folder = asset("styles")
    return [str(folder / "app.tcss"), *sorted(map(str, folder.glob("*/*.tcss")))]


class DashboardApp(App[int], inherit_bindings=False):
    """One process: this screen, an engine and, where wanted, its server."""

    TITLE = "workers"
    CSS_PATH = stylesheets()  # type: ignore[assignment]
    ENABLE_COMMAND_PALETTE = True
    COMMAND_PALETTE_BINDING = "ctrl+p"
    COMMANDS = {Actions}  # noqa: RUF012 - Textual's own way
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
        self.memory = Memory(home)
        self.engine: Engine | None = None
        self.server: Stoppable | None = None
        self.terminal: Terminal | None = None
        self.jobs = JobTable()
        self.rates = Rates()
        self.undo = Undo()
        self.folder = folder or Path.cwd()
        self.awaited = "opening the store"
        self.trouble = ""
        """Why the engine could not start."""
        self._start_engine = start_engine
        self._start_server = start_server
        self._leaving = False
        self._event_told = 0

    async def on_mount(self) -> None:
        """Put the first screen up; everything slow waits until it is painted."""
        keymap, wrong = read_keymap(self.home)
        self.set_keymap(keymap)
        self.theme = (
            self.memory.theme if self.memory.theme in self.available_themes else DEFAULT_THEME
        )
        await self.push_screen(DashboardScreen(self.jobs, self.rates))
        for line in wrong:
            self.tell(line, Level.WARNING)
        self._catch_signals()
        self.call_after_refresh(self.begin)

    @work(group="start", exit_on_error=True)
    async def begin(self) -> None:
        """Start the engine, show its board, start the server."""
        self.trouble, self.awaited = "", "opening the store"
        self.pulse()
        try:
            self.engine = await self._start_engine()
        except WorkersError as error:
            self._cannot_start(str(error))
            return
        self.observe(self.engine)
        self.set_interval(1, self._tick)
        if not self.demo and not self.memory.first_steps_shown:
            self._show_first_steps()
        if self._start_server is None:
            return
        self.awaited = "starting the server"
        self.pulse()
        try:
            self.server = await self._start_server(self.engine)
        except WorkersError as error:
            self.awaited = "no server"
            self.tell(f"No client can connect: {error}", Level.ERROR)
        self.pulse()

    def _show_first_steps(self) -> None:
        from workers_tui.tui.screens.first_steps import FirstSteps  # the first run only

        self.push_screen(FirstSteps())

    def _cannot_start(self, why: str) -> None:
        log.error("the engine could not start: %s", why)
        self.trouble, self.awaited = why, "not started"
        self.pulse()
        self.face.show(frozenset())

    @property
    def face(self) -> Face:
        """The topmost screen that shows the board."""
        for screen in reversed(self.screen_stack):
            if isinstance(screen, Face):
                return screen
        raise LookupError("no screen shows the board")

    @work(group="observe", exit_on_error=True)
    async def observe(self, engine: Engine) -> None:
        """Hand what changed on the board to the screen, coalesced."""
        watcher = engine.board.watch()
        late: set[Key] = set()
        totals_at = 0.0
        try:
            while True:
                if late:
                    with contextlib.suppress(TimeoutError):
                        async with asyncio.timeout(max(0, totals_at - time.monotonic())):
                            late |= await watcher.changed()
                else:
                    late |= await watcher.changed()
                now = time.monotonic()
                keys = frozenset(
                    late if now >= totals_at else {k for k in late if k.topic not in SLOW}
                )
                if any(key.topic in SLOW for key in keys):
                    totals_at = now + TOTALS_EVERY
                late -= keys
                self._take(engine, keys, now)
                await asyncio.sleep(FRAME)
        finally:
            watcher.close()

    def _take(self, engine: Engine, keys: AbstractSet[Key], now: float) -> None:
        for key in keys:
            if key.topic is Topic.JOB:
                self._take_job(key.name, engine.board.get(key), now)
            elif key.topic is Topic.EVENT:
                self._take_events(engine)
            elif key.topic in {Topic.SERVER, Topic.SPEND}:
                self.pulse()
        if keys:
            self.face.show(keys)

    def _take_job(self, job_id: str, job: Job | None, now: float) -> None:
        if job is None:
            self.jobs.drop(job_id)
            self.rates.forget(job_id)
            return
        self.jobs.put(job, now)
        if job.state.ended:
            self.rates.forget(job_id)
        else:
            self.rates.note(job_id, job.usage.output, now)

    def _take_events(self, engine: Engine) -> None:
        """Errors nobody asked for are told at once; everything is in the events pane."""
        for event in engine.events.since(self._event_told):
            if self._event_told and event.level is Level.ERROR and event.job is None:
                self.tell(event.text, event.level)
            self._event_told = event.number
        self._event_told = max(self._event_told, 1)

    def tell(self, text: str, level: Level = Level.INFO) -> None:
        """A toast, for what the user did not just do."""
        severity = {Level.INFO: "information", Level.WARNING: "warning", Level.ERROR: "error"}
        self.notify(text, severity=severity[level], markup=False, timeout=8)  # type: ignore[arg-type]

    def _tick(self) -> None:
        now = time.monotonic()
        if self.jobs.settle(now):
            self.face.rows_moved()
        self.face.tick()
        self.pulse()

    def pulse(self) -> None:
        """Refresh the header's left side and the window's title."""
        said = pulse_of(self.engine, self.jobs.active, self.awaited)
        for screen in self.screen_stack:
            if isinstance(screen, Face):
                screen.show_pulse(said)
        if self.terminal is not None:
            self.terminal.set_title(window_title(self.engine, said.running))

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

    @work(group="ask")
    async def action_leave(self) -> None:
        """Quit; while jobs run, ask once."""
        running = sum(map(marks.runs, self.jobs.active))
        if running and self.engine is not None:
            question = f"{words.plural(running, 'job')} running: cancel and quit?"
            if not await self.face.ask(question):
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

    def action_help(self) -> None:
        """Show every key."""
        from workers_tui.tui.screens.help import HelpScreen  # loaded when first wanted

        if not isinstance(self.screen, HelpScreen):
            self.push_screen(HelpScreen())
