"""What Claude did itself in the sessions that delegated: fresh tokens by model and day.

Only the sessions that somebody asked about are kept; all others are sums by day.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from workers_tui.engine.pricing.manager_prices import ModelDay
from workers_tui.engine.transcripts.index_query import CellRow
from workers_tui.engine.transcripts.savings import main_model
from workers_tui.engine.transcripts.transcript_files import MANAGER


class SessionWork:
    """The manager's own work by session."""

    def __init__(self) -> None:
        self._sessions: dict[str, dict[ModelDay, int]] = {}

    def lacks(self, names: Iterable[str]) -> set[str]:
        """The sessions that were not asked about before."""
        return {name for name in names if name not in self._sessions}

    def load(self, names: Iterable[str], rows: Iterable[CellRow]) -> None:
        """Keep these sessions from now on; `rows` are theirs, by session."""
        for name in names:
            self._sessions[name] = defaultdict(int)
        for row in rows:
            if row.owner == MANAGER:
                self._sessions[row.session][row.model, row.day] += row.sums.fresh

    def gain(self, name: str, model: str, day: int, fresh: int) -> None:
        """Take what a session did, if anybody asked about it."""
        if name in self._sessions:
            self._sessions[name][model, day] += fresh

    def fresh(self, name: str, day: int | None = None) -> int:
        """Tokens that a session worked off, on one day or ever."""
        own = self._sessions.get(name, {})
        return sum(fresh for (_, on), fresh in own.items() if day is None or on == day)

    def main_model(self, name: str) -> ModelDay | None:
        """The model that did most of a session's work, and its newest day."""
        own = self._sessions.get(name, {})
        return main_model((model, day, fresh) for (model, day), fresh in own.items())
