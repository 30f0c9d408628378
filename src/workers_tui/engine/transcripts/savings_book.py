"""The figures in memory while the program runs: a change costs what changed.

Days that have passed are folded once; an appended line touches the sums of one
day, and of its session where that delegated. Kept are sums, no messages and no
jobs. Not safe for two threads at once; the follower uses it from one at a time.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from workers_tui.engine.pricing.manager_prices import ManagerPrices, ModelDay
from workers_tui.engine.transcripts.cells import NOTHING, CellKey, Sums
from workers_tui.engine.transcripts.index_query import CellRow, SessionName
from workers_tui.engine.transcripts.job_savings import NOTHING_SAVED, JobSums
from workers_tui.engine.transcripts.savings import (
    Figures,
    Tokens,
    add_tokens,
    figures_of,
    main_model,
    tokens,
)
from workers_tui.engine.transcripts.savings_by_hand import ByHand
from workers_tui.engine.transcripts.savings_jobs import JobBook
from workers_tui.engine.transcripts.savings_view import DayPoint, Period, SavingsView
from workers_tui.engine.transcripts.session_work import SessionWork
from workers_tui.engine.transcripts.transcript_files import MANAGER

_Slot = tuple[str, str, int]
"""Owner, model and price step."""
_Folded = dict[tuple[str, str], Tokens]
"""By owner and model."""

DAYS_SHOWN = 60
NONE = Tokens()


class Book:
    """Sums by day, folded as far as nothing changes any more."""

    def __init__(self, prices: ManagerPrices) -> None:
        self.prices = prices
        self.names: dict[int, SessionName] = {}
        """Of the sessions that gained something."""
        self.models: dict[int, str] = {}
        self.jobs = JobBook()
        self.work = SessionWork()
        self.by_hand = ByHand()
        self._days: dict[int, dict[_Slot, Sums]] = defaultdict(dict)
        self._folded: dict[int, _Folded] = {}
        """Per day."""
        self._closed: tuple[int, _Folded] | None = None
        """The newest day, and the sum of all others."""
        self._managed: dict[int, Tokens] = {}
        """Per day, the manager's."""
        self._manager_days: set[int] = set()
        """Days on which the manager worked."""
        self._pointed: dict[int, tuple[Tokens, JobSums, int, DayPoint]] = {}
        """Per day, what was shown last and from what."""

    def load(self, rows: Iterable[CellRow]) -> None:
        """Start anew with the sums of the index."""
        self._days.clear()
        self._manager_days.clear()
        self.work = SessionWork()
        self.reprice()
        for row in rows:
            self._add(row.day, (row.owner, row.model, row.step), row.sums)

    def gain(self, deltas: Mapping[CellKey, Sums]) -> None:
        """Take what the cells gained; names must be there."""
        for key, sums in deltas.items():
            session, model = self.names[key.session], self.models[key.model]
            self._add(key.day, (session.owner, model, key.step), sums)
            if session.owner == MANAGER:
                self.work.gain(session.name, model, key.day, sums.fresh)

    def knows(self, deltas: Mapping[CellKey, Sums]) -> bool:
        """Whether every name and price that these need is there."""
        return all(
            key.session in self.names
            and key.model in self.models
            and self.prices.known(self.models[key.model], key.day)
            for key in deltas
        )

    def _add(self, number: int, slot: _Slot, sums: Sums) -> None:
        day = self._days[number]
        day[slot] = day.get(slot, NOTHING).plus(sums)
        if slot[0] == MANAGER:
            self._manager_days.add(number)
        self._folded.pop(number, None)
        self._managed.pop(number, None)
        if self._closed is not None and number != self._closed[0]:
            self._closed = None

    def model_days(self) -> set[ModelDay]:
        """What must have a price."""
        return {(model, day) for day, slots in self._days.items() for _, model, _ in slots}

    def reprice(self) -> None:
        """Fold everything anew: prices have changed."""
        self._folded.clear()
        self._managed.clear()
        self._closed = None

    @property
    def has_workers(self) -> bool:
        """Whether there are transcripts of worker identities."""
        return any(owner != MANAGER for slots in self._days.values() for owner, _, _ in slots)

    def main_model(self) -> ModelDay | None:
        """The model that does most of the manager's work, and its newest day."""
        return main_model(
            (model, day, sums.fresh)
            for day, slots in self._days.items()
            for (owner, model, _), sums in slots.items()
            if owner == MANAGER
        )

    def _fold(self, day: int) -> _Folded:
        if day not in self._folded:
            groups: dict[tuple[str, str], list[CellRow]] = defaultdict(list)
            for (owner, model, step), sums in self._days[day].items():
                groups[owner, model].append(CellRow(owner, "", "", "", model, day, step, sums))
            self._folded[day] = {
                key: tokens(rows, self.prices.find) for key, rows in groups.items()
            }
        return self._folded[day]

    def _manager_on(self, day: int) -> Tokens:
        if day not in self._manager_days:
            return NONE
        if day not in self._managed:
            parts = [found for (owner, _), found in self._fold(day).items() if owner == MANAGER]
            self._managed[day] = add_tokens(parts)
        return self._managed[day]

    def session_figures(self, session: str) -> Figures:
        """The figures of one session."""
        extra = self.by_hand.sessions.get(session, 0)
        return figures_of(self.jobs.session(session), 1, self.work.fresh(session), extra)

    def ever(self) -> Figures:
        """The figures of all time."""
        extra = self.by_hand.sessions
        sessions = {*self.jobs.sessions, *extra}
        own = sum(self.work.fresh(session) for session in sessions)
        return figures_of(self.jobs.ever, len(sessions), own, sum(extra.values()))

    def _on(self, day: int) -> Figures:
        extra = self.by_hand.on(day)
        sessions = self.jobs.sessions_on(day) | extra.keys()
        own = sum(self.work.fresh(session, day) for session in sessions)
        sums = self.jobs.days.get(day, NOTHING_SAVED)
        return figures_of(sums, len(sessions), own, sum(extra.values()))

    def view(self, today: int, warnings: Sequence[str] = ()) -> SavingsView:
        """Everything that the dashboard shows."""
        groups = self._all_time()
        newest = next(reversed(self.jobs.sessions), None)
        return SavingsView(
            today=Period(self._on(today), self._manager_on(today)),
            all_time=Period(self.ever(), add_tokens(groups.get(MANAGER, {}).values())),
            session=Period(self.session_figures(newest), Tokens()) if newest else None,
            session_id=newest,
            days=self._points(),
            doers=self._doers(),
            workers=_most_work_first(
                {name: add_tokens(own.values()) for name, own in groups.items() if name != MANAGER}
            ),
            models=_most_work_first(groups.get(MANAGER, {})),
            lost_money=self.jobs.losses,
            warnings=tuple(warnings),
        )

    def _doers(self) -> tuple[tuple[str, JobSums], ...]:
        """Who worked something off or may have cost something."""
        there = [
            (name, sums)
            for name, sums in self.jobs.doers.items()
            if sums.fresh or sums.worker_pico or sums.unknown_costs
        ]
        return tuple(sorted(there, key=lambda one: (-one[1].fresh, one[0])))

    def _points(self) -> tuple[DayPoint, ...]:
        jobs = self.jobs.days
        shown = sorted({*self._manager_days, *jobs, *self.by_hand.days})[-DAYS_SHOWN:]
        return tuple(self._point(day, jobs.get(day, NOTHING_SAVED)) for day in shown)

    def _point(self, day: int, jobs: JobSums) -> DayPoint:
        """A day's point; the same one as before where nothing changed."""
        manager, extra = self._manager_on(day), sum(self.by_hand.on(day).values())
        before = self._pointed.get(day)
        if before is not None and (
            before[0] is manager and before[1] is jobs and before[2] == extra
        ):
            return before[3]
        point = DayPoint(day, manager.sums.fresh, jobs.fresh + extra, jobs.worker_pico)
        self._pointed[day] = (manager, jobs, extra, point)
        return point

    def _all_time(self) -> dict[str, dict[str, Tokens]]:
        """Sums by owner and model; all days but the newest are added up once."""
        newest = max(self._days, default=0)
        if self._closed is None or self._closed[0] != newest:
            past = _together(self._fold(day) for day in self._days if day != newest)
            self._closed = (newest, past)
        both = _together([self._closed[1], self._fold(newest) if self._days else {}])
        groups: dict[str, dict[str, Tokens]] = defaultdict(dict)
        for (owner, model), found in both.items():
            groups[owner][model] = found
        return groups


def _together(parts: Iterable[_Folded]) -> _Folded:
    groups: dict[tuple[str, str], list[Tokens]] = defaultdict(list)
    for part in parts:
        for key, found in part.items():
            groups[key].append(found)
    return {key: add_tokens(found) for key, found in groups.items()}


def _most_work_first(groups: Mapping[str, Tokens]) -> tuple[tuple[str, Tokens], ...]:
    return tuple(sorted(groups.items(), key=lambda item: (-item[1].sums.fresh, item[0])))
