"""`workers-tui` without a command, in a terminal of its own: starts, serves, leaves no trace."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator

import httpx
import pytest
from tests.contracts.program import PATIENCE, Program

pytestmark = pytest.mark.processes

LEAVES_THE_SCREEN = b"\x1b[?1049l"


class Window:
    """A terminal of 120 by 40 with a program in it."""

    def __init__(self, program: Program, *arguments: str) -> None:
        self._master, slave = os.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
        self.before = termios.tcgetattr(slave)
        self._slave = slave
        self.process = subprocess.Popen(
            [sys.executable, "-m", "workers_tui", *arguments],
            stdin=slave, stdout=slave, stderr=slave, cwd=program.project,
            env={**program.environ, "TERM": "xterm-256color"}, start_new_session=True,
        )  # fmt: skip
        self.seen = b""

    def until(self, happened: Callable[[], bool], what: str) -> None:
        """Read on until something is there."""
        end = time.monotonic() + PATIENCE
        while not happened():
            assert time.monotonic() < end, f"{what}: {self.seen[-2000:]!r}"
            self._read(0.05)

    def _read(self, seconds: float) -> bool:
        ready, _, _ = select.select([self._master], [], [], seconds)
        if ready:
            self.seen += os.read(self._master, 65536)
        return bool(ready)

    def type(self, text: bytes) -> None:
        """Press keys."""
        os.write(self._master, text)

    def ended(self) -> int:
        """Its exit code, once it has left by itself."""
        self.until(lambda: self.process.poll() is not None, "it did not end")
        while self._read(0):
            pass
        return self.process.returncode

    @property
    def restored(self) -> bool:
        """Whether the terminal is as it was."""
        return termios.tcgetattr(self._slave) == self.before

    def close(self) -> None:
        """End what is left."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self._slave)
        os.close(self._master)


@pytest.fixture
def window(program: Program) -> Iterator[Callable[..., Window]]:
    """Opens windows; all are closed at the end."""
    with contextlib.ExitStack() as opened:

        def open_window(*arguments: str) -> Window:
            made = Window(program, *arguments)
            opened.callback(made.close)
            return made

        yield open_window


def test_the_demo_lives_by_itself_and_keeps_nothing(
    program: Program, window: Callable[..., Window]
) -> None:
    for name in ("OPENROUTER_API_KEY", "OPENROUTER_BASE_URL"):
        program.environ.pop(name)
    program.environ["HTTPS_PROXY"] = program.environ["HTTP_PROXY"] = "http://127.0.0.1:9"
    demo = window("--demo")
    demo.until(lambda: b" running" in demo.seen, "no job runs")
    demo.until(lambda: b"2 clients" in demo.seen, "its client does not come over HTTP")
    demo.type(b"q")
    demo.until(lambda: b"y/n" in demo.seen or demo.process.poll() is not None, "no question")
    demo.type(b"y")
    assert demo.ended() == 0
    assert LEAVES_THE_SCREEN in demo.seen
    assert demo.restored
    assert not program.home.exists()
    assert list((program.root / "user").rglob("*")) == []


def test_the_dashboard_serves_where_it_says_and_takes_its_record_along(
    program: Program, window: Callable[..., Window]
) -> None:
    program.settings()
    board = window("--port", "0")
    record = program.home / "server.json"
    board.until(record.exists, "no server.json")
    said = json.loads(record.read_text())
    assert said["pid"] == board.process.pid
    assert httpx.get(said["url"].replace("/mcp", "/healthz")).status_code == 200
    board.type(b"q")
    assert board.ended() == 0
    assert board.restored
    assert not record.exists()
    assert b"Traceback" not in board.seen


def test_told_to_end_it_leaves_the_terminal_as_it_was(
    program: Program, window: Callable[..., Window]
) -> None:
    """Case F2."""
    board = window("--port", "0")
    board.until((program.home / "server.json").exists, "no server.json")
    board.process.send_signal(signal.SIGTERM)
    assert board.ended() == 0
    assert LEAVES_THE_SCREEN in board.seen
    assert board.restored


def test_bytes_that_mean_nothing_do_no_harm(
    program: Program, window: Callable[..., Window]
) -> None:
    """Case F2: every byte but those that are keys which lead out."""
    board = window("--port", "0")
    board.until((program.home / "server.json").exists, "no server.json")
    board.type(bytes(range(0x80, 0x100)) + b"\xff\xfe\x00\xc3\x28\xed\xa0\x80")
    painted = len(board.seen)
    board.type(b"?")
    board.until(lambda: len(board.seen) > painted, "the screen stands still")
    assert board.process.poll() is None
    board.process.send_signal(signal.SIGTERM)
    assert board.ended() == 0
