"""Somebody waits for the loop this very moment: what can wait, such as painting, lets it pass.

Said where a call is in its short steps, before its request leaves and after its
stream ended. It is over by itself, so a call that fails holds nothing up.
"""

from __future__ import annotations

import asyncio
import time

LASTS = 0.02
"""Seconds that a short step takes at most, as a rule."""


class Rush:
    """Until when the loop is wanted."""

    def __init__(self) -> None:
        self._until = 0.0

    def note(self) -> None:
        """A short step begins."""
        self._until = time.monotonic() + LASTS

    async def over(self, patience: float) -> None:
        """Return when nobody is in a short step, or after so many seconds."""
        end = time.monotonic() + patience
        while (wait := min(self._until, end) - time.monotonic()) > 0:  # noqa: ASYNC110 - time passes
            await asyncio.sleep(wait)
