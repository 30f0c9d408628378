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
    asyncio.run(_serve(chosen, port))


async def _serve(scenario: Scenario, port: int) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for name in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(name, stop.set)
    simulator = Simulator(scenario)
    try:
        address = await simulator.start(port)
    except OSError as wrong:
        raise click.ClickException(f"port {port}: {wrong.strerror or wrong}") from None
    try:
        click.echo(f"listening on {address}")
        await stop.wait()
    finally:
        await simulator.stop()
