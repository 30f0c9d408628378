"""A pseudo terminal with a program in it: bytes in, bytes out, and when they came."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import termios
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress


class PtyProgram:
    """A child on a terminal of its own."""

    def __init__(
        self, command: Sequence[str], environ: Mapping[str, str], size: tuple[int, int] = (140, 50)
    ) -> None:
        self.started = time.perf_counter()
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execvpe(command[0], list(command), dict(environ))  # noqa: S606 - no shell is wanted
        self.resize(*size)

    def resize(self, columns: int, rows: int) -> None:
        """Give the terminal another size."""
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    @property
    def alive(self) -> bool:
        """Whether the child still runs."""
        return os.waitpid(self.pid, os.WNOHANG) == (0, 0)

    def sees(self, wanted: bytes, timeout: float) -> bool:
        """Whether the terminal shows these bytes within the time."""
        try:
            self.wait_for(wanted, timeout)
        except TimeoutError:
            return False
        return True

    def read_to_end(self, timeout: float) -> bytes:
        """Everything until the child has left the terminal."""
        end, said = time.perf_counter() + timeout, b""
        while time.perf_counter() < end:
            ready, _, _ = select.select([self.fd], [], [], 0.2)
            if ready:
                try:
                    data = os.read(self.fd, 1 << 16)
                except OSError:
                    break
                if not data:
                    break
                said += data
        return said

    def stops(self, timeout: float) -> bool:
        """Whether the child stops, as on ctrl+z; reads meanwhile, or it could not write."""
        end = time.perf_counter() + timeout
        while time.perf_counter() < end:
            self.read(0.05)
            pid, status = os.waitpid(self.pid, os.WNOHANG | os.WUNTRACED)
            if pid:
                return os.WIFSTOPPED(status)
        return False

    def wait(self) -> int:
        """The child's wait status."""
        return os.waitpid(self.pid, 0)[1]

    def read(self, timeout: float) -> bytes:
        """What comes within the time; nothing when nothing does or the program ended."""
        ready, _, _ = select.select([self.fd], [], [], timeout)
        if not ready:
            return b""
        with suppress(OSError):
            return os.read(self.fd, 1 << 16)
        return b""

    def wait_for(self, wanted: bytes, timeout: float = 30.0) -> float:
        """Seconds until the terminal has shown these bytes. Raises TimeoutError."""
        start, seen = time.perf_counter(), b""
        while time.perf_counter() - start < timeout:
            seen = (seen + self.read(0.5))[-(1 << 17) :]
            if wanted in seen:
                return time.perf_counter() - start
        raise TimeoutError(f"{wanted!r} never came; last: {seen[-300:]!r}")

    def write(self, data: bytes) -> None:
        """Type."""
        os.write(self.fd, data)

    def drain(self, quiet: float = 0.3, at_most: float = 5.0) -> None:
        """Read until nothing comes for a while."""
        end = time.perf_counter() + at_most
        while time.perf_counter() < end and self.read(quiet):
            pass

    def drain_to_silence(self, quiet: float = 1.0) -> bytes:
        """What comes until nothing does for a while."""
        said = b""
        while more := self.read(quiet):
            said += more
        return said

    def memory_kib(self, field: str = "VmRSS") -> int:
        """The child's memory, from /proc."""
        with open(f"/proc/{self.pid}/status", encoding="ascii") as status:  # noqa: PTH123 - /proc
            for line in status:
                if line.startswith(field + ":"):
                    return int(line.split()[1])
        raise LookupError(field)

    def close(self) -> int:
        """End the child; its wait status."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGTERM)
            os.kill(self.pid, signal.SIGCONT)
        end = time.perf_counter() + 10
        while time.perf_counter() < end:
            self.read(0.05)
            done, status = os.waitpid(self.pid, os.WNOHANG)
            if done:
                os.close(self.fd)
                return status
        os.kill(self.pid, signal.SIGKILL)
        _, status = os.waitpid(self.pid, 0)
        os.close(self.fd)
        return status
