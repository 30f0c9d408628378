"""A program that brings the index up to date and ends, and its memory with it.

The index's path is its argument, the sources stand on its input. After each
step it tells on its output how many bytes it has read; when nobody is left to
hear it, it ends, and what it had committed stays.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import IO

import msgspec

from workers_tui.engine.store import store_file
from workers_tui.engine.transcripts.indexer import Indexer
from workers_tui.engine.transcripts.short_transactions import transactions
from workers_tui.engine.transcripts.transcript_child import settle
from workers_tui.engine.transcripts.transcript_files import Source


def command(path: Path) -> list[str]:
    """How the program is started. `-P`: a module in the working directory is none of ours."""
    return [sys.executable, "-P", "-m", __name__, str(path)]


def question(sources: Sequence[Source]) -> bytes:
    """What it reads from its input."""
    return msgspec.json.encode(sources)


def build(path: Path, sources: Sequence[Source], out: IO[bytes]) -> None:
    """Read what is new and tell the bytes, a line for each step."""
    read = 0

    def tell(count: int) -> None:
        nonlocal read
        read += count
        out.write(f"{read}\n".encode())
        out.flush()

    with contextlib.closing(store_file.connect(path, durable=False)) as conn:
        Indexer(transactions(conn), sources).refresh(tell)


def main() -> None:
    """The program."""
    settle()
    sources = msgspec.json.decode(sys.stdin.buffer.read(), type=list[Source])
    try:
        build(Path(sys.argv[1]), sources, sys.stdout.buffer)
    except BrokenPipeError:
        os._exit(1)  # nor could the output be flushed


if __name__ == "__main__":
    main()
