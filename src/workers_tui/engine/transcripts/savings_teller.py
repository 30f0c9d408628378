"""What the follower says besides its figures: events, what stands beside the figures, notices.

It decides on words and on saying a thing once. It reads nothing and folds nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace

from workers_tui.engine.board import Board, Key, Topic
from workers_tui.engine.errors import StoreError
from workers_tui.engine.events import Events, Level
from workers_tui.engine.transcripts.index_build import Progress
from workers_tui.engine.transcripts.indexer import Refreshed
from workers_tui.engine.transcripts.job_savings import JobSaving
from workers_tui.engine.transcripts.savings_view import Reading, SavingsView
from workers_tui.home.notices import Notices, write_notices
from workers_tui.home.places import Home
from workers_tui.home.switches import savings_shown

SAVINGS = Key(Topic.SAVINGS)


class SavingsTeller:
    """Puts the view on the board and tells what happened."""

    def __init__(
        self, home: Home, environ: Mapping[str, str], board: Board, events: Events
    ) -> None:
        self._home = home
        self._shown = savings_shown(environ)
        self._board = board
        self._events = events
        self._reading: Reading | None = None
        """How far a long way is, as long as one is gone."""
        self._read_again: set[tuple[str, str]] = set()
        """Jobs and files about which it was told."""
        self._trouble = ""
        """What was told about the index that failed."""
        self._notices = Notices()

    def show(self, view: SavingsView) -> None:
        """Put figures on the board."""
        self._board.put(SAVINGS, replace(view, reading=self._reading) if self._reading else view)

    def reading(self, reading: Reading | None) -> None:
        """Show how far the reading is, beside the figures that stand already."""
        self._reading = reading
        self._board.put(SAVINGS, replace(self._before(), reading=reading))

    def progress(self, total: int) -> Progress:
        """A long way of so many bytes begins."""
        return Progress(total, self.say, self.reading)

    def read_all(self) -> None:
        """What there was to read is read; the figures that come next hold it."""
        self._reading = None

    def trouble(self, error: StoreError) -> None:
        """The figures stand still: why, once as an event, and beside them for as long."""
        text, self._reading = str(error), None
        self._board.put(SAVINGS, replace(self._before(), reading=None, warnings=(text,)))
        self._once(text)

    def _once(self, text: str) -> None:
        if text != self._trouble:
            self._trouble = text
            self.warn(text)

    def no_trouble(self) -> None:
        """The index works again."""
        self._trouble = ""

    def _before(self) -> SavingsView:
        before: SavingsView | None = self._board.get(SAVINGS)
        return before or SavingsView()

    # events

    def say(self, text: str) -> None:
        """Something that is worth an event."""
        self._events.tell("savings", text)

    def warn(self, text: str, job: str | None = None) -> None:
        """Something that the user should look at."""
        self._events.tell("savings", text, level=Level.WARNING, job=job)

    def errors(self, done: Refreshed) -> None:
        """Claude Code met errors of the API."""
        if done.errors:
            self.warn(f"Claude Code met {done.errors} API errors; nothing is counted for them")

    def read_again(self, saved: Sequence[JobSaving]) -> None:
        """Claude read what it had delegated: each file of a job once."""
        for one in saved:
            for path in one.read_again:
                if (one.job.id, path) in self._read_again:
                    continue
                self._read_again.add((one.job.id, path))
                text = (
                    f"Claude read {path} itself after job {one.job.id} had: nothing was saved on it"
                )
                self.warn(text, one.job.id)

    # the hooks' lines

    async def notices(self, made: Notices) -> None:
        """Write the lines that hooks print, where they are wanted and have changed."""
        wanted = made if self._shown else Notices()
        if wanted == self._notices:
            return
        try:
            await asyncio.to_thread(write_notices, self._home, wanted)
        except OSError as error:  # the figures are worth more than these lines
            self._once(f"cannot write {self._home.notices_json}: {error.strerror or error}")
        else:
            self._notices = wanted
