"""All threads of the dashboard share one heap, and large blocks stand outside it."""

from __future__ import annotations

import subprocess
import sys

import pytest

CODE = """
import ctypes, threading
from workers_tui.cli.heap import keep_heap_small
if {shared}:
    keep_heap_small()
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
wait = threading.Barrier(5)
def work():
    libc.malloc(100_000)
    wait.wait()
for _ in range(4):
    threading.Thread(target=work).start()
wait.wait()
libc.malloc_stats()
"""

BLOCKS = """
import ctypes
from workers_tui.cli.heap import keep_heap_small
if {shared}:
    keep_heap_small()
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.free(ctypes.c_void_p(libc.malloc(1_000_000)))  # from now on glibc takes such for usual
for _ in range(50):
    libc.malloc(300_000)
libc.malloc_stats()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="glibc's own")
@pytest.mark.parametrize("shared", [True, False])
def test_threads_share_one_heap_when_asked(shared: bool) -> None:
    assert ("Arena 1" not in stats(CODE.format(shared=shared))) == shared


@pytest.mark.skipif(sys.platform != "linux", reason="glibc's own")
@pytest.mark.parametrize("shared", [True, False])
def test_large_blocks_leave_no_holes_in_the_heap_when_asked(shared: bool) -> None:
    told = stats(BLOCKS.format(shared=shared))
    (regions,) = [line for line in told.splitlines() if line.startswith("max mmap regions")]
    assert (int(regions.partition("=")[2]) >= 50) == shared


def stats(code: str) -> str:
    """What glibc tells of its heaps at the end of a program."""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=30
    )
    if "Arena 0" not in done.stderr:
        pytest.skip("another C library than glibc")
    return done.stderr
