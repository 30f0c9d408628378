"""Private files, written whole or not at all.

Everything of this program is the user's alone (0700 directories, 0600 files).
A save goes to a new file beside the target, is flushed to disk and then takes
the target's place, so a crash or a full disk leaves the old file as it was.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import stat
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from workers_tui.home.places import Home

PRIVATE_FILE = 0o600
PRIVATE_DIR = 0o700
UNFINISHED = ".workers-tui"
"""Ends the name of a file that is being written: what a kill left behind is known by it."""
ABANDONED = 3600.0
"""Seconds after which nobody goes on writing such a file."""

MENDING = {
    errno.EACCES: "mend its permissions",
    errno.EPERM: "mend its permissions",
    errno.EROFS: "make it writable again",
    errno.ENOSPC: "free the disk",
    errno.EDQUOT: "free the disk",
    errno.EEXIST: "move the file away that stands there",
    errno.ENOTDIR: "move the file away that stands there",
}
"""What helps against what the machine refuses."""


def why(error: OSError) -> str:
    """What went wrong with a place of ours, and what the user can do about it."""
    mending = MENDING.get(error.errno or 0, "look at the disk")
    return f"{error.strerror or error}; {mending} or choose another place with WORKERS_HOME"


def is_directory(path: Path) -> bool:
    """Whether a directory is there; no where it may not be looked at, where pathlib raises."""
    return os.path.isdir(path)  # noqa: PTH112 - see above


def is_there(path: Path) -> bool:
    """Whether anything is there; no where it may not be looked at, where pathlib raises."""
    return os.path.exists(path)  # noqa: PTH110 - see above


def make_private_dir(path: Path) -> None:
    """Create a directory that only the user may enter, or mend its mode."""
    path.mkdir(mode=PRIVATE_DIR, parents=True, exist_ok=True)
    if path.stat().st_mode & 0o077:
        path.chmod(PRIVATE_DIR)


def prepare(home: Home) -> None:
    """Make the home's directories and mend the mode of everything in them.

    What lies deeper is behind a closed directory; there may be thousands of it.
    Raises OSError when a directory cannot be made.
    """
    for directory in (home.config, home.state, home.results, home.engines):
        make_private_dir(directory)
    for directory in {home.config, home.state}:
        for entry in directory.iterdir():
            with contextlib.suppress(FileNotFoundError):  # another process's temporary file
                _close(entry)


def _close(entry: Path) -> None:
    mode = entry.lstat().st_mode
    if not mode & 0o077:
        return
    if stat.S_ISREG(mode):
        entry.chmod(PRIVATE_FILE)
    elif stat.S_ISDIR(mode):
        entry.chmod(PRIVATE_DIR)


def write_atomic(path: Path, data: bytes | str, *, mode: int | None = None) -> None:
    """Replace a file's content in one step.

    A symlink stays one (its target is replaced). The mode is `mode`, else the
    old file's, else 0600. Raises OSError; the old file is then untouched. What is
    no file (a device, a pipe) is never replaced.
    """
    import tempfile  # late: it takes 5 ms, and most programs write nothing here

    target = Path(os.path.realpath(path))
    there = _status(target)
    if mode is None:
        mode = stat.S_IMODE(there.st_mode) if there else PRIVATE_FILE
    fd, name = tempfile.mkstemp(UNFINISHED, f".{target.name}.", target.parent)
    try:
        with os.fdopen(fd, "wb") as file:
            file.write(data.encode() if isinstance(data, str) else data)
            file.flush()
            if there is not None:
                _keep_owner(file.fileno(), there)
            os.fchmod(file.fileno(), mode)
            os.fsync(file.fileno())
        Path(name).replace(target)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(name).unlink()
        raise
    _sync_dir(target.parent)
    _sweep(target)


def _status(target: Path) -> os.stat_result | None:
    """What is there to be replaced; None when nothing is. Raises OSError for what is no file."""
    try:
        there = target.stat()
    except FileNotFoundError:
        return None
    _need_file(there.st_mode, target)
    return there


@contextlib.contextmanager
def in_turn(directory: Path) -> Iterator[None]:
    """Let programs of ours read, change and save files of this directory one after another.

    Where the file system has no such locks they are not kept apart. Raises OSError.
    """
    import fcntl  # late: most programs change nothing here

    fd = os.open(directory, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):
            fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


def _keep_owner(fd: int, there: os.stat_result) -> None:
    """With sudo, a user's file stays the user's; others may not give files away."""
    now = os.fstat(fd)
    if (now.st_uid, now.st_gid) != (there.st_uid, there.st_gid):
        with contextlib.suppress(OSError):
            os.fchown(fd, there.st_uid, there.st_gid)


def _sync_dir(directory: Path) -> None:
    """Make a rename in this directory durable, where it can be opened and the platform can."""
    with contextlib.suppress(OSError):  # the rename is done: failing now would deny it
        fd = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)


def _sweep(target: Path) -> None:
    """Remove what a kill in the middle of an earlier save of this file left."""
    with contextlib.suppress(OSError):
        for name in os.listdir(target.parent):  # noqa: PTH208 - most are no business of ours
            path = target.parent / name
            if is_unfinished(name, target.name) and is_abandoned(path.lstat()):
                path.unlink()


def is_unfinished(name: str, target: str) -> bool:
    """Whether a file of this name was to take the target's place."""
    return name.startswith(f".{target}.") and name.endswith(UNFINISHED)


def is_abandoned(status: os.stat_result) -> bool:
    """Whether it is so old that nobody goes on writing it."""
    return stat.S_ISREG(status.st_mode) and time.time() - status.st_mtime > ABANDONED


def read_whole(path: Path) -> bytes:
    """A file's content. Raises OSError, also for a pipe or a device: they may never end."""
    fd = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    try:
        _need_file(os.fstat(fd).st_mode, path)
    except OSError:
        os.close(fd)
        raise
    with os.fdopen(fd, "rb") as file:
        return file.read()


def _need_file(mode: int, path: Path) -> None:
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, "Is a directory", str(path))
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "It is no regular file", str(path))


def read_json(path: Path) -> Any:
    """Parse a JSON file (a BOM is allowed); None when it is missing or broken."""
    try:
        return json.loads(read_whole(path).decode("utf-8-sig"))
    except (OSError, ValueError, RecursionError):
        return None
