"""`workers-tui stats`: today's and all calls, by tier."""

from __future__ import annotations

from typing import Any

import click

from workers_tui.cli.common import Options, open_engine, print_json, run_async
from workers_tui.engine.money import said
from workers_tui.engine.settings.config import ConfigFile


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print them as JSON.")
@click.pass_obj
def stats(options: Options, as_json: bool) -> int:
    """Show what the workers did and cost."""
    return run_async(_stats(options, as_json=as_json))


async def _stats(options: Options, *, as_json: bool) -> int:
    async with open_engine(options, watch=False) as engine:
        found = await engine.stats()
    tell_broken(engine.config)
    if as_json:
        print_json(found)
        return 0
    today = found["today"]
    click.echo(f"{found['day']} ({found['timezone']}), ends {found['resets_at']}")
    click.echo(cap_line(found["budget_usd"], today, known=engine.config.version > 0))
    click.echo(f"\n{'':<12} {'calls':>7} {'in':>12} {'out':>12} {'cost':>12}")
    click.echo(_row("today", today))
    click.echo(_row("all time", found["all_time"]))
    for name, tier in found["tiers"].items():
        click.echo(_row(name, tier["all_time"]))
    bad = found["ledger"]["bad_rows"]
    if bad:
        click.echo(f"\n{bad} lines of {found['ledger']['path']} make no sense; they count nowhere")
    if found["warning"]:
        click.echo(f"\n{found['warning']}")
    return 0


def tell_broken(config: ConfigFile) -> None:
    """Say beside the figures that settings which make no sense allow nothing."""
    if config.version == 0:
        click.echo(f"note: {config.error}; nothing is sent until it is mended", err=True)


def cap_line(budget: float | None, today: dict[str, Any], *, known: bool = True) -> str:
    """Spent, held and free: three numbers. Settings that make no sense leave the cap unknown."""
    spent = f"spent {said(today['cost_usd'])}, held {said(today['held_usd'])}"
    open_ = today["pending_calls"] + today["unknown_calls"]
    more = f" ({open_} calls of unknown cost)" if open_ else ""
    if not known:
        return f"{spent}{more}; the cap is not known"
    if budget is None:
        return f"{spent}{more}; there is no cap"
    return f"{spent}, free {said(today['free_usd'])} of {said(budget)}{more}"


def _row(name: str, totals: dict[str, Any]) -> str:
    return (
        f"{name:<12} {totals['calls']:>7} {totals['in']:>12,} {totals['out']:>12,}"
        f" {said(totals['cost_usd']):>12}"
    )
