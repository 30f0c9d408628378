"""`workers-tui` without a command: wires engine and server to the dashboard and runs it.

Nothing heavy is imported before the first paint: the engine and the server are
loaded in threads by the two functions given to the screen.
"""

from __future__ import annotations

import asyncio
import io
import os
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console

from workers_tui.cli.calm import settle_memory
from workers_tui.cli.common import Options, log_to_file
from workers_tui.cli.heap import keep_heap_small
from workers_tui.home.places import Home
from workers_tui.tui.app import DashboardApp
from workers_tui.tui.driver import Terminal

if TYPE_CHECKING:
    from workers_tui.engine.engine import Engine
    from workers_tui.tui.ports import Stoppable

FAILED = 1


def open_dashboard(options: Options) -> int:
    """Run the dashboard until the user leaves; return the exit code."""
    home, environ = options.place(), dict(os.environ)
    if options.home is not None:  # what is registered from the screen finds the same home
        environ["WORKERS_HOME"] = str(options.home.absolute())
    return run_dashboard(Wiring(options, home, environ).app())


class Wiring:
    """How the dashboard gets its engine and its server."""

    def __init__(self, options: Options, home: Home, environ: Mapping[str, str]) -> None:
        self.options = options
        self.home = home
        self.environ = environ

    def app(self, **more: Any) -> DashboardApp:
        """The dashboard, ready to run."""
        log_to_file(self.home)
        return DashboardApp(
            self.home,
            self.start_engine,
            self.start_server,
            folder=self.options.project or Path.cwd(),
            driver_class=Terminal,
            **more,
        )

    async def start_engine(self) -> Engine:
        """An engine that asks the user and follows transcripts. Raises WorkersError."""
        module = await asyncio.to_thread(import_module, "workers_tui.engine.engine")
        engine: Engine = await module.Engine.start(
            module.EngineOptions(
                home=self.home,
                config=self.options.config,
                environ=self.environ,
                approvals=True,
                follow_transcripts=True,
            )
        )
        return engine

    async def start_server(self, engine: Engine) -> Stoppable:
        """The HTTP side of the engine. Raises WorkersError."""
        module = await asyncio.to_thread(import_module, "workers_tui.server.host")
        project = self.options.project
        server: Stoppable = await module.start_server(
            engine,
            host=self.options.host,
            port=self.options.port,
            project=project.absolute() if project else None,
        )
        settle_memory()
        return server


def run_dashboard(app: DashboardApp) -> int:
    """Run it; whatever happens, what was started is stopped and the terminal is as it was."""
    keep_heap_small()
    # Textual would print an error of ours over the user's terminal; the log has it.
    app.error_console = Console(file=io.StringIO())
    code = asyncio.run(_run(app))
    if app.return_code:
        click.echo(f"workers-tui: ended by an error of its own; {app.home.log} says why", err=True)
        return FAILED
    return code


async def _run(app: DashboardApp) -> int:
    try:
        return await app.run_async() or 0
    finally:
        await app.shut_down("the dashboard ended")
