"""`workers-tui reconcile`: settles open costs against the providers and prints the drift."""

from __future__ import annotations

import click

from workers_tui.cli.common import Options, open_engine, run_async
from workers_tui.cli.words import usd
from workers_tui.engine.reconcile import ProviderDrift


@click.command()
@click.pass_obj
def reconcile(options: Options) -> int:
    """Ask the providers what calls of open cost really cost."""
    return run_async(_reconcile(options))


async def _reconcile(options: Options) -> int:
    async with open_engine(options, watch=False) as engine:
        drift = await engine.reconcile()
    click.echo(
        f"{drift.asked} calls of open cost: {drift.settled} settled, "
        f"{drift.still_open} still open; the books changed by {usd(drift.changed_pico)}"
    )
    for one in drift.providers:
        click.echo(f"{one.provider}: {_compared(one)}")
    return 0


def _compared(one: ProviderDrift) -> str:
    if one.error:
        return f"ours {usd(one.ours_pico)}, theirs cannot be had: {one.error}"
    if one.theirs_pico is None or one.drift_pico is None:
        return f"ours {usd(one.ours_pico)}, the provider tells nothing"
    return (
        f"ours {usd(one.ours_pico)}, theirs {usd(one.theirs_pico)} ({one.label}), "
        f"drift {usd(one.drift_pico)}"
    )
