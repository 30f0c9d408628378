"""`workers-tui stats`: today's and all calls, by tier."""

from __future__ import annotations

from typing import Any

import click

from workers_tui.cli.common import Options, open_engine, print_json, run_async
from workers_tui.cli.safe import one_line
from workers_tui.cli.table import Row, aligned
from workers_tui.engine.money import said
from workers_tui.engine.settings.config import ConfigFile
from workers_tui.engine.transcripts.number_words import plural

COLUMNS = ("calls", "in", "out", "cost")


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
    tiers = [_row(one_line(name), tier["all_time"]) for name, tier in found["tiers"].items()]
    rows = [_row("today", today), _row("all time", found["all_time"]), *tiers]
    click.echo("\n" + "\n".join(aligned([("", *COLUMNS), *rows], right=range(1, 5))))
    bad = found["ledger"]["bad_rows"]
    if bad:
        path = found["ledger"]["path"]
        click.echo(f"\nwithout sense, so counted nowhere: {plural(bad, 'line')} of {path}")
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
    more = f" ({plural(open_, 'call')} of unknown cost)" if open_ else ""
    if not known:
        return f"{spent}{more}; the cap is not known"
    if budget is None:
        return f"{spent}{more}; there is no cap"
    return f"{spent}, free {said(today['free_usd'])} of {said(budget)}{more}"


def _row(name: str, totals: dict[str, Any]) -> Row:
    numbers = (f"{totals[column]:,}" for column in ("calls", "in", "out"))
    return (name, *numbers, said(totals["cost_usd"]))
