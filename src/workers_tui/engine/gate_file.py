"""Keeps gate.json true: what Claude Code's hooks know about whether delegating would work."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from workers_tui.engine.board import Board, Key, Topic
from workers_tui.engine.events import Events, Level
from workers_tui.engine.settings.providers import ProviderView
from workers_tui.engine.settings.settings import Settings, Tier
from workers_tui.engine.spending.spend import Spend
from workers_tui.home.gate import Gate, GateTier, write_gate
from workers_tui.home.places import Home

TOLD_BY = frozenset({Topic.SPEND, Topic.CONFIG, Topic.PROVIDER, Topic.WORKER})
AT_MOST_EVERY = 1.0
"""Seconds between writes; the cap's numbers move with every call."""


class GateFile:
    """Follows the board and writes the file when its answer changes."""

    def __init__(
        self, home: Home, board: Board, settings: Callable[[], Settings], events: Events
    ) -> None:
        self._home = home
        self._board = board
        self._settings = settings
        self._events = events
        self._written: Gate | None = None
        self._trouble = ""

    async def follow(self) -> None:
        """Write at once and after each change; runs until cancelled."""
        watcher = self._board.watch()
        try:
            while True:
                await self.refresh()
                while not any(key.topic in TOLD_BY for key in await watcher.changed()):
                    pass
                await asyncio.sleep(AT_MOST_EVERY)
        finally:
            watcher.close()

    async def refresh(self) -> None:
        """Write the file if its answer is another one by now."""
        gate = self.gate()
        if gate == self._written:
            return
        try:
            await asyncio.to_thread(write_gate, self._home, gate)
        except OSError as error:
            self._complain(f"{self._home.gate_json} cannot be written: {error.strerror or error}")
        else:
            self._written, self._trouble = gate, ""

    def _complain(self, trouble: str) -> None:
        """Once; it is tried again at every change on the board."""
        if trouble != self._trouble:
            self._events.tell("config", trouble, level=Level.WARNING)
        self._trouble = trouble

    def gate(self) -> Gate:
        """The answer as the board has it now."""
        settings = self._settings()
        spend = self._board.get(Key(Topic.SPEND))
        full = isinstance(spend, Spend) and spend.free_pico is not None and spend.free_pico <= 0
        usable = [
            GateTier(name, tier.use)
            for name, tier in settings.tiers.items()
            if self._usable(settings, tier)
        ]
        return Gate(
            mode=settings.delegation,
            tiers=tuple(usable),
            workers=self._workers(),
            cap_reached=full,
            resets_at=spend.resets_at.timestamp() if full else None,
            large_read_bytes=settings.large_read_bytes,
        )

    def _usable(self, settings: Settings, tier: Tier) -> bool:
        view = self._board.get(Key(Topic.PROVIDER, settings.tier_provider(tier)))
        if not isinstance(view, ProviderView) or view.paused is not None:
            return False
        return view.has_key or view.loopback

    def _workers(self) -> tuple[str, ...]:
        names = self._board.names(Topic.WORKER)
        views = {name: self._board.get(Key(Topic.WORKER, name)) for name in names}
        return tuple(sorted(name for name, view in views.items() if view.usable))
