"""An answer's text while it comes: on disk, in memory for the screen, counted on the board."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from workers_tui.engine.board import Board, Key, Topic
from workers_tui.engine.calls.running import Running
from workers_tui.engine.clock import Clock
from workers_tui.engine.errors import StoreUnusable
from workers_tui.engine.jobs.results import ResultFile
from workers_tui.home.files import why

SHOWN_EVERY = 0.05
"""Seconds between counts on the board; the last one is always shown."""


class LiveText:
    """Where the pieces of one answer go."""

    def __init__(self, file: ResultFile, run: Running, board: Board, clock: Clock) -> None:
        self._file = file
        self._run = run
        self._board = board
        self._clock = clock
        self._key = Key(Topic.OUTPUT, run.job_id)
        self._shown = 0.0

    @classmethod
    def open(cls, path: Path, run: Running, board: Board, clock: Clock) -> LiveText:
        """Start the file before anything is paid for. Raises StoreUnusable."""
        with _disk(path):
            return cls(ResultFile.open(path), run, board, clock)

    def add(self, text: str) -> None:
        """Take the next piece. Raises StoreUnusable when the disk takes no more."""
        self._run.add(text)
        with _disk(self._file.path):
            self._file.append(text)
        now = self._clock.monotonic()
        if now - self._shown >= SHOWN_EVERY:
            self._shown = now
            self._board.put(self._key, self._run.chars)

    def flush(self) -> None:
        """No more text is expected: what came goes to the disk meanwhile."""
        self._file.flush()

    async def close(self) -> None:
        """Everything is on disk and counted; closing twice does no harm."""
        self._board.put(self._key, self._run.chars)
        with _disk(self._file.path):
            await self._file.close()


@contextmanager
def _disk(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StoreUnusable(f"the answer cannot be kept in {path}: {why(error)}") from error
