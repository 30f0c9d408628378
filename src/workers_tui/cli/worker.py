"""`workers-tui worker …`: agent identities. Keys come from the prompt or stdin only."""

from __future__ import annotations

import asyncio
import contextlib
import sys

import click

from workers_tui.cli.common import ask, refuse_key_arguments
from workers_tui.cli.safe import one_line
from workers_tui.cli.table import Row, aligned
from workers_tui.engine.agents.identities import Identities, Identity, find_root, preset_named
from workers_tui.engine.agents.presets import PRESETS
from workers_tui.engine.agents.trial import Trial
from workers_tui.engine.errors import ConfigError, WorkFailed, WrongUse

SHOWN_MODELS = 20


@click.group()
def worker() -> None:
    """Identities of agent workers: Claude Code on another provider."""


def _identities() -> Identities:
    return Identities(find_root())


@worker.command()
def presets() -> None:
    """Show the providers that a worker can be made for."""
    for line in aligned([(one.name, one.title, one.base_url) for one in PRESETS]):
        click.echo(line)


@worker.command()
@click.argument("name")
@click.option("--preset", default=None, help="A provider from `worker presets`; without it NAME.")
@click.option("--base-url", default="", help="Address, as in ANTHROPIC_BASE_URL.")
@click.option("--sonnet", default="", help="Model for the main work.")
@click.option("--opus", default="", help="Model for the hardest work.")
@click.option("--haiku", default="", help="Model for small tasks.")
def create(
    name: str, preset: str | None, base_url: str, sonnet: str, opus: str, haiku: str
) -> None:
    """Make a worker NAME; it waits for its key."""
    chosen = preset_named(preset or name)
    models = {"SONNET": sonnet, "OPUS": opus, "HAIKU": haiku}
    if chosen.name == "ollama" and not any(models.values()):
        _say_pulled(base_url or chosen.base_url)
    identity = _identities().create(name, chosen, base_url=base_url, models=models)
    click.echo(f"made {identity.path}")
    if chosen.needs_key:
        source = f" (from {chosen.key_from})" if chosen.key_from else ""
        click.echo(f"now give it a key{source}: workers-tui worker set-key {name}")
    else:
        click.echo(f"now try it: workers-tui worker finalize {name}")


def _say_pulled(base_url: str) -> None:
    models = asyncio.run(_pulled(base_url))
    if models:
        listed = ", ".join(models[:SHOWN_MODELS])
        raise ConfigError(f"name a pulled model with --sonnet; {base_url} has: {listed}")
    raise ConfigError(f"no model is pulled at {base_url}, or it does not run; name one by --sonnet")


async def _pulled(base_url: str) -> list[str]:
    # httpx is loaded only where something is asked.
    import httpx

    from workers_tui.engine.agents.identity_check import list_models

    async with httpx.AsyncClient(trust_env=False) as client:
        return await list_models(client, base_url.rstrip("/"))


@worker.command("set-key", context_settings={"ignore_unknown_options": True})
@click.argument("name")
@click.argument("extra", nargs=-1, type=click.UNPROCESSED, metavar="")
def set_key(name: str, extra: tuple[str, ...]) -> None:
    """Give worker NAME its key. It is typed at the prompt, or comes on standard input."""
    refuse_key_arguments(extra)
    identities = _identities()
    identities.get(name)
    identities.set_key(name, ask(f"key for {name}"))
    click.echo(f"kept; try it: workers-tui worker finalize {name}")


@worker.command()
@click.argument("name")
def finalize(name: str) -> None:
    """Try address, key and models of worker NAME. It costs a few tokens."""
    # See `_pulled` for the late import.
    from workers_tui.engine.agents.identity_check import IdentityCheck

    identities = _identities()
    identity = identities.get(name)
    if identity.problem:
        raise WorkFailed(f"worker {name} cannot be used yet: {identity.problem}")
    checked = asyncio.run(IdentityCheck(identity).run())
    wrong = next((one.text for one in checked.findings if one.fatal and not one.ok), "")
    with contextlib.suppress(OSError):  # it is told below; only `worker list` forgets it
        identities.note_trial(identity, Trial(checked.ok, wrong))
    for finding in checked.findings:
        sign = "ok  " if finding.ok else "FAIL" if finding.fatal else "note"
        click.echo(f"{sign} {one_line(finding.text)}")
    if not checked.ok:
        raise WorkFailed(f"worker {name} cannot be used yet")
    click.echo(f"worker {name} is ready")


@worker.command("list")
def list_workers() -> None:
    """Show the workers there are."""
    found = _identities().all()
    if not found:
        click.echo("no workers yet; `workers-tui worker presets` lists providers")
    for line in aligned([_row(identity) for identity in found]):
        click.echo(line)


def _row(identity: Identity) -> Row:
    where = (identity.model or "-", identity.base_url or "-")
    return [one_line(cell) for cell in (identity.name, *where, _state(identity))]


def _state(identity: Identity) -> str:
    again = f"`workers-tui worker finalize {identity.name}` tries it"
    if identity.problem:
        return identity.problem
    if identity.trial is None:
        return f"untried: {again}"
    return "ready" if identity.trial.ok else f"failed when last tried: {identity.trial.said}"


@worker.command()
@click.argument("name")
@click.option("--yes", is_flag=True, help="Do not ask.")
def remove(name: str, yes: bool) -> None:
    """Delete worker NAME with its key and its history."""
    identities = _identities()
    identity = identities.get(name)
    if not yes:
        if sys.stdin is None or not sys.stdin.isatty():
            raise WrongUse(f"nobody can be asked here: `workers-tui worker remove {name} --yes`")
        click.confirm(f"delete {identity.path} with its key and history?", abort=True)
    click.echo(f"deleted {identities.remove(name)}")
