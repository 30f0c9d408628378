"""The simulator in a thread of its own, so that it answers while a test waits for a process."""

from __future__ import annotations

import asyncio
import threading
import time
from decimal import Decimal
from typing import Any

from workers_tui.simulator.scenario import Scenario, scenario_of
from workers_tui.simulator.simulator import Seen, Simulator

PATIENCE = 10.0


class Provider:
    """A provider on loopback, and what it saw."""

    def __init__(self, **scenario: Any) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self.simulator = Simulator(scenario_of(scenario) if scenario else Scenario())
        self.url: str = self._in_loop(self.simulator.start())

    def _in_loop(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(PATIENCE)

    def stop(self) -> None:
        """Close everything."""
        self._in_loop(self.simulator.stop())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(PATIENCE)
        self._loop.close()

    def change(self, **scenario: Any) -> None:
        """Answer by another scenario from now on."""
        self.simulator.change(scenario_of(scenario))

    def calls(self, mark: str = "") -> list[Seen]:
        """The requests for answers whose task holds a mark."""
        return [one for one in list(self.simulator.seen) if mark in asked(one)]

    @property
    def cost(self) -> Decimal:
        """USD billed so far."""
        return self.simulator.book.cost

    def bills(self, model: str = "") -> list[Any]:
        """Bills of requests that asked for a model."""
        return [bill for bill in self.simulator.book.all() if model in bill.asked]

    def wait_for_call(self, mark: str) -> Seen:
        """The first request with a mark, as soon as it has come."""
        until = time.monotonic() + PATIENCE
        while not (found := self.calls(mark)):
            assert time.monotonic() < until, f"no request with {mark!r} came"
            time.sleep(0.005)
        return found[0]

    def wait_for_bill(self, model: str) -> Any:
        """The first bill of a model, as soon as it is written."""
        until = time.monotonic() + PATIENCE
        while not (found := self.bills(model)):
            assert time.monotonic() < until, f"no bill for {model!r} came"
            time.sleep(0.005)
        return found[0]


def asked(seen: Seen) -> str:
    """The text of a request's messages; nothing for other requests."""
    if not seen.path.endswith("/chat/completions") or not isinstance(seen.body, dict):
        return ""
    return "\n".join(str(message.get("content")) for message in seen.body.get("messages", ()))
