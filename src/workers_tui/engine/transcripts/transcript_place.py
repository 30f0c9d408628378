"""How far a transcript was read, and whether the file still begins with what was read.

The bytes before the place are hashed: a file that was cut, replaced or
rewritten is known by them, also where size and inode say nothing.
"""

from __future__ import annotations

import errno
import os
from datetime import UTC, datetime
from hashlib import blake2b
from stat import S_ISREG

import msgspec

TAIL = 64
"""Bytes before the offset whose hash tells that the file was rewritten."""


class Place(msgspec.Struct, array_like=True, gc=False):
    """How far a file was read."""

    device: int = 0
    inode: int = 0
    offset: int = 0
    """Start of the first line that was not read as a whole."""
    tail: int = 0
    """Hash of the bytes before the offset."""
    mtime: int = 0
    """Nanoseconds, when it was read."""
    size: int = 0
    delegates: bool = False
    """A delegation was seen, so tool results are looked into."""
    clock: str = ""
    """Time of the newest message, for one that has none."""
    torn: bool = False
    """It ends in the middle of a line."""


def go_on(fd: int, place: Place | None) -> tuple[Place, bool]:
    """From where to read an open file, and whether that is its start. Raises OSError."""
    stat = os.fstat(fd)
    if not S_ISREG(stat.st_mode):
        raise OSError(errno.EINVAL, "no file, though its name is a transcript's")
    start = _still(fd, stat, place)
    now = Place(stat.st_dev, stat.st_ino) if start is None else start
    now.clock = now.clock or _iso(stat.st_mtime)
    now.size, now.mtime = stat.st_size, stat.st_mtime_ns
    return now, start is None


def _still(fd: int, stat: os.stat_result, place: Place | None) -> Place | None:
    """A copy of the place when the file still begins with what was read, else None."""
    if place is None or (stat.st_dev, stat.st_ino) != (place.device, place.inode):
        return None
    if stat.st_size < place.offset or tail(fd, place.offset) != place.tail:
        return None
    return msgspec.structs.replace(place, torn=False)


def tail(fd: int, offset: int) -> int:
    """The hash of the bytes before the offset."""
    start = max(0, offset - TAIL)
    digest = blake2b(os.pread(fd, offset - start, start), digest_size=8).digest()
    return int.from_bytes(digest, "little", signed=True)


def _iso(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).isoformat().replace("+00:00", "Z")
