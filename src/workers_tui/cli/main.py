"""The command group: global options, and commands loaded only when they are asked for.

A command's module is imported when it runs or when its help is shown, so that
`workers-tui jobs` does not pay for Textual and the dashboard does not pay for MCP.
"""

from __future__ import annotations

import errno
import keyword
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import click

from workers_tui import __version__
from workers_tui.cli.common import Options, log_to_file
from workers_tui.cli.safe import one_line
from workers_tui.engine.errors import WorkersError, WrongUse

FAILED = 1
INTERRUPTED = 130
MACHINE_REFUSES = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO}
MACHINE_REFUSES |= {errno.EISDIR, errno.ENOTDIR, errno.ELOOP, errno.ENAMETOOLONG, errno.EMFILE}
FORESEEN = (
    WorkersError,
    click.ClickException,
    click.exceptions.Exit,
    click.Abort,
    EOFError,
    BrokenPipeError,
)
"""What ends a command without being a defect of ours."""

COMMANDS = {
    "serve": "Serve without a screen; prints where it listens.",
    "run": "Do one TASK; `-` reads it from standard input.",
    "connect": "Register with Claude Code.",
    "worker": "Identities of agent workers: Claude Code on another provider.",
    "key": "Keys of providers, and the local server's own token.",
    "login": "Get a key from OpenRouter without copying one.",
    "stats": "Show what the workers did and cost.",
    "jobs": "List jobs, newest first; or show or cancel one.",
    "savings": "Show what delegation saved, from Claude Code's transcripts and our own ledger.",
    "budget": "The daily cap: set it, or see how much of it is left.",
    "reconcile": "Ask the providers what calls of open cost really cost.",
    "smoke": "Try the tools, every tier, a batch and a refusal; costs a fraction of a cent.",
    "doctor": "Check the installation; exit 1 when something needs mending.",
    "simulate": "Stand in for OpenRouter and Anthropic's Messages API on loopback.",
    "import": "Take the calls of an older usage.jsonl in; doing it twice changes nothing.",
}
"""One line each, in the order help shows them: `--help` imports none of their modules."""

ELSEWHERE = {
    "mcp": "MCP server on stdio: what Claude Code starts.",
    "hook": "What Claude Code's hooks run: `hook EVENT`, JSON on stdin.",
}
"""Commands that __main__ runs without click; listed here so that help is complete."""


def load(name: str) -> click.Command:
    """Import a command: it has its name, in the module of that name (`import` is a keyword)."""
    word = f"{name}_" if keyword.iskeyword(name) else name
    command: click.Command = getattr(import_module(f"workers_tui.cli.{word}"), word)
    return command


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
        return load(cmd_name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click asks so
        with formatter.section("Commands"):
            formatter.write_dl([*COMMANDS.items(), *ELSEWHERE.items()])

    def make_context(self, *args: Any, **more: Any) -> click.Context:
        with reader_may_leave():  # help and version are printed here
            return super().make_context(*args, **more)

    def invoke(self, ctx: click.Context) -> Any:
        with reader_may_leave():
            try:
                result = super().invoke(ctx)
                sys.stdout.flush()  # at exit nobody is left to say that it found no room
                return result
            except click.exceptions.NoArgsIsHelpError as help_:
                click.echo(help_.format_message())  # a group without its verb: nothing went wrong
                return 0
            except FORESEEN:
                raise
            except Exception as defect:  # noqa: BLE001 - said in a line and logged
                return ended_by(defect, Options(**ctx.params))

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
        if not (os.isatty(0) and os.isatty(2)):
            raise WrongUse("the dashboard needs a terminal; `workers-tui serve` needs none")
        ctx.exit(open_screen(ctx.obj))
    if options["demo"]:  # or what was meant to be tried would be done, and paid
        raise WrongUse(f"--demo is a screen of its own: leave out {ctx.invoked_subcommand!r}")


def open_screen(options: Options) -> int:
    """Run the dashboard, or the demo of it; Textual is loaded only when one is really wanted."""
    if options.demo:
        code: int = import_module("workers_tui.cli.demo").open_demo(options)
    else:
        code = import_module("workers_tui.cli.dashboard").open_dashboard(options)
    return code


def main(argv: list[str] | None = None) -> int:
    """Run a command; return its exit code (contract 4.1), never a traceback."""
    open_closed_streams()
    reconfigure_output()
    result: object = 0
    try:
        result = workers_tui.main(args=argv, prog_name="workers-tui", standalone_mode=False)
    except WorkersError as error:
        click.echo(f"workers-tui: {one_line(str(error))}", err=True)
        return error.exit_code
    except click.ClickException as error:
        click.echo(f"workers-tui: {one_line(wrong_use(error))}", err=True)
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        click.echo("workers-tui: interrupted", err=True)
        return INTERRUPTED
    except Exception as defect:  # noqa: BLE001 - said in a line, or raised again
        return ended_by(defect)
    return result if isinstance(result, int) else 0


def wrong_use(error: click.ClickException) -> str:
    """What was wrong, and where it is said what would be right."""
    said = " ".join(error.format_message().split())
    where = error.ctx if isinstance(error, click.UsageError) else None
    if where is None or "--help" in said:
        return said
    joint = " See" if said.endswith("?") else "; see"
    return f"{said.rstrip('.')}{joint}: {where.command_path} --help"


def ended_by(error: Exception, options: Options | None = None) -> int:
    """Say what nobody foresaw: the machine refused, or a defect of ours.

    Until the options are read nobody knows where the log belongs: then it is raised again.
    """
    if isinstance(error, FileNotFoundError) and not has_current_directory():
        click.echo("workers-tui: the current directory is gone; change to another one", err=True)
        return FAILED
    if isinstance(error, RuntimeError) and not has_home_directory():
        click.echo("workers-tui: this user has no home directory: set HOME to one", err=True)
        return FAILED
    import logging  # late: what ends well without a log starts sooner

    if isinstance(error, OSError) and error.errno in MACHINE_REFUSES:
        return refused_by_machine(error)
    if not logging.root.handlers:
        if options is None:
            raise error
        log_to_file(options.place())
    return own_defect(error)


def has_current_directory() -> bool:
    """False when somebody removed it under the shell."""
    try:
        os.getcwd()  # noqa: PTH109 - the same, and it says what is asked
    except FileNotFoundError:
        return False
    return True


def has_home_directory() -> bool:
    """False for a user that only a container knows, whose HOME nobody set."""
    return os.path.expanduser("~") != "~"  # noqa: PTH111 - pathlib raises where there is none


def refused_by_machine(error: OSError) -> int:
    """Say what could not be written: it is no defect of ours. Without a file it is the output."""
    import logging  # late, as above

    logging.getLogger(__name__).info("the machine refused", exc_info=error)
    where = error.filename or "the output"
    with suppress(OSError):
        click.echo(f"workers-tui: {where} cannot be used: {error.strerror}", err=True)
    silence_stdout()
    return FAILED


def own_defect(defect: Exception) -> int:
    """Say in a line that it is ours; the log has the rest."""
    import logging  # late, as above

    logging.getLogger(__name__).critical("a defect of our own", exc_info=defect)
    said = " ".join(f"{type(defect).__name__}: {defect}".split())
    click.echo(f"workers-tui: ended by an error of its own ({said}); the log says more", err=True)
    return FAILED


def open_closed_streams() -> None:
    """Nothing stands for a closed stream, or a file of ours gets its number and what is printed."""
    while (number := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(number)
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: PTH123, SIM115 - lives until exit


def reconfigure_output() -> None:
    """Print what the terminal's encoding lacks as an escape instead of failing on it."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


@contextmanager
def reader_may_leave() -> Iterator[None]:
    """A reader that has read enough (`| head`) is no failure, which click would make of it."""
    try:
        yield
    except BrokenPipeError:
        silence_stdout()
        raise click.exceptions.Exit(0) from None


def silence_stdout() -> None:
    """Nobody reads our output: do not fail once more at exit."""
    sys.stdout = open("/dev/null", "w", encoding="utf-8")  # noqa: PTH123, SIM115 - lives until exit
