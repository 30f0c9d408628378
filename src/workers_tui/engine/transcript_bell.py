"""Rings when transcripts may have changed. It carries no facts: whoever hears it looks.

The kernel's notices come through watchfiles; where they cannot be had (network
file systems, too many watches) the files used lately are looked at instead. A
sweep now and then finds what no notice told.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from pathlib import Path

from watchfiles import awatch

from workers_tui.engine.clock import Clock
from workers_tui.engine.mounts import network_file_system
from workers_tui.engine.transcript_files import ENDING

STEP = 6
"""Milliseconds between looks at the kernel's queue: the delay of a quiet line."""
DEBOUNCE = 50
"""Milliseconds for which notices that keep coming are put together."""
POLL = 0.4
"""Seconds between looks where no notices come."""
SWEEP = 30.0
"""Seconds between looks at everything."""


class Bell:
    """Paths that may have changed, or None when everything must be looked at."""

    def __init__(
        self, roots: Sequence[str], clock: Clock, hot: Callable[[], Iterable[str]]
    ) -> None:
        self._roots = [Path(root, "projects") for root in roots]
        self._clock = clock
        self._hot = hot
        self._paths: set[str] = set()
        self._all = False
        self._rung = asyncio.Event()

    async def rings(self) -> AsyncGenerator[set[str] | None, None]:
        """Each ring; those that come while the last is worked off are put together."""
        watching = asyncio.create_task(self._listen())
        sweeping = asyncio.create_task(self._sweep())
        try:
            while True:
                await self._rung.wait()
                self._rung.clear()
                paths, self._paths = self._paths, set()
                everything, self._all = self._all, False
                yield None if everything else paths
        finally:
            for task in (watching, sweeping):
                task.cancel()
            await asyncio.gather(watching, sweeping, return_exceptions=True)

    def ring(self, paths: Iterable[str] | None = None) -> None:
        """Ring for some paths, or for everything."""
        if paths is None:
            self._all = True
        else:
            self._paths.update(paths)
        self._rung.set()

    async def _sweep(self) -> None:
        while True:
            await self._clock.sleep(SWEEP)
            self.ring()

    async def _listen(self) -> None:
        while True:
            roots = [root for root in self._roots if root.is_dir()]
            if roots and not any(network_file_system(root) for root in roots):
                with contextlib.suppress(OSError, RuntimeError):  # no watches left: poll below
                    await self._hear(roots)
            await self._poll()

    async def _hear(self, roots: Sequence[Path]) -> None:
        """Pass the kernel's notices on until a root comes or goes."""
        async for changes in awatch(
            *roots,
            watch_filter=None,
            debounce=DEBOUNCE,
            step=STEP,
            rust_timeout=int(SWEEP * 1000),
            yield_on_timeout=True,
            ignore_permission_denied=True,
        ):
            paths = {path for _, path in changes}
            if any(not path.endswith(ENDING) for path in paths):
                self.ring()  # a directory came or went; its files may have been written already
            elif paths:
                self.ring(paths)
            if [root for root in self._roots if root.is_dir()] != list(roots):
                self.ring()
                return

    async def _poll(self) -> None:
        """Look at the files used lately, for as long as a sweep's turn."""
        self.ring()
        for _ in range(int(SWEEP / POLL)):
            await self._clock.sleep(POLL)
            self.ring(self._hot())
            if any(root.is_dir() for root in self._roots) and not self._on_network():
                return

    def _on_network(self) -> bool:
        return any(network_file_system(root) for root in self._roots if root.is_dir())
