"""Asks the kernel for files that are read next, so that a disk works while we do.

A disk answers many questions at once as quickly as one. What is in the page
cache already costs next to nothing here.
"""

from __future__ import annotations

import os

FIRST = 8 << 20
"""Bytes of a file that are asked for; the rest the kernel fetches by itself, as it is read on."""


def fetch(path: str, begin: int, count: int) -> None:
    """Have so many bytes of a file read from `begin` on; it answers at once.

    What cannot be fetched ahead is left to whoever reads it, who tells why.
    """
    if not hasattr(os, "posix_fadvise"):
        return  # macOS has no such call
    try:
        # A pipe in the place of a file would keep us waiting for its other end.
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return
    try:
        os.posix_fadvise(fd, begin, min(count, FIRST), os.POSIX_FADV_WILLNEED)
    except OSError:
        pass
    finally:
        os.close(fd)
