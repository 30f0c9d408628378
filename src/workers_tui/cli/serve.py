"""`workers-tui serve`: the server without a screen."""

from __future__ import annotations

import asyncio
import signal
import time
from pathlib import Path

import click

from workers_tui.cli.calm import settle_memory
from workers_tui.cli.common import Options, open_engine, run_async
from workers_tui.cli.heap import keep_heap_small
from workers_tui.engine.board import Key, Topic
from workers_tui.engine.errors import WrongUse
from workers_tui.server.claim import Claim, find_other
from workers_tui.server.host import Host, Kind

INTERRUPTED = 130
LEAVING = 1.5
"""Seconds that a leaving server may take to free its place."""


@click.command()
@click.option("--host", help="Address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), help="Port; the next free one if taken.")
@click.option(
    "--project",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    help="Directory to read for clients that name none.",
)
@click.option("--background", is_flag=True, hidden=True, help="Started by a forwarder.")
@click.pass_obj
def serve(
    options: Options, host: str | None, port: int | None, project: Path | None, background: bool
) -> int:
    """Serve without a screen; prints where it listens."""
    kind: Kind = "background" if background else "serve"
    project = project or options.project
    if background and not _free(options):
        return 0
    keep_heap_small()
    return run_async(
        _serve(
            options,
            kind,
            host or options.host,
            options.port if port is None else port,
            project.absolute() if project else None,
        )
    )


def _free(options: Options) -> bool:
    """Whether nobody serves; asked before the engine is loaded, as many may be started at once."""
    claim = Claim(options.place())
    until = time.monotonic() + LEAVING
    while not claim.take():
        if time.monotonic() > until:
            return False
        time.sleep(0.05)
    claim.release()
    return True


async def _serve(options: Options, kind: Kind, host: str, port: int, project: Path | None) -> int:
    async with open_engine(options, follow_transcripts=True) as engine:
        server = Host(engine, host=host, port=port, project=project, kind=kind)
        asked = _on_signals(server.gone)
        url = await server.start()
        if url is None:
            await server.stop()
            other = await asyncio.to_thread(find_other, engine.home)
            if kind == "background":
                return 0
            if other is None:
                raise WrongUse(server.message)
            who = f"pid {other.record.pid} serves {other.record.url}"
            raise WrongUse(f"{who} already: use that one, or end it first")
        view = engine.board.get(Key(Topic.SERVER))
        if view is not None and view.message:
            click.echo(f"workers-tui: {view.message}", err=True)
        click.echo(f"listening on {url}")
        settle_memory()
        await server.gone.wait()
        await server.stop()
        return INTERRUPTED if signal.SIGINT in asked else 0


def _on_signals(gone: asyncio.Event) -> list[signal.Signals]:
    """Leave in good order on the usual signals; the list tells which came."""
    asked: list[signal.Signals] = []
    loop = asyncio.get_running_loop()

    def leave(number: signal.Signals) -> None:
        asked.append(number)
        gone.set()

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if number == signal.SIGHUP and signal.getsignal(number) is signal.SIG_IGN:
            continue  # started by `nohup`
        loop.add_signal_handler(number, leave, number)
    return asked
