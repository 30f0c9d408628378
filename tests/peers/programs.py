"""Starts a peer's program on a free port and runs one to its end, in a clean environment."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

PATH = "/usr/local/bin:/usr/bin:/bin"


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


@asynccontextmanager
async def serving(port: int, *command: str | Path, home: Path) -> AsyncIterator[None]:
    """A program that listens on the port, until the block ends."""
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
        env={"PATH": PATH, "HOME": str(home)},
    )
    try:
        async with asyncio.timeout(30):
            while not await _answers(port):  # noqa: ASYNC110 - it has no bell
                await asyncio.sleep(0.05)
        yield
    finally:
        process.terminate()
        await process.wait()


async def output_of(*command: str | Path, home: Path, seconds: float = 120) -> tuple[int, str]:
    """A program's exit code and what it printed."""
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        env={"PATH": PATH, "HOME": str(home)},
    )
    async with asyncio.timeout(seconds):
        out, _ = await process.communicate()
    return process.returncode or 0, out.decode(errors="replace")


async def _answers(port: int) -> bool:
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError:
        return False
    writer.close()
    return True
