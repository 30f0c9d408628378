"""The figures in memory while the program runs: a change costs what changed.

Days that have passed are folded once; an appended line touches the sums of one
day and one session. Not safe for two threads at once; the follower uses it
from one at a time.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from workers_tui.engine.jobs.job import Job
from workers_tui.engine.money import Pico
from workers_tui.engine.pricing.manager_prices import ManagerPrices, ModelDay
from workers_tui.engine.pricing.price import Price
from workers_tui.engine.transcripts.cells import NOTHING, CellKey, Sums
from workers_tui.engine.transcripts.index_query import CellRow
from workers_tui.engine.transcripts.job_savings import JobSaving, Links, job_savings
from workers_tui.engine.transcripts.savings import Figures, Tokens, add_tokens, figures, tokens
from workers_tui.engine.transcripts.savings_facts import job_day
from workers_tui.engine.transcripts.savings_report import session_prices
from workers_tui.engine.transcripts.savings_view import DayPoint, Period, SavingsView
from workers_tui.engine.transcripts.transcript_files import MANAGER

_Folded = dict[tuple[str, str], Tokens]
"""By owner and model."""

DAYS_SHOWN = 60
LOSSES_SHOWN = 20


@dataclass(frozen=True, slots=True)
class Names:
    """What a cell's numbers stand for."""

    owner: str
    project: str
    session: str


@dataclass(slots=True)
class _Delegated:
    """The part of some period's figures that only jobs decide."""

    figures: Figures = field(default_factory=Figures)
    sessions: frozenset[str] = frozenset()

    def with_manager(self, fresh: Mapping[str, int]) -> Figures:
        """With the manager's own work in these sessions."""
        own = sum(fresh.get(session, 0) for session in self.sessions)
        return replace(self.figures, all_fresh=self.figures.worker_fresh + own)


@dataclass(slots=True)
class _Jobs:
    """What jobs saved, by period."""

    all: list[JobSaving] = field(default_factory=list)
    ever: _Delegated = field(default_factory=_Delegated)
    today: _Delegated = field(default_factory=_Delegated)
    sessions: dict[str, _Delegated] = field(default_factory=dict)
    """Newest last."""
    days: dict[int, tuple[int, Pico]] = field(default_factory=dict)
    """Fresh tokens and cost of workers by day."""
    lost: tuple[JobSaving, ...] = ()


class Book:
    """Sums by day and session, folded as far as nothing changes any more."""

    def __init__(self, prices: ManagerPrices) -> None:
        self.prices = prices
        self.sessions: dict[int, Names] = {}
        self.models: dict[int, str] = {}
        self._days: dict[int, dict[CellKey, Sums]] = defaultdict(dict)
        self._folded: dict[int, _Folded] = {}
        """Per day."""
        self._closed: tuple[int, _Folded] | None = None
        """The newest day, and the sum of all others."""
        self._managed: dict[int, Tokens] = {}
        """Per day, the manager's."""
        self._fresh: dict[str, int] = defaultdict(int)
        self._jobs = _Jobs()

    def load(self, cells: Iterable[tuple[CellKey, Sums]]) -> None:
        """Start with the sums of the index; names must be there."""
        for key, sums in cells:
            self._add(key, sums)

    def gain(self, deltas: Mapping[CellKey, Sums]) -> None:
        """Take what the cells gained; names must be there."""
        for key, sums in deltas.items():
            self._add(key, sums)

    def knows(self, deltas: Mapping[CellKey, Sums]) -> bool:
        """Whether every name and price that these need is there."""
        return all(
            key.session in self.sessions
            and key.model in self.models
            and self.prices.known(self.models[key.model], key.day)
            for key in deltas
        )

    def _add(self, key: CellKey, sums: Sums) -> None:
        day = self._days[key.day]
        day[key] = day.get(key, NOTHING).plus(sums)
        self._folded.pop(key.day, None)
        self._managed.pop(key.day, None)
        if self._closed is not None and key.day != self._closed[0]:
            self._closed = None
        names = self.sessions[key.session]
        if names.owner == MANAGER:
            self._fresh[names.session] += sums.fresh

    def model_days(self) -> set[ModelDay]:
        """What must have a price."""
        return {(self.models[key.model], day) for day, cells in self._days.items() for key in cells}

    def reprice(self) -> None:
        """Fold everything anew: prices have changed."""
        self._folded.clear()
        self._managed.clear()
        self._closed = None

    def take_jobs(
        self, jobs: Sequence[Job], links: Links, today: int, unmatched: Mapping[str, int]
    ) -> None:
        """Fold what jobs saved; `unmatched` is what workers did without a job of ours."""
        saved = job_savings(jobs, links, self._session_prices())
        by_session: dict[str, list[JobSaving]] = {}
        by_day: dict[int, list[JobSaving]] = {}
        for one in saved:
            by_day.setdefault(job_day(one.job), []).append(one)
            if one.session:
                by_session.setdefault(one.session, []).append(one)
        lost = [one for one in saved if (one.net_high_pico or 0) < 0]
        self._jobs = _Jobs(
            saved,
            _delegated(saved, unmatched),
            _delegated(by_day.get(today, [])),
            {name: _delegated(own) for name, own in by_session.items()},
            {day: _worked(own) for day, own in by_day.items()},
            tuple(reversed(lost[-LOSSES_SHOWN:])),
        )

    def worker_rows(self) -> list[CellRow]:
        """The cells of worker identities."""
        if all(names.owner == MANAGER for names in self.sessions.values()):
            return []
        return [row for day in self._days for row in self._rows(day) if row.owner != MANAGER]

    def _session_prices(self) -> Callable[[str | None], Price | None]:
        rows = self._manager_rows()
        return session_prices(rows, rows, self.prices)

    def _manager_rows(self) -> list[CellRow]:
        return [row for day in self._days for row in self._rows(day) if row.owner == MANAGER]

    def _rows(self, day: int) -> list[CellRow]:
        return [
            CellRow(
                names.owner,
                names.project,
                "",
                names.session,
                self.models[key.model],
                key.day,
                key.step,
                sums,
            )
            for key, sums in self._days[day].items()
            for names in (self.sessions[key.session],)
        ]

    def _fold(self, day: int) -> _Folded:
        if day not in self._folded:
            groups: dict[tuple[str, str], list[CellRow]] = defaultdict(list)
            for row in self._rows(day):
                groups[row.owner, row.model].append(row)
            self._folded[day] = {
                key: tokens(rows, self.prices.find) for key, rows in groups.items()
            }
        return self._folded[day]

    def _manager_on(self, day: int) -> Tokens:
        if day not in self._managed:
            parts = [found for (owner, _), found in self._fold(day).items() if owner == MANAGER]
            self._managed[day] = add_tokens(parts)
        return self._managed[day]

    def session_figures(self, session: str) -> Figures:
        """The figures of one session."""
        return self._jobs.sessions.get(session, _Delegated()).with_manager(self._fresh)

    def delegating_sessions(self) -> list[str]:
        """Sessions that delegated, by their first job."""
        return list(self._jobs.sessions)

    @property
    def job_savings(self) -> list[JobSaving]:
        """What every job saved, oldest first."""
        return self._jobs.all

    def view(self, today: int, warnings: Sequence[str] = ()) -> SavingsView:
        """Everything that the dashboard shows."""
        manager = {day: self._manager_on(day) for day in self._days}
        groups = self._all_time()
        newest = next(reversed(self._jobs.sessions), None)
        now = self._jobs.today.with_manager(self._fresh_on(today))
        ever = self._jobs.ever.with_manager(self._fresh)
        return SavingsView(
            today=Period(now, manager.get(today, Tokens())),
            all_time=Period(ever, add_tokens(groups.get(MANAGER, {}).values())),
            session=Period(self.session_figures(newest), Tokens()) if newest else None,
            session_id=newest,
            days=self._points(manager),
            workers=_most_work_first(
                {name: add_tokens(own.values()) for name, own in groups.items() if name != MANAGER}
            ),
            models=_most_work_first(groups.get(MANAGER, {})),
            lost_money=self._jobs.lost,
            warnings=tuple(warnings),
        )

    def _fresh_on(self, day: int) -> dict[str, int]:
        fresh: dict[str, int] = defaultdict(int)
        for key, sums in self._days.get(day, {}).items():
            names = self.sessions[key.session]
            if names.owner == MANAGER:
                fresh[names.session] += sums.fresh
        return fresh

    def _points(self, manager: Mapping[int, Tokens]) -> tuple[DayPoint, ...]:
        worked, nothing = self._jobs.days, Tokens()
        return tuple(
            DayPoint(
                day,
                manager.get(day, nothing).sums.fresh,
                worked.get(day, (0, 0))[0],
                manager.get(day, nothing).cost_pico,
                worked.get(day, (0, 0))[1],
            )
            for day in sorted({*manager, *worked})[-DAYS_SHOWN:]
        )

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


def _worked(saved: Sequence[JobSaving]) -> tuple[int, Pico]:
    cost = sum(one.job.cost.pico or 0 for one in saved if one.job.cost)
    return sum(one.job.usage.fresh for one in saved), cost


def _delegated(
    saved: Sequence[JobSaving], unmatched: Mapping[str, int] | None = None
) -> _Delegated:
    sessions = {one.session for one in saved if one.session} | set(unmatched or {})
    return _Delegated(figures(saved, {}, unmatched), frozenset(sessions))
