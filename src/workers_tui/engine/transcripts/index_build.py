"""Has a long build of the index done by a program apart, and hears how far it is.

What a gigabyte of transcripts leaves behind in a process's memory stays there
for good; a program that ends gives it back. Whatever becomes of that program,
the caller then reads what is left: the index says how far it came.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path

from workers_tui.engine.transcripts import index_child
from workers_tui.engine.transcripts.number_words import size
from workers_tui.engine.transcripts.savings_view import Reading
from workers_tui.engine.transcripts.transcript_files import Source, is_text

log = logging.getLogger(__name__)

WORTH_A_PROGRAM = 16 << 20
"""Bytes; fewer are read in this process, and leave little."""


class Progress:
    """Tells how much of the transcripts is read: each step to the pane, each quarter in words."""

    def __init__(
        self, total: int, say: Callable[[str], None], show: Callable[[Reading], None]
    ) -> None:
        self.read = 0
        """Bytes that were read when it was told last."""
        self._total = total
        self._say = say
        self._show = show
        self._quarters = 0
        say(f"reading {size(total)} of transcripts, once")
        show(Reading(0, total))

    def take(self, read: int) -> None:
        """So many bytes are read by now; more than there were where files grow meanwhile."""
        self.read = read
        self._show(Reading(read, self._total))
        quarters = min(4, 4 * read // self._total)
        if quarters > self._quarters:
            self._quarters = quarters
            self._say(f"{25 * quarters} % of {size(self._total)} of transcripts is read")


async def build_apart(path: Path, sources: Sequence[Source], told: Callable[[int], None]) -> None:
    """Bring the index up to date by another program; `told` hears the bytes read so far.

    Nothing is raised when it cannot be started or dies. Cancelled, it is ended.
    """
    try:
        process = await asyncio.create_subprocess_exec(
            *index_child.command(path),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
    except OSError as error:
        log.info("the index is built in this process: %s", error)
        return
    async with _ended(process):
        await _ask(process, sources)
        async for read in _counts(process):
            told(read)
        if code := await process.wait():
            log.info(
                "the rest of the index is built in this process: the other ended with %d", code
            )


@contextlib.asynccontextmanager
async def _ended(process: asyncio.subprocess.Process) -> AsyncIterator[None]:
    """The program does not outlive what is done with it."""
    try:
        yield
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()


async def _ask(process: asyncio.subprocess.Process, sources: Sequence[Source]) -> None:
    stdin = process.stdin
    if stdin is None:
        return
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # it is dead by now
        stdin.write(index_child.question([one for one in sources if is_text(one.root)]))
        await stdin.drain()
    stdin.close()


async def _counts(process: asyncio.subprocess.Process) -> AsyncIterator[int]:
    """The bytes it has read, as it tells them."""
    while process.stdout is not None and (line := await process.stdout.readline()):
        if line.strip().isdigit():
            yield int(line)
