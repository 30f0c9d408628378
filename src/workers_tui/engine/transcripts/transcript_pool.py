"""Reads many transcripts, with a second process when there are many bytes.

Both processes take the next block of files from one pipe of numbers, so neither
waits for the other. News come out in the order of the files. A child is a
program of its own, not a fork: the caller may have threads.
"""

from __future__ import annotations

import contextlib
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence

import msgspec

from workers_tui.engine.transcripts.transcript_place import Place
from workers_tui.engine.transcripts.transcripts import News, Reader

BLOCK = 4 << 20
"""Bytes of transcripts that are handed out at once."""
WORTH_A_PROCESS = 100 << 20
"""With fewer new bytes one process is done before a second has started."""


class Task(msgspec.Struct, array_like=True):
    """One file to read."""

    path: str
    session: str
    bytes: int
    """About how much there is to read."""
    place: Place | None = None


Block = list[Task]


def read_all(tasks: Sequence[Task], *, processes: int | None = None) -> Iterator[News]:
    """The news of every task, in order. A file that cannot be read has an `error`."""
    if processes is None:
        wide = sum(task.bytes for task in tasks) >= WORTH_A_PROCESS and (os.cpu_count() or 1) > 1
        processes = 2 if wide else 1
    if processes > 1:
        yield from _together(_blocks(tasks))
        return
    reader = Reader()
    for task in tasks:
        yield _read(reader, task)


def _read(reader: Reader, task: Task) -> News:
    try:
        return reader.read(task.path, task.session, task.place)
    except OSError as error:
        return News(task.place or Place(), error=error.strerror or str(error))


def _blocks(tasks: Sequence[Task]) -> list[Block]:
    blocks: list[Block] = [[]]
    size = 0
    for task in tasks:
        if size >= BLOCK:
            blocks.append([])
            size = 0
        blocks[-1].append(task)
        size += task.bytes
    return blocks


def _together(blocks: list[Block]) -> Iterator[News]:
    """Read blocks here and in a child; hand the news on as soon as their turn has come."""
    turns = _Turns(len(blocks))
    child = subprocess.Popen(
        [sys.executable, "-m", __name__, str(turns.fileno())],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        pass_fds=(turns.fileno(),),
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    done: queue.SimpleQueue[tuple[int, list[News]] | None] = queue.SimpleQueue()
    threads = (
        threading.Thread(target=_feed, args=(child, blocks), daemon=True),
        threading.Thread(target=_drain, args=(child, done), daemon=True),
    )
    for thread in threads:
        thread.start()
    try:
        yield from _in_order(blocks, turns, done)
    finally:
        turns.close()
        child.kill()
        child.wait()
        for thread in threads:
            thread.join()


def _in_order(
    blocks: list[Block],
    turns: _Turns,
    done: queue.SimpleQueue[tuple[int, list[News]] | None],
) -> Iterator[News]:
    reader, ready, child_lives = Reader(), dict[int, list[News]](), True
    for number, block in enumerate(blocks):
        while number not in ready:
            mine = turns.next()
            if mine is not None:
                ready[mine] = [_read(reader, task) for task in blocks[mine]]
            elif child_lives:
                item = done.get()
                child_lives = item is not None
                ready.update([item] if item else [])
            else:  # the child died with this block in its hands
                ready[number] = [_read(reader, task) for task in block]
            with contextlib.suppress(queue.Empty):
                while item := done.get_nowait():
                    ready.update([item])
        yield from ready.pop(number)


class _Turns:
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
        return self._read

    def next(self) -> int | None:
        return _next(self._read)

    def close(self) -> None:
        os.close(self._read)


def _next(fd: int) -> int | None:
    raw = os.read(fd, 4)
    return int.from_bytes(raw, "little") if len(raw) == 4 else None


def _feed(child: subprocess.Popen[bytes], blocks: list[Block]) -> None:
    assert child.stdin is not None  # noqa: S101 - for the type checker
    with contextlib.suppress(BrokenPipeError), child.stdin as pipe:
        pipe.write(msgspec.msgpack.encode(blocks))


def _drain(
    child: subprocess.Popen[bytes], done: queue.SimpleQueue[tuple[int, list[News]] | None]
) -> None:
    """Take what the child has read; None at its end."""
    assert child.stdout is not None  # noqa: S101 - for the type checker
    decoder = msgspec.msgpack.Decoder(tuple[int, list[News]])
    with child.stdout as pipe:
        while len(head := pipe.read(4)) == 4:
            size = int.from_bytes(head, "little")
            raw = pipe.read(size)
            if len(raw) < size:
                break
            done.put(decoder.decode(raw))
    done.put(None)


def serve_blocks(turns: int) -> None:
    """The child: blocks on stdin, news on stdout, until the numbers are used up."""
    blocks = msgspec.msgpack.decode(sys.stdin.buffer.read(), type=list[Block])
    reader = Reader()
    while (number := _next(turns)) is not None:
        news = [_read(reader, task) for task in blocks[number]]
        raw = msgspec.msgpack.encode((number, news))
        sys.stdout.buffer.write(len(raw).to_bytes(4, "little") + raw)
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    with contextlib.suppress(BrokenPipeError):
        serve_blocks(int(sys.argv[1]))
