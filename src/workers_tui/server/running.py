"""Which jobs a client's running call became, so that its cancellation finds them.

A cancellation may come before the job exists: then it is remembered, and the
job ends as soon as it is there.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

Key = tuple[str, Any]
"""Client and request id."""

REMEMBERED = 1000


class RunningCalls:
    """Jobs by call, while the call runs and a little longer."""

    def __init__(self) -> None:
        self._jobs: OrderedDict[Key, list[str]] = OrderedDict()
        self._cancelled: OrderedDict[Key, None] = OrderedDict()

    def started(self, key: Key, jobs: list[str]) -> bool:
        """Note a call's jobs; False when the call was cancelled meanwhile."""
        if key in self._cancelled:
            del self._cancelled[key]
            return False
        self._jobs[key] = jobs
        _bound(self._jobs)
        return True

    def cancel(self, key: Key) -> list[str]:
        """The jobs to end; none when they are still to come or the call has ended."""
        if key in self._jobs:
            return self._jobs.pop(key)
        self._cancelled[key] = None
        _bound(self._cancelled)
        return []

    def ended(self, key: Key) -> None:
        """The call has answered."""
        self._jobs.pop(key, None)


def _bound(entries: OrderedDict[Key, Any]) -> None:
    while len(entries) > REMEMBERED:
        entries.popitem(last=False)
