"""`workers-tui simulate`: the provider look-alike on a port of its own."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path

import click

from workers_tui.simulator.scenario import Scenario, load_scenario
from workers_tui.simulator.simulator import Simulator


@click.command()
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="0: a free one.")
@click.option(
    "--scenario",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="JSON file with rules; without one it behaves like a working day.",
)
def simulate(port: int, scenario: Path | None) -> None:
    """Stand in for OpenRouter and Anthropic's Messages API on loopback."""
    chosen = Scenario(seed=1)
    if scenario is not None:
        try:
            chosen = load_scenario(scenario)
        except (OSError, ValueError, RecursionError, AttributeError) as wrong:
            raise click.UsageError(f"{scenario}: {wrong}") from None
    try:
        asyncio.run(_serve(chosen, port))
    except OSError as wrong:
        raise click.ClickException(f"port {port}: {wrong.strerror or wrong}") from None


async def _serve(scenario: Scenario, port: int) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for name in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(name, stop.set)
    simulator = Simulator(scenario)
    click.echo(f"listening on {await simulator.start(port)}")
    await stop.wait()
    await simulator.stop()
