"""Rings when transcripts may have changed. It carries no facts: whoever hears it looks.

The kernel's notices come through watchfiles, at a pace that costs an idle
program nothing. Files that are being written just now are looked at directly,
so that a line of a running session shows at once; so are the files used lately
where no notices can be had (network file systems, too many watches). A sweep
now and then finds what nothing else told, and then the watches are set anew.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from pathlib import Path
from stat import S_ISDIR

from workers_tui.engine.clock import Clock
from workers_tui.engine.store.mounts import network_file_system
from workers_tui.engine.transcripts.transcript_files import ENDING

STEP = 100
"""Milliseconds between looks at the kernel's queue: an idle program wakes no oftener."""
DEBOUNCE = 50
"""Milliseconds for which notices that keep coming are put together, in watchfiles."""
LOOK = 0.009
"""Seconds between looks at the files that are being written, until one has a new line."""
LIVE_FOR = 30.0
"""Seconds for which a file counts as being written after its last line."""
MOST_LIVE = 4
"""More files than this at once are left to the kernel's notices."""
BETWEEN = 0.087
"""Seconds between two rings while lines keep coming: bounded work, many lines at once."""
OTHERS = 0.2
"""Seconds between two notices while files are being written, which are looked at anyway."""
BURST = 64
"""After a notice of more files than this the kernel may have dropped some: look at everything."""
POLL = 0.4
"""Seconds between looks where no notices come."""
SWEEP = 60.0
"""Seconds between looks at everything."""
SURELY = (0.3, 2.0)
"""Seconds after which watches that are being set up are taken to stand."""
ROOTS = 2.0
"""Seconds between looks for a directory that came, went or was replaced."""


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
        self._live: dict[str, tuple[int, int]] = {}
        """Size and time of the files being written, as last seen."""
        self._living = asyncio.Event()
        self._untold: set[str] = set()
        """Files that had news of which no notice came."""
        self._renew = asyncio.Event()
        """The watches are not, or no longer, where they should be."""
        self._one_by_one = False
        """Directories have watches of their own: some may not be looked into."""
        self._last = -LIVE_FOR

    async def rings(self) -> AsyncGenerator[set[str] | None, None]:
        """Each ring; those that come while the last is worked off are put together."""
        work = (self._listen(), self._look(), self._sweep(), self._look_after_watches())
        tasks = [asyncio.create_task(one) for one in work]
        try:
            while True:
                await self._rung.wait()
                await self._rest()
                self._paths.update(self._written())
                self._rung.clear()
                paths, self._paths = self._paths, set()
                everything, self._all = self._all, False
                yield None if everything else paths
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def ring(self, paths: Iterable[str] | None = None) -> None:
        """Ring for some paths, or for everything."""
        if paths is None:
            self._all = True
        else:
            self._paths.update(paths)
        self._rung.set()

    def found(self, paths: Iterable[str]) -> None:
        """Hear in which files a look at everything found news: some may be without a watch.

        The kernel drops notices when too many come at once.
        """
        untold = [path for path in paths if path not in self._live]
        if untold:
            self._untold.update(untold)
            self._note(untold)
            self.ring(untold)  # for a line that came between that look and this note

    async def _rest(self) -> None:
        """Let lines gather when the last ring was just now."""
        now = self._clock.monotonic()
        if now - self._last < BETWEEN:
            await self._clock.sleep(self._last + BETWEEN - now)
        self._last = self._clock.monotonic()

    async def _sweep(self) -> None:
        while True:
            await self._clock.sleep(SWEEP)
            self.ring()

    async def _look_after_watches(self) -> None:
        """Have them renewed for a root that came or went, and where notices are missed."""
        there, missed = self._there(), set[str]()
        while True:
            await self._clock.sleep(ROOTS)
            now, missed = self._there(), missed & self._untold
            if there != now or missed:
                there = now
                self._untold.clear()
                self._renew.set()
            missed = set(self._untold)

    def _there(self) -> dict[Path, int]:
        """The roots that exist, with their inodes: notices do not follow a name."""
        found = {}
        for root in self._roots:
            with contextlib.suppress(OSError):
                stat = root.stat()
                if S_ISDIR(stat.st_mode):
                    found[root] = stat.st_ino
        return found

    async def _look(self) -> None:
        """Look at the files being written, until nothing was written for a while."""
        while True:
            await self._living.wait()
            end = self._clock.monotonic() + LIVE_FOR
            while self._clock.monotonic() < end and 0 < len(self._live) <= MOST_LIVE:
                await self._clock.sleep(LOOK)
                changed = self._written()
                if changed:
                    self.ring(changed)
                    end = self._clock.monotonic() + LIVE_FOR
                    await self._clock.sleep(BETWEEN)  # no ring is due sooner
            self._live.clear()
            self._living.clear()

    def _written(self) -> list[str]:
        """Files being written that have more than when they were looked at last."""
        changed = [path for path, seen in self._live.items() if _stamp(path) != seen]
        self._note(changed)
        return changed

    def _note(self, paths: Iterable[str]) -> None:
        for path in paths:
            self._live[path] = _stamp(path)
            self._living.set()

    async def _listen(self) -> None:
        while True:
            self._renew.clear()
            roots = list(self._there())
            if roots and not any(network_file_system(root) for root in roots):
                surely = asyncio.create_task(self._make_sure())
                try:
                    await self._hear(roots)
                    continue
                except PermissionError:
                    if not self._one_by_one:  # what comes after a locked directory has no watch
                        self._one_by_one = True
                        continue
                except (OSError, RuntimeError):  # no watches left: poll below
                    pass
                finally:
                    surely.cancel()
            await self._poll(roots)

    async def _make_sure(self) -> None:
        """Look at everything when the watches must stand: nothing tells what came before them."""
        for pause in SURELY:
            await self._clock.sleep(pause)
            self.ring()

    async def _hear(self, roots: Sequence[Path]) -> None:
        """Pass the kernel's notices on until a root comes or goes."""
        # watchfiles takes 70 ms to import, which a command that follows nothing need not pay.
        from watchfiles import awatch

        watched = folders_in(roots) if self._one_by_one else roots
        async for changes in awatch(
            *watched,
            watch_filter=None,
            debounce=DEBOUNCE,
            step=STEP,
            stop_event=self._renew,
            recursive=not self._one_by_one,
            ignore_permission_denied=False,  # else it keeps silent when watches run out, too
        ):
            paths = {path for _, path in changes}
            self._untold -= paths
            if len(paths) > BURST:
                self._renew.set()
            if any(not path.endswith(ENDING) for path in paths):
                self.ring()  # a directory came or went; its files may have been written already
                if self._one_by_one:
                    self._renew.set()
            new = [path for path in paths if _stamp(path) != self._live.get(path)]
            if new:
                self._note(new)
                self.ring(new)
            await self._clock.sleep(OTHERS)
        self.ring()

    async def _poll(self, roots: Sequence[Path]) -> None:
        """Look at the files used lately and at the directories, for as long as a sweep's turn."""
        self.ring()
        folders = _stamps(roots)
        for _ in range(int(SWEEP / POLL)):
            await self._clock.sleep(POLL)
            self.ring(self._hot())
            if self._renew.is_set() or (not roots and self._there()):
                return
            if (now := _stamps(roots)) != folders:
                folders = now
                self.ring()  # a file or a directory came or went


def links_in(roots: Sequence[Path]) -> list[Path]:
    """Directories elsewhere to which links in the roots lead."""
    real = [os.path.realpath(root) for root in roots]
    found = []
    for root in roots:
        with contextlib.suppress(OSError), os.scandir(root) as entries:
            found += [Path(one.path) for one in entries if one.is_symlink() and one.is_dir()]
    return [
        path for path in found if not any(_overlap(os.path.realpath(path), one) for one in real)
    ]


def _overlap(one: str, other: str) -> bool:
    return f"{one}/".startswith(f"{other}/") or f"{other}/".startswith(f"{one}/")


def folders_in(roots: Sequence[Path]) -> list[Path]:
    """Every directory that may be looked into."""
    tops = [*roots, *links_in(roots)]
    return [
        Path(place) for top in tops for place, _, _ in os.walk(top) if os.access(place, os.R_OK)
    ]


def _stamps(roots: Iterable[Path]) -> dict[str, tuple[int, int]]:
    """Stamps of the roots and the directories in them, where sessions have their files."""
    stamps = {str(root): _stamp(str(root)) for root in roots}
    for root in roots:
        with contextlib.suppress(OSError), os.scandir(root) as entries:
            stamps |= {one.path: _stamp(one.path) for one in entries if one.is_dir()}
    return stamps


def _stamp(path: str) -> tuple[int, int]:
    """What changes when a file is written; zeros when it is gone."""
    try:
        stat = os.stat(path)  # noqa: PTH116 - runs a hundred times a second
    except OSError:
        return 0, 0
    return stat.st_size, stat.st_mtime_ns
