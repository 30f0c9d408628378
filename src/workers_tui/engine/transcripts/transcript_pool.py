"""Reads many transcripts, with a second process when there are many bytes.

Both processes take the next block of files from one pipe of numbers, so neither
waits for the other. News come out in the order of the files.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Generator, Iterator, Sequence
from typing import IO, TYPE_CHECKING

import msgspec

from workers_tui.engine.transcripts.transcript_child import (
    AHEAD,
    Block,
    Child,
    Task,
    Turns,
    child,
    fetch_behind,
    read_block,
    read_task,
)
from workers_tui.engine.transcripts.transcripts import PIECE, News, Reader

if TYPE_CHECKING:
    from queue import SimpleQueue

BLOCK = 4 << 20
"""Bytes of transcripts that are handed out at once."""
WORTH_A_PROCESS = 100 << 20
"""With fewer new bytes one process is done before a second has started."""

SHORT = 1 << 14
"""Bytes of the smallest buffer."""

Read = tuple[int, list[News]]
"""The number of a block and the news in it."""


def read_all(tasks: Sequence[Task], *, processes: int | None = None) -> Generator[News, None, None]:
    """The news of every task, in order. A file that cannot be read has an `error`."""
    if processes is None:
        wide = sum(task.bytes for task in tasks) >= WORTH_A_PROCESS and (os.cpu_count() or 1) > 1
        processes = 2 if wide else 1
    blocks = _blocks(tasks)
    for number in range(1 - AHEAD, 0):
        fetch_behind(blocks, number)
    if processes > 1:
        yield from _together(blocks)
        return
    most = max((task.bytes for task in tasks), default=0)
    # To clear a large buffer would cost more than to read a short tail.
    reader = Reader(min(PIECE, max(SHORT, most + 1)))
    for number, block in enumerate(blocks):
        fetch_behind(blocks, number)
        for task in block:
            yield read_task(reader, task)


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
    with (
        contextlib.closing(Turns(len(blocks))) as turns,
        child(blocks, turns) as second,
        _drained(second) as done,
    ):
        yield from _in_order(blocks, turns, done)


@contextlib.contextmanager
def _drained(second: Child) -> Iterator[SimpleQueue[Read | None]]:
    """What the child has read; None at its end."""
    # Only here: they are a tenth of the start of a command that reads little.
    from queue import SimpleQueue
    from threading import Thread

    done: SimpleQueue[Read | None] = SimpleQueue()
    thread = Thread(target=_drain, args=(second.stdout, done), daemon=True)
    thread.start()
    try:
        yield done
    finally:
        second.kill()
        thread.join()


def _drain(stdout: IO[bytes], done: SimpleQueue[Read | None]) -> None:
    decoder = msgspec.msgpack.Decoder(Read)
    with stdout as pipe:
        while len(head := pipe.read(4)) == 4:
            size = int.from_bytes(head, "little")
            raw = pipe.read(size)
            if len(raw) < size:
                break
            done.put(decoder.decode(raw))
    done.put(None)


def _in_order(blocks: list[Block], turns: Turns, done: SimpleQueue[Read | None]) -> Iterator[News]:
    reader, ready, child_lives = Reader(), dict[int, list[News]](), True
    for number, block in enumerate(blocks):
        while number not in ready:
            mine = turns.next()
            if mine is not None:
                fetch_behind(blocks, mine)
                ready[mine] = read_block(reader, blocks[mine])
            elif child_lives:
                child_lives = _take(done, ready)
            else:  # the child died with this block in its hands
                ready[number] = read_block(reader, block)
            while child_lives and not done.empty():
                child_lives = _take(done, ready)
        yield from ready.pop(number)


def _take(done: SimpleQueue[Read | None], ready: dict[int, list[News]]) -> bool:
    """Wait for a block of the child's; False at its end."""
    item = done.get()
    if item is not None:
        ready.update([item])
    return item is not None
