"""Stands between the engine and one agent process, and leaves nothing alive behind it.

Run as a program of its own (standard library only): CONTROL_FD COMMAND…
Tools of an agent are sessions of their own and outlive it when it is killed.
The guard adopts every orphan below it, so the tree is always complete: when the
agent ends, when the engine says so on the control pipe, or when the engine dies
(the pipe closes), it interrupts the agent, then kills whatever is left.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

STOP = b"s"
"""Interrupt, wait, kill."""
GRACE = 3.0
"""Seconds between SIGINT and SIGKILL."""
SWEEP = 3.0
"""Seconds to reap what was killed."""
PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
AGAIN = 0.2
"""Seconds between two rounds of SIGKILL."""


def prctl(option: int, value: int) -> None:
    """Ask the kernel, where there is such a call."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)


def parents() -> dict[int, int]:
    """The parent of every process."""
    if sys.platform == "linux":
        return dict(filter(None, map(_parent, Path("/proc").iterdir())))
    listed = subprocess.run(
        ["ps", "-axo", "pid=,ppid="], capture_output=True, text=True, check=False
    )
    rows = (line.split() for line in listed.stdout.splitlines())
    return {int(row[0]): int(row[1]) for row in rows if len(row) == 2}


def _parent(entry: Path) -> tuple[int, int] | None:
    if not entry.name.isdigit():
        return None
    try:
        stat = (entry / "stat").read_bytes()
    except OSError:
        return None
    return int(entry.name), int(stat.rpartition(b")")[2].split()[1])


def below(root: int) -> list[int]:
    """Every process that descends from `root`, children first."""
    children: dict[int, list[int]] = {}
    for pid, parent in parents().items():
        children.setdefault(parent, []).append(pid)
    found, todo = [], [root]
    while todo:
        kids = children.get(todo.pop(0), [])
        found += kids
        todo += kids
    return found


def send(pid: int, number: int) -> None:
    """Signal a process that may be gone."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


class Guard:
    """Watches one agent."""

    def __init__(self, control: int, command: list[str]) -> None:
        self._control = control
        self._recorded: set[int] = set()
        prctl(PR_SET_CHILD_SUBREAPER, 1)
        self._wake, waker = os.pipe()
        os.set_blocking(waker, False)
        signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        for ignored in (signal.SIGINT, signal.SIGHUP, signal.SIGPIPE):
            signal.signal(ignored, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, lambda *_: self.stop())
        self._agent = subprocess.Popen(command, preexec_fn=_in_child)  # noqa: PLW1509 - one thread
        self._close_pipes()
        self.code: int | None = None
        self._kill_at: float | None = None

    @staticmethod
    def _close_pipes() -> None:
        """Leave the agent's pipes to the agent, so that their end is seen."""
        null = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(null, stream)

    def run(self) -> int:
        """Until the agent has ended; returns its exit code as a shell tells it."""
        watched = [self._control, self._wake]
        while self.code is None:
            ready, _, _ = select.select(watched, [], [], self._patience())
            if self._control in ready:
                said = os.read(self._control, 16)
                self.stop()
                watched = [one for one in watched if said or one != self._control]
            if self._wake in ready:
                os.read(self._wake, 4096)
            self._recorded.update(below(os.getpid()) if sys.platform != "linux" else ())
            self._reap()
            if self._kill_at is not None and time.monotonic() >= self._kill_at:
                self._kill_at = time.monotonic() + AGAIN
                self.kill()
        self._sweep()
        return self.code if self.code >= 0 else 128 - self.code

    def _patience(self) -> float | None:
        """Until the next thing to do; where orphans are not adopted, descendants are noted."""
        if self._kill_at is not None:
            return max(0.0, self._kill_at - time.monotonic())
        return None if sys.platform == "linux" else 1.0

    def stop(self) -> None:
        """Ask the agent to end; it kills its own tools then."""
        if self._kill_at is None:
            self._kill_at = time.monotonic() + GRACE
            send(self._agent.pid, signal.SIGINT)

    def kill(self) -> None:
        """End everything below us now."""
        for pid in below(os.getpid()):
            send(pid, signal.SIGKILL)

    def _reap(self) -> None:
        with contextlib.suppress(ChildProcessError):
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if pid == 0:
                    return
                if pid == self._agent.pid:
                    self.code = os.waitstatus_to_exitcode(status)

    def _sweep(self) -> None:
        """What the agent left alive has come to us: kill it, until nothing is left."""
        until = time.monotonic() + SWEEP
        while time.monotonic() < until:
            self.kill()
            for pid in self._recorded:  # where orphans are not adopted
                send(pid, signal.SIGKILL)
            self._recorded.clear()
            try:
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass
            except ChildProcessError:
                return
            time.sleep(0.01)


def _in_child() -> None:
    prctl(PR_SET_PDEATHSIG, signal.SIGINT)
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGPIPE, signal.SIGTERM, signal.SIGCHLD):
        signal.signal(number, signal.SIG_DFL)


def main(arguments: list[str]) -> int:
    """Guard one command."""
    try:
        guard = Guard(int(arguments[0]), arguments[1:])
    except OSError as wrong:
        sys.stderr.write(f"{arguments[1]} cannot be started: {wrong}\n")
        return 127
    return guard.run()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
