"""Shows the board: hands what changed to the screen in front, coalesced.

At most 15 times a second; totals twice a second, clocks once. The engine never
knows who looks.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING

from workers_tui.engine.board import Board, Key, Topic, Watcher
from workers_tui.engine.events import Level
from workers_tui.tui import marks, words
from workers_tui.tui.job_table import JobTable
from workers_tui.tui.pulse import pulse_of, window_title
from workers_tui.tui.rates import Rates
from workers_tui.tui.screens.dashboard import DashboardScreen
from workers_tui.tui.screens.face import Face

if TYPE_CHECKING:
    from workers_tui.engine.engine import Engine
    from workers_tui.engine.jobs.job import Job
    from workers_tui.engine.settings.config import ConfigView
    from workers_tui.tui.shell import Shell

FRAME = 1 / 15
"""Seconds between two repaints at most."""

MOMENT = 1 / 100
"""Seconds from a change to its repaint: a call that begins or ends changes several things at
once, which are shown together."""

MOMENTS = 6
"""So many times the same at most, while a call is in a hurry: a repaint would hold it up."""

LONGEST_FRAME = 0.25
"""The same while the loop is busy with streams."""

TOTALS_EVERY = 0.5
"""Seconds between two repaints of totals."""

CHARS_A_TOKEN = 4
"""Good enough for a speed and a count that is marked as an estimate."""

SLOW = frozenset({Topic.SPEND, Topic.TIER, Topic.SAVINGS, Topic.WORKER, Topic.PROVIDER})
"""Topics whose panes are totals."""


class Observer:
    """What the screens share: the jobs in order, their speed, and the watch on the board."""

    def __init__(self, app: Shell) -> None:
        self._app = app
        self.jobs = JobTable()
        self.rates = Rates()
        self._event_told = 0
        self._totals_at = 0.0
        self._ticking = False
        self._asks_in: Face | None = None
        """Where it is asked whether to quit although jobs run."""
        self._asked_about = 0
        self._config_wrong = False

    def first_screen(self) -> DashboardScreen:
        """The screen that everything starts from."""
        return DashboardScreen(self.jobs, self.rates)

    @property
    def face(self) -> Face | None:
        """The topmost screen that shows the board; None while it is put up or taken down."""
        for screen in reversed(self._app.screen_stack):
            if isinstance(screen, Face):
                return screen if screen.ready else None
        return None

    def begin(self, engine: Engine) -> None:
        """Watch an engine's board until the app ends."""
        self._app.run_worker(self._observe(engine), group="observe", exclusive=True)
        if not self._ticking:
            self._ticking = True
            self._app.set_interval(1, self._tick)

    async def _observe(self, engine: Engine) -> None:
        watcher = engine.board.watch()
        waiting: set[Key] = set()
        frame = FRAME
        try:
            while True:
                waiting |= await self._changed(watcher, totals_wait=bool(waiting))
                waiting |= await gathered(engine.board, watcher)
                now = time.monotonic()
                due = self._due(waiting, now)
                waiting -= due
                self._take(engine, due, now)
                frame = await self._rest(frame)
        finally:
            watcher.close()

    @staticmethod
    async def _rest(frame: float) -> float:
        """Wait for a frame; return the next one's length.

        A loop that wakes late is busy with streams: fewer repaints leave room for keys.
        """
        before = time.monotonic()
        rest = frame - MOMENT
        await asyncio.sleep(rest)
        late = time.monotonic() - before - rest
        return min(LONGEST_FRAME, FRAME + 4 * late)

    async def _changed(self, watcher: Watcher, *, totals_wait: bool) -> AbstractSet[Key]:
        """What changed; nothing when only waiting totals are due."""
        if not totals_wait:
            return await watcher.changed()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(max(0.0, self._totals_at - time.monotonic())):
                return await watcher.changed()
        return frozenset()

    def _due(self, waiting: AbstractSet[Key], now: float) -> frozenset[Key]:
        if now < self._totals_at:
            return frozenset(key for key in waiting if key.topic not in SLOW)
        if any(key.topic in SLOW for key in waiting):
            self._totals_at = now + TOTALS_EVERY
        return frozenset(waiting)

    def _take(self, engine: Engine, keys: AbstractSet[Key], now: float) -> None:
        topics = {key.topic for key in keys}
        for key in keys:
            if key.topic is Topic.JOB:
                self._take_job(key.name, engine.board.get(key), now)
            elif key.topic is Topic.OUTPUT and key.name in self.jobs:
                self.rates.note(key.name, engine.board.get(key) // CHARS_A_TOKEN, now)
        if Topic.EVENT in topics:
            self._take_events(engine)
        if Topic.CONFIG in topics:
            self._take_config(engine)
        if topics & {Topic.SERVER, Topic.SPEND, Topic.JOB}:
            self.pulse()
        face = self.face
        if keys and face is not None:
            face.show(keys)

    def _take_job(self, job_id: str, job: Job | None, now: float) -> None:
        if job is None:
            self.jobs.drop(job_id)
            self.rates.forget(job_id)
            return
        self.jobs.put(job, now)
        if job.state.ended:
            self.rates.forget(job_id)
        elif job.usage.output:
            self.rates.note(job_id, job.usage.output, now)

    def _take_config(self, engine: Engine) -> None:
        """What was said of a file that has been mended since is true no more."""
        config: ConfigView | None = engine.board.get(Key(Topic.CONFIG))
        wrong = config is not None and config.error is not None
        if self._config_wrong and not wrong:
            for screen in self._app.screen_stack:
                if isinstance(screen, Face):
                    screen.forget_told()
        self._config_wrong = wrong

    def _take_events(self, engine: Engine) -> None:
        """Errors nobody asked for are told at once; everything is in the events pane."""
        first = self._event_told == 0
        for event in engine.events.since(self._event_told):
            if not first and event.level is Level.ERROR and event.job is None:
                self._app.tell(event.text, "error")
            self._event_told = event.number

    def _tick(self) -> None:
        settled = self.jobs.settle(time.monotonic())
        face = self.face
        if face is None:
            return
        if settled:
            face.rows_moved()
        face.tick()
        self.pulse()

    def pulse(self) -> None:
        """Refresh the header's left side and the window's title."""
        self._ask_anew()
        app = self._app
        said = pulse_of(app.engine, self.jobs.active, app.awaited)
        face = self.face
        if face is not None:
            face.show_pulse(said)
        if app.terminal is not None:
            app.terminal.set_title(window_title(app.engine, said.running))

    async def may_leave(self) -> bool:
        """Whether the user wants to quit although jobs run."""
        running, face = self._running(), self.face
        if not running or self._app.engine is None or face is None:
            return True
        if self._asks_in is not None:
            return False
        self._asks_in, self._asked_about = face, running
        try:
            return await face.ask(leave_question(running))
        finally:
            self._asks_in = None

    def _ask_anew(self) -> None:
        """Jobs ended or began while it was asked about them."""
        face, running = self._asks_in, self._running()
        if face is None or running == self._asked_about:
            return
        self._asked_about = running
        face.ask_anew(leave_question(running) if running else "")
        if not running:
            face.say("Nothing runs any more: ask to quit again.")

    def _running(self) -> int:
        return sum(map(marks.runs, self.jobs.active))


async def gathered(board: Board, watcher: Watcher) -> AbstractSet[Key]:
    """What else changes within a moment; a few moments while calls are in a hurry."""
    for _ in range(MOMENTS):
        await asyncio.sleep(MOMENT)
        if not board.hurried:
            break
    return watcher.take()


def leave_question(running: int) -> str:
    """Whether to quit although jobs run."""
    return f"{words.plural(running, 'job')} running: cancel and quit?"
