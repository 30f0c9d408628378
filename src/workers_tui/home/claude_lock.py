"""Claude Code's own lock on its state file: a directory beside the file while it is written."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path

STATE = ".claude.json"
STALE_SECONDS = 10.0
"""A holder touches its lock more often than that, or is dead."""
PATIENCE = 5.0
PAUSE = 0.02


@contextlib.contextmanager
def claude_lock(path: Path) -> Iterator[None]:
    """Hold it while the block runs, if this file has one. Raises TimeoutError."""
    lock = path.with_name(f"{path.name}.lock")
    held = path.name == STATE and path.parent.is_dir() and _take(lock)
    try:
        yield
    finally:
        if held:
            with contextlib.suppress(OSError):
                lock.rmdir()


def _take(lock: Path) -> bool:
    """False where no lock can be made: there no file can be written either."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            lock.mkdir()
        except FileExistsError:
            _drop_stale(lock)
        except OSError:
            return False
        else:
            return True
        if time.monotonic() > end:
            raise TimeoutError(f"{lock} is held by a running Claude Code")
        time.sleep(PAUSE)


def _drop_stale(lock: Path) -> None:
    with contextlib.suppress(OSError):  # its holder was faster
        if time.time() - lock.stat().st_mtime > STALE_SECONDS:
            lock.rmdir()
