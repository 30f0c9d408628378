"""The command group: global options, and commands loaded only when they are asked for.

A command's module is imported when it runs or when its help is shown, so that
`workers-tui jobs` does not pay for Textual and the dashboard does not pay for MCP.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import click

from workers_tui import __version__
from workers_tui.cli.common import Options
from workers_tui.engine.errors import WorkersError

INTERRUPTED = 130

COMMANDS = {
    "serve": "workers_tui.cli.serve:serve",
    "run": "workers_tui.cli.run:run",
    "connect": "workers_tui.cli.connect:connect",
    "worker": "workers_tui.cli.worker:worker",
    "key": "workers_tui.cli.key:key",
    "login": "workers_tui.cli.login:login",
    "stats": "workers_tui.cli.stats:stats",
    "jobs": "workers_tui.cli.jobs:jobs",
    "savings": "workers_tui.cli.savings:savings",
    "budget": "workers_tui.cli.budget:budget",
    "reconcile": "workers_tui.cli.reconcile:reconcile",
    "smoke": "workers_tui.cli.smoke:smoke",
    "doctor": "workers_tui.cli.doctor:doctor",
    "simulate": "workers_tui.cli.simulate:simulate",
    "import": "workers_tui.cli.import_:import_",
}
"""Where each command lives, in the order help shows them."""

ELSEWHERE = {
    "mcp": "MCP server on stdio: what Claude Code starts.",
    "hook": "What Claude Code's hooks run: `hook EVENT`, JSON on stdin.",
}
"""Commands that __main__ runs without click; listed here so that help is complete."""


class Commands(click.Group):
    """A group that imports a command's module on first use."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click asks so
        return [*COMMANDS, *ELSEWHERE]

    def get_command(
        self,
        ctx: click.Context,  # noqa: ARG002 - click asks so
        cmd_name: str,
    ) -> click.Command | None:
        if cmd_name in ELSEWHERE:
            return click.Command(cmd_name, help=ELSEWHERE[cmd_name])
        if cmd_name not in COMMANDS:
            return None
        module, attribute = COMMANDS[cmd_name].split(":")
        command: click.Command = getattr(import_module(module), attribute)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and not args[0].startswith("-") and args[0] not in {*COMMANDS, *ELSEWHERE}:
            ctx.fail(f"there is no command {args[0]!r}; see: workers-tui --help")
        return super().resolve_command(ctx, args)


@click.group(
    cls=Commands,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="workers-tui")
@click.option(
    "--config", type=click.Path(path_type=Path), help="models.json to use instead of your own."
)
@click.option(
    "--home", type=click.Path(path_type=Path), help="Keep everything flat in this directory."
)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), default=4747, show_default=True)
@click.option(
    "--project",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    help="Directory to read for clients that name none.",
)
@click.option("--demo", is_flag=True, help="Show a living demo: no key, no network, nothing kept.")
@click.pass_context
def workers_tui(ctx: click.Context, /, **options: Any) -> None:
    """The dashboard that is the MCP server Claude Code hands bulk work to.

    Without a command it opens the dashboard.
    """
    ctx.obj = Options(**options)
    if ctx.invoked_subcommand is None:
        # Textual is loaded only when the dashboard is really wanted.
        dashboard = import_module("workers_tui.cli.dashboard")
        ctx.exit(dashboard.open_dashboard(ctx.obj))


def main(argv: list[str] | None = None) -> int:
    """Run a command; return its exit code (contract 4.1). Never a traceback for a WorkersError."""
    reconfigure_output()
    try:
        result = workers_tui.main(args=argv, prog_name="workers-tui", standalone_mode=False)
    except WorkersError as error:
        click.echo(f"workers-tui: {error}", err=True)
        return error.exit_code
    except click.ClickException as error:
        click.echo(f"workers-tui: {error.format_message()}", err=True)
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        click.echo("workers-tui: interrupted", err=True)
        return INTERRUPTED
    except BrokenPipeError:
        silence_stdout()
        return 0
    return result if isinstance(result, int) else 0


def reconfigure_output() -> None:
    """Print what the terminal's encoding lacks as an escape instead of failing on it."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


def silence_stdout() -> None:
    """The reader of our output is gone (`| head`): do not fail once more at exit."""
    sys.stdout = open("/dev/null", "w", encoding="utf-8")  # noqa: PTH123, SIM115 - lives until exit
