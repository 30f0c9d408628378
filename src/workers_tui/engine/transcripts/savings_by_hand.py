"""What workers did that no job of ours accounts for, by the session that asked and by day."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from workers_tui.engine.transcripts.savings_facts import HandWork, by_session


class ByHand:
    """Fresh tokens of worker identities that were used by hand."""

    def __init__(self) -> None:
        self.sessions: Mapping[str, int] = {}
        """Over all days."""
        self.days: Mapping[int, Mapping[str, int]] = {}
        """By day, the sessions that asked."""

    def take(self, work: HandWork) -> None:
        """Put this in the place of what was known."""
        self.sessions = by_session(work)
        days: dict[int, dict[str, int]] = defaultdict(dict)
        for session, own in work.items():
            for day, fresh in own.items():
                days[day][session] = fresh
        self.days = dict(days)

    def on(self, day: int) -> Mapping[str, int]:
        """The sessions that asked for it on one day."""
        return self.days.get(day, {})
