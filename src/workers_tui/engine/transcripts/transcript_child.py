"""The second process that reads transcripts: how it is started, fed and ended.

A fork where this process has no other thread: that costs a tenth of a program's
start. Where it has some a fork may hang, so there it is a program of its own.
"""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import sys
from collections.abc import Callable, Iterator
from typing import IO, Protocol

import msgspec

from workers_tui.engine.transcripts.read_ahead import fetch
from workers_tui.engine.transcripts.transcript_place import Place
from workers_tui.engine.transcripts.transcripts import News, Reader


class Task(msgspec.Struct, array_like=True):
    """One file to read."""

    path: str
    session: str
    bytes: int
    """About how much there is to read."""
    place: Place | None = None


Block = list[Task]

AHEAD = 3
"""Whoever takes a block has the kernel fetch the one that stands so many behind it."""


class Turns:
    """Numbers of blocks in a pipe: whoever reads one has that block."""

    def __init__(self, count: int) -> None:
        self._read, write = os.pipe()
        os.set_blocking(write, False)
        try:
            # A pipe holds 16,000 numbers; what does not fit is left for the one who waits.
            os.write(write, b"".join(number.to_bytes(4, "little") for number in range(count)))
        finally:
            os.close(write)

    def fileno(self) -> int:
        """For a child to read from."""
        return self._read

    def next(self) -> int | None:
        """The next block that nobody has."""
        return _next(self._read)

    def close(self) -> None:
        """No more of them for this process."""
        os.close(self._read)


def _next(fd: int) -> int | None:
    raw = os.read(fd, 4)
    return int.from_bytes(raw, "little") if len(raw) == 4 else None


class Child(Protocol):
    """What is wanted of either kind of child."""

    stdout: IO[bytes] | None

    def kill(self) -> None:
        """End it now."""

    def wait(self) -> int:
        """Until it has ended; its exit code, below 0 for a signal."""


@contextlib.contextmanager
def child(blocks: list[Block], turns: Turns) -> Iterator[Child]:
    """A second process that takes its turns with us."""
    if _has_threads():
        with _program(blocks, turns) as started:
            yield started
        return
    forked = _Fork(lambda out: _serve(blocks, turns.fileno(), out))
    try:
        yield forked
    finally:
        forked.kill()
        _note(forked.wait())


def _note(code: int) -> None:
    """Keep a trace of a child that failed; what it left is read by its parent."""
    if code not in {0, -signal.SIGKILL}:
        import logging  # a command that reads little needs none

        logging.getLogger(__name__).info("the second reader of transcripts ended with %d", code)


def _has_threads() -> bool:
    """Whether anything else runs in this process, or nobody can tell."""
    try:
        return len(os.listdir("/proc/self/task")) != 1  # noqa: PTH208 - it only counts
    except OSError:
        return True


class _Fork:
    """A copy of this process that does one piece of work."""

    def __init__(self, work: Callable[[IO[bytes]], None]) -> None:
        read, write = os.pipe()
        self._pid = os.fork()
        if self._pid == 0:
            os.close(read)
            _work_and_end(work, write)
        os.close(write)
        self.stdout: IO[bytes] | None = open(read, "rb")  # noqa: SIM115, PTH123 - the reader closes it

    def kill(self) -> None:
        os.kill(self._pid, signal.SIGKILL)

    def wait(self) -> int:
        return os.waitstatus_to_exitcode(os.waitpid(self._pid, 0)[1])


def _work_and_end(work: Callable[[IO[bytes]], None], write: int) -> None:
    """Nothing of what the parent has begun may be ended here a second time."""
    code = 1
    try:
        settle()
        with open(write, "wb") as out:
            work(out)
        code = 0
    finally:
        os._exit(code)


def settle() -> None:
    """Ctrl+C is the parent's affair, which ends us; and nothing here makes garbage in circles."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.disable()


@contextlib.contextmanager
def _program(blocks: list[Block], turns: Turns) -> Iterator[Child]:
    # Only here: they are a tenth of the start of a command that reads little.
    import subprocess
    import threading

    process = subprocess.Popen(
        [sys.executable, "-m", __name__, str(turns.fileno())],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        pass_fds=(turns.fileno(),),
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    feeder = threading.Thread(target=_feed, args=(process.stdin, blocks), daemon=True)
    feeder.start()
    try:
        yield process
    finally:
        process.kill()
        _note(process.wait())
        feeder.join()


def _feed(stdin: IO[bytes], blocks: list[Block]) -> None:
    with contextlib.suppress(BrokenPipeError), stdin as pipe:
        pipe.write(msgspec.msgpack.encode(blocks))


# in the child


def _serve(blocks: list[Block], turns: int, out: IO[bytes]) -> None:
    """Send the news of a block after another, until the numbers are used up."""
    reader = Reader()
    while (number := _next(turns)) is not None:
        fetch_behind(blocks, number)
        raw = msgspec.msgpack.encode((number, read_block(reader, blocks[number])))
        out.write(len(raw).to_bytes(4, "little") + raw)
        out.flush()


def fetch_behind(blocks: list[Block], number: int) -> None:
    """Have the kernel read what is new in the block that stands AHEAD behind this one, if any."""
    for task in blocks[number + AHEAD] if number + AHEAD < len(blocks) else ():
        fetch(task.path, task.place.offset if task.place is not None else 0, task.bytes)


def read_block(reader: Reader, block: Block) -> list[News]:
    """The news of every task; a file that cannot be read has an `error`."""
    return [read_task(reader, task) for task in block]


def read_task(reader: Reader, task: Task) -> News:
    """The news of one file."""
    try:
        return reader.read(task.path, task.session, task.place)
    except OSError as error:
        return News(task.place or Place(), error=error.strerror or str(error))


def main() -> None:
    """The program: blocks on stdin, news on stdout."""
    settle()
    blocks = msgspec.msgpack.decode(sys.stdin.buffer.read(), type=list[Block])
    with contextlib.suppress(BrokenPipeError):
        _serve(blocks, int(sys.argv[1]), sys.stdout.buffer)


if __name__ == "__main__":
    main()
