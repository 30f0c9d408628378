"""Lets all threads of a program that lives long share one heap."""

from __future__ import annotations

import ctypes
import sys

M_ARENA_MAX = -8
"""glibc's number for the most heaps it may open."""


def share_one_heap() -> None:
    """Ask glibc for no heap per thread; another C library has nothing to set.

    A dozen threads that hold a heap each keep 4 MiB more; Python's own lock keeps them from
    waiting for one another.
    """
    if sys.platform != "linux":
        return
    set_option = getattr(ctypes.CDLL(None), "mallopt", None)
    if set_option is not None:
        set_option(M_ARENA_MAX, 1)
