"""`workers-tui connect`: shows what it will change in Claude Code's files, then does it."""

from __future__ import annotations

import difflib
import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from workers_tui.cli.common import Options
from workers_tui.engine.agents.identities import find_root
from workers_tui.engine.errors import WorkFailed, WrongUse
from workers_tui.home.claude_places import Scope, find_claude
from workers_tui.home.claude_settings import http_entry, own_program, server_entry
from workers_tui.home.connection import apply, undo
from workers_tui.home.connection_plan import (
    Change,
    Plan,
    Unusable,
    Wanted,
    plan_connect,
    plan_remove,
    plan_remove_everywhere,
)
from workers_tui.home.places import Home
from workers_tui.home.server_record import ensure_token, read_record

INTRODUCTION = """\
This makes workers-tui known to Claude Code. Nothing changes before you have seen it,
and `workers-tui connect --remove` takes it all back. Three parts are up to you:"""
MAY_CALL = "1. May Claude call workers without asking you each time?"
HOOKS = "2. Install hooks, which keep large files out of Claude's context and tell it the rules?"
RULES = "3. Add the rules to CLAUDE.md, too?"


@click.command()
@click.option(
    "--scope",
    type=click.Choice([scope.value for scope in Scope]),
    default=None,
    help="For you everywhere, for everybody in this project, or for you in this project."
    " [default: user; --remove: each there is]",
)
@click.option("--http", is_flag=True, help="Register the dashboard's address instead of a program.")
@click.option("--remove", is_flag=True, help="Take everything back, exactly.")
@click.option("--dry-run", is_flag=True, help="Show the changes and make none.")
@click.option("--permissions/--no-permissions", default=None, help="Let Claude call our tools.")
@click.option("--hooks/--no-hooks", default=None, help="Steer large reads, give the rules.")
@click.option("--rules/--no-rules", default=None, help="A marked block in CLAUDE.md.")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@click.pass_obj
def connect(  # noqa: PLR0913 - one per option
    options: Options,
    *,
    scope: str | None,
    http: bool,
    remove: bool,
    dry_run: bool,
    permissions: bool | None,
    hooks: bool | None,
    rules: bool | None,
    yes: bool,
) -> None:
    """Register with Claude Code.

    Asks on a terminal, otherwise takes every part that no option excludes.
    """
    home = options.place()
    environ = environment(options)
    project = (options.project or Path.cwd()).resolve()
    claude = find_claude(environ)
    if remove:
        _refuse_parts(http=http, permissions=permissions, hooks=hooks, rules=rules)
    asks = sys.stdin is not None and sys.stdin.isatty() and not (yes or dry_run or remove)
    try:
        if remove and scope:
            plans = [plan_remove(Scope(scope), project, home, environ)]
        elif remove:
            plans = plan_remove_everywhere(project, home, environ)
        else:
            if asks:
                click.echo(INTRODUCTION)
            wanted = Wanted(
                _server(options, home, environ, http=http),
                permissions=_part(permissions, MAY_CALL, asks),
                hooks=_part(hooks, HOOKS, asks),
                rules=_part(rules, RULES, asks),
            )
            plans = [plan_connect(Scope(scope or Scope.USER), project, wanted, environ)]
        show(plans, claude, remove=remove, diffs=dry_run)
        needed = [plan for plan in plans if plan.needed]
        if dry_run or not needed:
            return
        if asks:
            click.confirm("Make these changes?", default=True, abort=True)
        for plan in needed:
            (undo if remove else apply)(plan, home, claude, environ)
    except Unusable as error:
        raise WorkFailed(str(error)) from None
    click.echo("done" if remove else "done: start a new Claude Code session to use it")
    if remove:
        _what_stays(home)


def _refuse_parts(**parts: bool | None) -> None:
    """Raise WrongUse for a part named with --remove: everything would go, not that part."""
    named = [
        f"--{'' if chosen else 'no-'}{name}"
        for name, chosen in parts.items()
        if chosen or (chosen is False and name != "http")
    ]
    if named:
        raise WrongUse(f"--remove takes everything back: leave out {' and '.join(named)}")


def environment(options: Options) -> dict[str, str]:
    """The environment with `--home` in it, so that what is registered finds the same home."""
    environ = dict(os.environ)
    if options.home is not None:
        environ["WORKERS_HOME"] = str(options.home.absolute())
    return environ


def _server(
    options: Options, home: Home, environ: dict[str, str], *, http: bool
) -> dict[str, object]:
    if not http:
        return server_entry(own_program(), environ)
    ensure_token(home)
    record = read_record(home)
    url = record.url if record else f"http://{options.host}:{options.port}/mcp"
    return http_entry(url, environ)


def _part(chosen: bool | None, question: str, asks: bool) -> bool:
    if chosen is None and asks:
        return click.confirm(question, default=True)
    return chosen is not False


def show(plans: Sequence[Plan], claude: Path | None, *, remove: bool, diffs: bool) -> None:
    """Print what would happen, one line per file; `diffs` adds the changed lines."""
    for plan in plans:
        _show(plan, claude, remove=remove, diffs=diffs)
    if not any(plan.needed for plan in plans):
        click.echo(_nothing(plans) if remove else "already connected: nothing to change")


def _nothing(plans: Sequence[Plan]) -> str:
    return f"nothing {'else ' if any(plan.notes for plan in plans) else ''}of ours is there"


def _show(plan: Plan, claude: Path | None, *, remove: bool, diffs: bool) -> None:
    if plan.server.needed:
        verb = "remove" if remove else "register" if plan.server.before is None else "replace"
        how = f"with {claude}" if claude else f"in {plan.places.servers} (claude was not found)"
        click.echo(f"{verb} the MCP server `workers` for scope {plan.places.scope} {how}")
    for change in plan.files:
        if change.needed:
            click.echo(f"{_verb(change)} {change.path}: {change.title}")
            if diffs:
                click.echo(_diff(change))
    for note in plan.notes:
        click.echo(f"note: {note}")


def _verb(change: Change) -> str:
    if change.after is None:
        return "delete"
    return "create" if change.before is None else "change"


def _diff(change: Change) -> str:
    before, after = (
        (raw or b"").decode("utf-8", "replace").splitlines()
        for raw in (change.before, change.after)
    )
    lines = difflib.unified_diff(before, after, lineterm="", n=0)
    return "\n".join(f"    {line}" for line in list(lines)[2:])


def _what_stays(home: Home) -> None:
    places = [str(place) for place in dict.fromkeys((home.config, home.state)) if place.exists()]
    click.echo("what stays: your keys and models.json, jobs, results and the ledger")
    click.echo(f"  delete them with: rm -r {shlex.join(places)}")
    workers = find_root()
    if workers.exists():
        click.echo("what stays: agent workers with their keys and histories")
        click.echo(f"  delete them with: rm -r {shlex.quote(str(workers))}")
