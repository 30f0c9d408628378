"""All threads of the dashboard take their memory from one heap."""

from __future__ import annotations

import subprocess
import sys

import pytest

CODE = """
import ctypes, threading
from workers_tui.cli.one_heap import share_one_heap
if {shared}:
    share_one_heap()
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


@pytest.mark.skipif(sys.platform != "linux", reason="glibc's own")
@pytest.mark.parametrize("shared", [True, False])
def test_threads_share_one_heap_when_asked(shared: bool) -> None:
    done = subprocess.run(
        [sys.executable, "-c", CODE.format(shared=shared)],
        capture_output=True, text=True, check=True, timeout=30,
    )  # fmt: skip
    if "Arena 0" not in done.stderr:
        pytest.skip("another C library than glibc")
    assert ("Arena 1" not in done.stderr) == shared
