"""A simulated provider in a thread of its own, for commands that run in this process."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from workers_tui.simulator.scenario import Scenario
from workers_tui.simulator.simulator import Simulator


@contextmanager
def simulator(scenario: Scenario | None = None) -> Iterator[Simulator]:
    """Listens on loopback as long as the block lasts."""
    sim = Simulator(scenario)
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    asyncio.run_coroutine_threadsafe(sim.start(), loop).result(10)
    try:
        yield sim
    finally:
        asyncio.run_coroutine_threadsafe(sim.stop(), loop).result(10)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
        loop.close()
