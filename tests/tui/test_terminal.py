"""A real terminal: any bytes, signals, suspension, a crash, a terminal that vanishes."""

from __future__ import annotations

import os
import random
import signal
import sys
import termios
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.walk.terminal import PtyProgram

pytestmark = pytest.mark.processes

ROOT = Path(__file__).parents[2]
LEAVES_ALT_SCREEN = b"\x1b[?1049l"


@pytest.fixture
def dashboard(tmp_path: Path) -> Iterator[PtyProgram]:
    """The dashboard on a stand-in engine, painted."""
    program = start(tmp_path)
    program.wait_for(b"k7f2q")
    yield program
    program.close()


def start(home: Path, *more: str, **variables: str) -> PtyProgram:
    environ = dict(os.environ) | {"PYTHONPATH": str(ROOT), "TERM": "xterm-256color"} | variables
    command = [sys.executable, "-m", "tests.tui.look", str(home), *more]
    return PtyProgram(command, environ)


def still_answers(program: PtyProgram) -> bool:
    """Whether help opens, whatever was open before."""
    for _ in range(8):
        program.drain(quiet=0.1)
        program.write(b"\x1b")
        program.drain(quiet=0.3)
        program.write(b"\x1bOP")
        if program.sees(b"Open what the cursor is on", 2):
            return True
    return False


def test_any_bytes_are_survived(dashboard: PtyProgram) -> None:
    dice = random.Random(5)
    harmless = bytes(set(range(256)) - set(b"qQyYcCpPnNxXrRfFoOwW\x03\x11\x1a\r\n"))
    for _ in range(40):
        dashboard.write(bytes(dice.choices(harmless, k=200)))
        dashboard.read(0.02)
    dashboard.write(b"\xff\xfe\xc3\x28\x1b[999999;9m\x1b]0;x\x1b[<1;2\x1b[200~paste\x80\x1b[201~")
    assert dashboard.alive
    assert still_answers(dashboard)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_signals_end_it_in_good_order(tmp_path: Path, number: signal.Signals) -> None:
    program = start(tmp_path)
    before = termios.tcgetattr(program.fd)
    program.wait_for(b"k7f2q")
    os.kill(program.pid, number)
    said = program.read_to_end(15)
    assert os.waitstatus_to_exitcode(program.wait()) == 0
    assert LEAVES_ALT_SCREEN in said
    assert b"\x1b[?25h" in said
    assert termios.tcgetattr(program.fd)[3] == before[3]
    assert "closed" in (tmp_path / "engine").read_text()


def test_a_crash_leaves_the_terminal_as_it_was_and_the_log_says_why(tmp_path: Path) -> None:
    program = start(tmp_path, "--crash")
    before = termios.tcgetattr(program.fd)
    said = program.read_to_end(20)
    assert os.waitstatus_to_exitcode(program.wait()) == 1
    assert LEAVES_ALT_SCREEN in said
    assert said.rstrip().endswith(b"says why")
    assert b"Traceback" not in said
    assert termios.tcgetattr(program.fd)[3] == before[3]
    log = (tmp_path / "log").read_text()
    assert "ZeroDivisionError" in log


def test_suspended_and_brought_back(dashboard: PtyProgram) -> None:
    dashboard.write(b"\x1a")
    assert dashboard.stops(10)
    os.kill(dashboard.pid, signal.SIGCONT)
    dashboard.wait_for(b"k7f2q")
    assert still_answers(dashboard)


def test_brought_back_without_having_been_asked_to_stop(tmp_path: Path) -> None:
    program = start(tmp_path)
    program.wait_for(b"k7f2q")
    for _ in range(2):
        os.kill(program.pid, signal.SIGSTOP)
        assert program.stops(10)
        os.kill(program.pid, signal.SIGCONT)
        program.wait_for(b"k7f2q")
    assert still_answers(program)
    os.kill(program.pid, signal.SIGTERM)
    said = b""
    for _ in range(50):  # also while it gives the terminal back
        os.kill(program.pid, signal.SIGCONT)
        said += program.read(0.005)
    said += program.read_to_end(15)
    assert os.waitstatus_to_exitcode(program.wait()) == 0
    assert LEAVES_ALT_SCREEN in said
    assert "Traceback" not in (tmp_path / "log").read_text()


def in_pager(home: Path) -> PtyProgram:
    """The dashboard with a job's output in a pager that waits for enter."""
    program = start(home, PAGER="sh -c 'echo IN THE PAGER; read line'")
    program.wait_for(b"k7f2q")
    program.drain()
    program.write(b"j")
    program.drain()
    program.write(b"o")
    program.wait_for(b"IN THE PAGER")
    return program


def test_the_pager_has_the_terminal_and_its_signals(tmp_path: Path) -> None:
    program = in_pager(tmp_path)
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGCONT):
        os.kill(program.pid, number)
    assert program.drain_to_silence() == b""
    program.write(b"\r")
    program.wait_for(b"k7f2q")
    assert still_answers(program)
    program.close()


def test_the_engine_goes_on_while_the_pager_is_open(tmp_path: Path) -> None:
    program = in_pager(tmp_path)
    os.kill(program.pid, signal.SIGTERM)
    program.read_to_end(15)
    assert os.waitstatus_to_exitcode(program.wait()) == 0
    assert "closed" in (tmp_path / "engine").read_text()


def test_a_pager_that_is_not_there_is_named(tmp_path: Path) -> None:
    program = start(tmp_path, PAGER="/nowhere/pager")
    program.wait_for(b"k7f2q")
    program.drain()
    program.write(b"jo")
    program.wait_for(b"The pager cannot start")
    assert still_answers(program)
    program.close()


def test_a_terminal_that_vanishes_ends_it(tmp_path: Path) -> None:
    program = start(tmp_path)
    program.wait_for(b"k7f2q")
    os.close(program.fd)
    end = time.monotonic() + 15
    while time.monotonic() < end:
        pid, status = os.waitpid(program.pid, os.WNOHANG)
        if pid:
            break
        time.sleep(0.05)
    else:
        os.kill(program.pid, signal.SIGKILL)
        os.waitpid(program.pid, 0)
        pytest.fail("still there after its terminal is gone")
    assert os.waitstatus_to_exitcode(status) == 0
    assert "closed" in (tmp_path / "engine").read_text()


def test_one_burst_of_bytes_opens_a_prompt_fills_it_and_sends_it(tmp_path: Path) -> None:
    program = start(tmp_path)
    program.wait_for(b"k7f2q")
    program.write(b"nCount the words of README.md\rqrrr")
    tasks = tmp_path / "tasks"
    end = time.monotonic() + 15
    while not tasks.exists() and time.monotonic() < end:
        program.read(0.05)
    assert still_answers(program)
    assert tasks.read_text(encoding="utf-8") == "Count the words of README.md\n"
    program.close()


def test_a_storm_of_resizes(dashboard: PtyProgram) -> None:
    dice = random.Random(3)
    for _ in range(60):
        dashboard.resize(dice.randint(1, 240), dice.randint(1, 70))
        dashboard.read(0.01)
    dashboard.resize(100, 30)
    assert still_answers(dashboard)


def test_nothing_else_reaches_the_terminal(tmp_path: Path) -> None:
    program = start(tmp_path, "--noise")
    program.wait_for(b"k7f2q")
    program.drain(quiet=0.5)
    os.kill(program.pid, signal.SIGTERM)
    said = program.read_to_end(15)
    program.wait()
    assert b"NOISE" not in said
    log = (tmp_path / "log").read_text()
    assert "NOISE from a logger" in log
    assert "NOISE from warnings" in log


def test_the_window_title_tells_count_and_spend(tmp_path: Path) -> None:
    program = start(tmp_path)
    program.wait_for("\x1b]0;workers · 3 running · $1.07\x07".encode())
    program.close()
