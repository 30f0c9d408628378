"""Who lives: each engine holds an OS lock on a file of its own while it runs.

An engine is dead when its lock can be taken, or when its file is gone; never
by pid or heartbeat. The operating system drops the lock however it ends.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

SUFFIX = ".lock"

Taken = TypeVar("Taken", "EngineLock", "EngineLock | None")


@dataclass(frozen=True, slots=True)
class EngineLock:
    """A lock that is held; it also names the engine."""

    id: str
    path: Path
    fd: int

    @classmethod
    def take(cls, engines: Path) -> EngineLock:
        """Make a new engine's lock, held before its file can be seen.

        Raises OSError when the directory cannot be written.
        """
        engine_id = secrets.token_hex(6)
        path = engines / f"{engine_id}{SUFFIX}"
        staged = engines / f".{engine_id}.new"
        fd = os.open(staged, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            staged.rename(path)
        except BaseException:
            os.close(fd)
            with contextlib.suppress(OSError):  # the first error is the one to tell
                staged.unlink()
            raise
        return cls(engine_id, path, fd)

    def release(self) -> None:
        """Leave: the file goes first, so nobody finds it unlocked and takes us for dead."""
        with contextlib.suppress(OSError):  # one that stays is cleared away like a dead engine's
            self.path.unlink()
        with contextlib.suppress(OSError):
            os.close(self.fd)


def take_dead(engines: Path, engine_id: str) -> EngineLock | None:
    """The lock of a dead engine, so that only one engine cleans up after it.

    None when it lives, or when another engine cleans up. A missing file is
    made anew: a living engine always has one.
    """
    path = engines / f"{engine_id}{SUFFIX}"
    fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(fd)
        return None
    return EngineLock(engine_id, path, fd)


def known_engines(engines: Path) -> set[str]:
    """Engines that have a lock file, alive or dead."""
    return {path.name.removesuffix(SUFFIX) for path in engines.glob(f"*{SUFFIX}")}


async def off_the_loop(take: Callable[[], Taken]) -> Taken:
    """Take a lock in a thread; one that comes when its asker was cancelled is let go."""
    taking = asyncio.ensure_future(asyncio.to_thread(take))
    try:
        return await asyncio.shield(taking)
    except asyncio.CancelledError:
        await asyncio.wait({taking})
        if taking.exception() is None and (lock := taking.result()) is not None:
            lock.release()
        raise
