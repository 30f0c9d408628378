"""Result files: a job's text as it grows, and what is kept of old ones.

Text is with the operating system within 100 ms of its arrival, so it survives
the end of the process, and on the disk when the file is closed. One thread
writes for all files of the process; the loop never waits for a disk.
"""

from __future__ import annotations

import asyncio
import codecs
import contextlib
import errno
import os
import queue
import shutil
import threading
import time
from collections import deque
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

WRITE_EVERY = 0.1
"""Seconds that text may wait for its write."""
KEEP_DAYS = 30
KEEP_BYTES = 2 * 1024**3
ROOM = 4 << 20
"""Bytes that must be free for an answer to begin: what is paid for must find its place."""
KEEP_NAME = 200
"""Bytes of the name of a file whose old content is kept."""


class Pen:
    """The thread that writes for every open result file."""

    def __init__(self) -> None:
        self._files: queue.SimpleQueue[ResultFile] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None

    def take(self, file: ResultFile) -> None:
        """Note that a file has text waiting."""
        self._files.put(file)
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="result files", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        while True:
            file = self._files.get()
            time.sleep(WRITE_EVERY / 2)  # more text comes meanwhile and shares the write
            file.write_waiting()
            with contextlib.suppress(queue.Empty):
                while True:
                    self._files.get_nowait().write_waiting()


PEN = Pen()


def _check_room(path: Path) -> None:
    disk = os.statvfs(path.parent)
    if disk.f_blocks and disk.f_bavail * disk.f_frsize < ROOM:  # some file systems count nothing
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))


class ResultFile:
    """Where one job's text grows."""

    def __init__(self, path: Path, fd: int, pen: Pen) -> None:
        self.path = path
        self._fd = fd
        self._pen = pen
        self._lock = threading.Lock()
        self._waiting: deque[str] = deque()
        self._with_pen = False
        self._error: OSError | None = None
        self._closed = False
        self._flushing: asyncio.Future[None] | None = None
        self._flushed = False
        """Everything that was written is on the disk."""

    @classmethod
    def open(cls, path: Path, pen: Pen = PEN) -> ResultFile:
        """Start a file anew, private to the user. Raises OSError, also where there is no room."""
        _check_room(path)
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        return cls(path, fd, pen)

    def append(self, text: str) -> None:
        """Add text; it is written within 100 ms. Raises OSError once a write has failed."""
        if self._error is not None:
            raise self._error
        if self._closed:
            raise OSError(errno.EBADF, "the result file is closed", str(self.path))
        if text:
            self._waiting.append(text)
            if not self._with_pen:
                self._with_pen = True
                self._pen.take(self)

    def flush(self) -> None:
        """No more text is expected: put it on the disk before anybody waits for that."""
        if self._flushing is None and not self._closed:
            self._flushing = asyncio.ensure_future(asyncio.to_thread(self._flush))

    async def close(self) -> None:
        """Write what waits, flush it to the disk, close. Raises OSError when text was lost."""
        if not self._closed:
            self._closed = True
            await asyncio.shield(self._close())
        if self._error is not None:
            raise self._error

    async def _close(self) -> None:
        if self._flushing is not None:
            await self._flushing
        # In this order: what leaves the waiting line ends being flushed first.
        if self._waiting or not self._flushed:
            await asyncio.to_thread(self._flush)
        os.close(self._fd)

    def write_waiting(self) -> None:
        """Write what waits; for the pen."""
        self._with_pen = False  # before the text is taken: what comes after asks anew
        with self._lock:
            self._write()

    def _write(self) -> None:
        parts: list[str] = []
        self._flushed = self._flushed and not self._waiting
        while self._waiting:
            parts.append(self._waiting.popleft())
        if not parts or self._error is not None:
            return
        try:
            _write_all(self._fd, "".join(parts).encode("utf-8", errors="replace"))
        except OSError as error:
            self._error = error

    def _flush(self) -> None:
        with self._lock:
            self._write()
            try:
                os.fsync(self._fd)
            except OSError as error:
                self._error = self._error or error
            self._flushed = True


def read_result(path: Path, offset_chars: int = 0, limit: int | None = None) -> str:
    """Part of a result's text, also while it grows; "" when there is no file yet.

    Reads the disk: call it off the loop.
    """
    decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
    end = None if limit is None else offset_chars + limit
    parts: list[str] = []
    length = 0
    with contextlib.suppress(FileNotFoundError), path.open("rb") as file:
        while (end is None or length < end) and (data := file.read(1 << 20)):
            parts.append(decoder.decode(data))
            length += len(parts[-1])
    return "".join(parts)[offset_chars:end]


def keep_old(results: Path, job_id: str, target: Path) -> Path | None:
    """Copy the file that `write_to` is about to replace; None when there is none."""
    if not target.is_file():
        return None
    # Its end, which tells what it is: the whole name may be as long as a name can be.
    name = os.fsencode(target.name)[-KEEP_NAME:].decode("utf-8", "ignore")
    kept = results / f"{job_id}.old-{name}"
    number = 1
    while kept.exists():
        number += 1
        kept = results / f"{job_id}.old-{number}-{name}"
    with contextlib.suppress(FileNotFoundError):
        shutil.copyfile(target, kept)
        kept.chmod(0o600)
        return kept
    return None


def sweep(
    results: Path,
    now: datetime,
    in_use: frozenset[str] = frozenset(),
    *,
    keep_days: int = KEEP_DAYS,
    keep_bytes: int = KEEP_BYTES,
) -> list[Path]:
    """Remove results that are too old, or too much, oldest first; return what went.

    Files of jobs named in `in_use` stay. Reads the disk: call it off the loop.
    """
    oldest = (now.astimezone(UTC) - timedelta(days=keep_days)).timestamp()
    found = sorted(_files(results), key=lambda one: one.modified)
    total = sum(one.size for one in found)
    gone: list[Path] = []
    for one in found:
        if one.modified >= oldest and total <= keep_bytes:
            break
        if one.path.name.partition(".")[0] in in_use:
            continue
        with contextlib.suppress(OSError):
            one.path.unlink()
            gone.append(one.path)
            total -= one.size
    return gone


@dataclass(frozen=True, slots=True)
class _File:
    path: Path
    modified: float
    size: int


def _files(directory: Path) -> list[_File]:
    found: list[_File] = []
    with contextlib.suppress(FileNotFoundError), os.scandir(directory) as entries:
        for entry in entries:
            with contextlib.suppress(FileNotFoundError):
                if entry.is_file(follow_symlinks=False):
                    stat = entry.stat(follow_symlinks=False)
                    found.append(_File(Path(entry.path), stat.st_mtime, stat.st_size))
    return found


def _write_all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]
