"""`workers-tui reconcile`: settles open costs against the providers and prints the drift."""

from __future__ import annotations

import asyncio

import click

from workers_tui.cli.common import Options, open_engine, run_async
from workers_tui.cli.words import usd
from workers_tui.engine.spending.reconcile import ProviderDrift
from workers_tui.engine.transcripts.number_words import plural

PAUSES = (1.0, 2.0)
"""Seconds before asking again: a bill is there a moment after its answer."""


@click.command()
@click.pass_obj
def reconcile(options: Options) -> int:
    """Ask the providers what calls of open cost really cost."""
    return run_async(_reconcile(options))


async def _reconcile(options: Options) -> int:
    async with open_engine(options, watch=False) as engine:
        drift = first = await engine.reconcile()
        settled, changed = drift.settled, drift.changed_pico
        for pause in PAUSES:
            if not drift.still_open:
                break
            await asyncio.sleep(pause)
            drift = await engine.reconcile()
            settled, changed = settled + drift.settled, changed + drift.changed_pico
    click.echo(
        f"{plural(first.asked, 'call')} of open cost: {settled} settled, "
        f"{drift.still_open} still open; the books changed by {usd(changed)}"
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
