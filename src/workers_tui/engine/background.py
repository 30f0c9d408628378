"""Tasks that run beside the work as long as the engine lives."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Coroutine
from typing import Any

from workers_tui.engine.events import Events, Level


class Background:
    """Holds on to its tasks, says when one fails, ends them all."""

    def __init__(self, events: Events) -> None:
        self._events = events
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self, work: Coroutine[Any, Any, object], subject: str) -> None:
        """Run something until it ends or the engine closes; `subject` says what it is about."""
        loop = asyncio.get_running_loop()
        task = loop.create_task(self._watched(work, subject), context=contextvars.Context())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _watched(self, work: Coroutine[Any, Any, object], subject: str) -> None:
        try:
            await work
        except Exception as error:  # noqa: BLE001 - nobody awaits it: the user is told instead
            text = f"stopped in the background: {error or type(error).__name__}"
            self._events.tell(subject, text, level=Level.ERROR)

    async def close(self) -> None:
        """End every task and wait for it."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
