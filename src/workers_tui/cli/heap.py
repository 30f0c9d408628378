"""Keeps the memory of a program that lives long small: one heap, large blocks outside it."""

from __future__ import annotations

import ctypes
import sys

M_MMAP_THRESHOLD, M_ARENA_MAX = -3, -8
"""glibc's numbers for the size from which a block has pages of its own, and for the most heaps."""

LARGE = 128 << 10
"""Bytes of such a block. Set, it stays; by itself it grows to what is freed, up to 32 MiB."""


def keep_heap_small() -> None:
    """Ask glibc for no heap per thread and for large blocks that go back to the system when freed.

    A dozen threads that hold a heap each keep 4 MiB more; Python's own lock keeps them from
    waiting for one another. The files, prompts and requests of some calls at once would leave
    a heap with holes. Another C library has nothing to set.
    """
    if sys.platform != "linux":
        return
    set_option = getattr(ctypes.CDLL(None), "mallopt", None)
    if set_option is not None:
        set_option(M_ARENA_MAX, 1)
        set_option(M_MMAP_THRESHOLD, LARGE)
