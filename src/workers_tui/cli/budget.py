"""`workers-tui budget …`: the daily cap."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation

import click

from workers_tui.cli.common import Options, open_engine, print_json, run_async
from workers_tui.cli.stats import cap_line, tell_broken
from workers_tui.engine.errors import WrongUse
from workers_tui.engine.money import from_usd, text_usd
from workers_tui.engine.stats import Stats


@click.group(invoke_without_command=True)
@click.pass_context
def budget(ctx: click.Context) -> None:
    """The daily cap: set it, or see how much of it is left.

    Without a command it shows what is spent, held and free today.
    """
    if ctx.invoked_subcommand is None:
        ctx.exit(ctx.invoke(show, as_json=False))


@budget.command("set", context_settings={"ignore_unknown_options": True})  # -1 is an amount
@click.argument("usd", metavar="USD|none")
@click.pass_obj
def set_(options: Options, usd: str) -> int:
    """Set the cap in US dollars; `none` takes it away."""
    return run_async(_set(options, amount(usd)))


def amount(said: str) -> Decimal | None:
    """The amount in an argument. Raises WrongUse."""
    if said.strip().lower() in {"none", "null", "off"}:
        return None
    try:
        usd = Decimal(said.strip().removeprefix("$"))
    except InvalidOperation:
        raise WrongUse(f"{said!r} is no amount: write dollars such as 2.50, or none") from None
    if not usd.is_finite() or usd < 0:
        raise WrongUse(f"a cap of {said} makes no sense: write dollars such as 2.50, or none")
    return usd


async def _set(options: Options, usd: Decimal | None) -> int:
    async with open_engine(options, watch=False) as engine:
        before = await engine.config.set_cap(usd)
        today = await Stats(engine.budget, engine.ledger, engine.config).today()
        click.echo(f"the cap was {_said(before)}, is {_said(usd)}")
        click.echo(cap_line(None if usd is None else float(usd), today))
    return 0


def _said(usd: Decimal | None) -> str:
    return "none" if usd is None else text_usd(from_usd(usd))


@budget.command()
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")
@click.pass_obj
def show(options: Options, as_json: bool) -> int:
    """Show what is spent, held and free today."""
    return run_async(_show(options, as_json=as_json))


async def _show(options: Options, *, as_json: bool) -> int:
    async with open_engine(options, watch=False) as engine:
        today = await Stats(engine.budget, engine.ledger, engine.config).today()
        config = engine.config
    cap = config.settings.daily_budget_usd
    tell_broken(config)
    if as_json:
        print_json(today)
    else:
        click.echo(cap_line(None if cap is None else float(cap), today, known=config.version > 0))
    return 0
