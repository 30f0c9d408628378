"""How fast running jobs produce tokens, over the last seconds.

Fed with counts as they arrive; a job that stalls falls to zero by itself.
"""

from __future__ import annotations

from collections import deque

WINDOW = 3.0
"""Seconds that a rate looks back."""


class Rates:
    """Tokens per second by job."""

    def __init__(self) -> None:
        self._seen: dict[str, deque[tuple[float, int]]] = {}

    def note(self, job: str, tokens: int, now: float) -> None:
        """Take in a job's count of tokens so far."""
        seen = self._seen.setdefault(job, deque())
        if not seen or seen[-1][1] != tokens:
            seen.append((now, tokens))
        self._trim(seen, now)

    def forget(self, job: str) -> None:
        """The job ended."""
        self._seen.pop(job, None)

    def tokens(self, job: str) -> int:
        """The newest count, 0 before the first."""
        seen = self._seen.get(job)
        return seen[-1][1] if seen else 0

    def rate(self, job: str, now: float) -> int | None:
        """Whole tokens per second, None before there are two counts to compare."""
        seen = self._seen.get(job)
        if not seen:
            return None
        self._trim(seen, now)
        since, before = seen[0]
        if now - since < 0.5:
            return None
        # An estimate may give way to a smaller count: that is no speed.
        return max(0, round((seen[-1][1] - before) / (now - since)))

    @staticmethod
    def _trim(seen: deque[tuple[float, int]], now: float) -> None:
        while len(seen) > 1 and seen[1][0] <= now - WINDOW:
            seen.popleft()
