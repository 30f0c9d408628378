"""`workers-tui key …`: keys come from the terminal's prompt or stdin, never an argument."""

from __future__ import annotations

import os

import click

from workers_tui.cli.common import Options, ask, open_engine, refuse_key_arguments, run_async
from workers_tui.cli.safe import one_line
from workers_tui.cli.table import aligned
from workers_tui.engine.errors import WrongUse
from workers_tui.engine.settings.keys import read_keys, save_key
from workers_tui.home.server_record import rotate_token


@click.group()
def key() -> None:
    """Keys of providers, and the local server's own token."""


@key.command("set", context_settings={"ignore_unknown_options": True})
@click.argument("provider")
@click.argument("extra", nargs=-1, type=click.UNPROCESSED, metavar="")
@click.pass_obj
def set_(options: Options, provider: str, extra: tuple[str, ...]) -> int:
    """Keep the key of a PROVIDER. It is asked for, or read from a pipe."""
    refuse_key_arguments(extra)
    if not provider.strip() or not provider.isprintable():
        raise WrongUse(f"{provider!r} is no name of a provider")
    home = options.place()
    save_key(home, provider, ask(f"key for {provider}"))
    click.echo(f"kept in {home.keys_json}")
    shadow = run_async(_shadow(options, provider))
    if shadow:
        click.echo(f"note: {shadow} is set here and wins over it", err=True)
    return 0


async def _shadow(options: Options, provider: str) -> str | None:
    """The environment variable that wins over a kept key, if it is set."""
    async with open_engine(options, watch=False) as engine:
        found = engine.providers.find(provider)
        if found is None:
            known = ", ".join(engine.providers.names())
            click.echo(f"note: models.json has no provider {provider}; it has {known}", err=True)
            return None
        return found.key_env if found.key_env and os.environ.get(found.key_env) else None


@key.command("list")
@click.pass_obj
def list_(options: Options) -> int:
    """Show where each provider's key comes from. The key itself is never shown."""
    return run_async(_list(options))


async def _list(options: Options) -> int:
    async with open_engine(options, watch=False) as engine:
        kept = read_keys(engine.home)
        providers = engine.providers.all()
    rows = [(one.name, _source(one.key_env, one.name in kept, one.loopback)) for one in providers]
    strays = sorted(set(kept) - {one.name for one in providers})
    rows += [(name, "kept; models.json has no such provider") for name in strays]
    for line in aligned([(one_line(name), source) for name, source in rows]):
        click.echo(line)
    return 0


def _source(variable: str | None, kept: bool, loopback: bool) -> str:
    if variable and os.environ.get(variable):
        return f"from {variable}"
    if kept:
        return "kept"
    return "none needed (this machine)" if loopback else "missing"


@key.command()
@click.argument("provider")
@click.pass_obj
def remove(options: Options, provider: str) -> int:
    """Forget the key of a PROVIDER."""
    save_key(options.place(), provider, None)
    click.echo(f"the key of {provider} is gone")
    return 0


@key.command("rotate-local")
@click.pass_obj
def rotate_local(options: Options) -> int:
    """Make a new token for the local server. Sessions over HTTP must be started again."""
    home = options.place()
    rotate_token(home)
    click.echo("new token made: start sessions again that were connected with --http")
    return 0
