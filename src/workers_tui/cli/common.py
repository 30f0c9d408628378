"""What several commands share: options, running a coroutine, printing JSON, an engine."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from workers_tui.engine.errors import StoreUnusable, WrongUse
from workers_tui.home.files import prepare, why
from workers_tui.home.places import Home, find_home

if TYPE_CHECKING:
    from workers_tui.engine.engine import Engine

T = TypeVar("T")

LOG_BYTES = 2_000_000


@dataclass(frozen=True, slots=True)
class Options:
    """The group's options, as given before the command."""

    config: Path | None = None
    home: Path | None = None
    host: str = "127.0.0.1"
    port: int = 4747
    project: Path | None = None
    demo: bool = False

    def place(self) -> Home:
        """The home these options mean, made private and ready.

        Raises StoreUnusable when its directories cannot be made.
        """
        home = find_home(flat=self.home)
        try:
            prepare(home)
        except OSError as error:
            raise StoreUnusable(
                f"cannot use {error.filename or home.state}: {why(error)}"
            ) from error
        return home


def run_async(work: Coroutine[Any, Any, T]) -> T:
    """Run a command's coroutine to its end."""
    # Late, as the log below: half the start-up time of a command that needs no loop.
    import asyncio

    return asyncio.run(work)


def run_paid(work: Coroutine[Any, Any, T]) -> T:
    """Run what spends money to its end; a kill or a closed terminal ends it like Ctrl+C.

    A job that its process leaves behind is booked at all it could have cost; one
    that is cancelled at what came. Not for what prompts: a read would go on.
    """
    import asyncio

    told = list[int]()
    try:
        return asyncio.run(_until_told(work, told))
    except asyncio.CancelledError:
        if not told:
            raise
        raise KeyboardInterrupt from None


async def _until_told(work: Coroutine[Any, Any, T], told: list[int]) -> T:
    import asyncio
    import signal

    task = asyncio.ensure_future(work)

    def leave(number: int) -> None:
        told.append(number)
        task.cancel()

    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # `nohup` asks for that
            asyncio.get_running_loop().add_signal_handler(number, leave, number)
    return await task


def print_json(value: object) -> None:
    """Print one JSON document, readable and in UTF-8."""
    click.echo(json.dumps(value, ensure_ascii=False, indent=2))


def log_to_file(home: Home) -> None:
    """Send every log line and warning to the home's log; none reaches the terminal."""
    import logging
    from logging.handlers import RotatingFileHandler

    class Log(RotatingFileHandler):
        """Silent where it cannot write: a traceback over the screen helps nobody."""

        def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - logging's name
            """Let the record go."""

    handler = Log(home.log, maxBytes=LOG_BYTES, backupCount=1, encoding="utf-8", delay=True)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    logging.captureWarnings(True)
    for noisy in ("httpx", "httpx2", "httpcore", "mcp", "uvicorn", "watchfiles", "asyncio"):
        logging.getLogger(noisy).setLevel(logging.WARNING)


def ask(what: str) -> str:
    """A secret from the terminal without an echo, else all of stdin. Raises WrongUse."""
    if sys.stdin is None:
        raise WrongUse(f"{what}: there is neither a terminal nor a standard input to read it from")
    if sys.stdin.isatty():
        return str(click.prompt(what, hide_input=True, err=True))
    try:
        return sys.stdin.buffer.read().decode("ascii")
    except UnicodeDecodeError:
        raise WrongUse("this is no key: it holds bytes that are not ASCII") from None


def refuse_key_arguments(extra: tuple[str, ...]) -> None:
    """Raise UsageError for what may be a key, without repeating it."""
    if extra:
        raise click.UsageError(
            "a key as an argument would be seen by every program and kept in the shell's history:"
            " give it at the prompt or on standard input; if this one is real, replace it"
        )


@asynccontextmanager
async def open_engine(options: Options, **more: Any) -> AsyncIterator[Engine]:
    """An engine with the group's options, closed at the end.

    `more` goes to EngineOptions. Raises WorkersError when it cannot start.
    """
    # The engine pulls in httpx and pydantic: commands that need none stay quick.
    from workers_tui.engine.engine import Engine, EngineOptions

    home = options.place()
    log_to_file(home)
    engine = await Engine.start(
        EngineOptions(home=home, config=options.config, environ=os.environ, **more)
    )
    try:
        yield engine
    finally:
        await engine.close()
