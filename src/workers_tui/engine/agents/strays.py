"""Ends what is left of an agent whose guard was killed itself: by its tools, or by a `pkill`.

Its orphans are nobody's children then. But each still has its session's config
directory in its environment, as no other process does. Where the kernel does not
tell environments, the agent's own end is all there is.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

from workers_tui.engine.agents import child_guard

PATIENCE = 3.0
"""Seconds until whoever cannot be killed is left."""
VARIABLE = "CLAUDE_CONFIG_DIR"


def end_strays(config: Path) -> None:
    """Kill every process of a session, those that are started meanwhile, too. Blocking."""
    until = time.monotonic() + PATIENCE
    while (found := list(strays(config))) and time.monotonic() < until:
        for pid in found:
            child_guard.send(pid, signal.SIGKILL)
        time.sleep(child_guard.AGAIN / 10)


def strays(config: Path) -> Iterator[int]:
    """The processes of the session with this config directory."""
    mark = f"{VARIABLE}={config}"
    for pid in child_guard.parents():
        with contextlib.suppress(OSError):  # it ended, or is another user's
            if os.fsencode(mark) in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"):
                yield pid
