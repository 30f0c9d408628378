"""What the dashboard shows of the savings: values under one key of the board."""

from __future__ import annotations

from dataclasses import dataclass

from workers_tui.engine.money import Pico
from workers_tui.engine.transcripts.job_savings import JobSaving, JobSums
from workers_tui.engine.transcripts.savings import Figures, Tokens


@dataclass(frozen=True, slots=True)
class Period:
    """Some span of time, or one session."""

    figures: Figures
    manager: Tokens
    """Claude's own work in it, over all sessions."""


@dataclass(frozen=True, slots=True)
class DayPoint:
    """One day in the plot."""

    day: int
    """As an ordinal."""
    manager_fresh: int
    worker_fresh: int
    worker_pico: Pico


NO_PERIOD = Period(Figures(), Tokens())


@dataclass(frozen=True, slots=True)
class Reading:
    """How far a long way through the transcripts is; it is said while it lasts."""

    done: int = 0
    """Bytes."""
    total: int = 0
    """0 while nobody knows yet how much there is."""

    @property
    def percent(self) -> int:
        """What is read of it, in whole percent; 100 when all is."""
        return min(100, 100 * self.done // self.total) if self.total else 0


@dataclass(frozen=True, slots=True)
class SavingsView:
    """What the dashboard shows (board, Topic.SAVINGS)."""

    today: Period = NO_PERIOD
    all_time: Period = NO_PERIOD
    session: Period | None = None
    """The session that delegated last."""
    session_id: str | None = None
    days: tuple[DayPoint, ...] = ()
    """The newest days, oldest first."""
    doers: tuple[tuple[str, JobSums], ...] = ()
    """All time, what the jobs of each tier and agent worker came to, most work first."""
    workers: tuple[tuple[str, Tokens], ...] = ()
    """All time, by worker identity used by hand: what their own transcripts show."""
    models: tuple[tuple[str, Tokens], ...] = ()
    """All time, the manager's models, most work first."""
    lost_money: tuple[JobSaving, ...] = ()
    """Jobs that cost more than they saved, newest first."""
    warnings: tuple[str, ...] = ()
    """What the user should know about these figures, a line each."""
    reading: Reading | None = None
    """Transcripts are being read that are not in these figures yet."""

    @property
    def is_empty(self) -> bool:
        """Nothing was delegated as far as it is known."""
        ever = self.all_time.figures
        return not (ever.jobs or ever.sessions)

    @property
    def shown(self) -> Figures:
        """Today's figures, or those of all time while nothing was delegated today."""
        today = self.today.figures
        return today if today.jobs or today.sessions else self.all_time.figures

    @property
    def percent(self) -> float | None:
        """The workers' part of the work."""
        return self.shown.percent

    @property
    def kept_out_tokens(self) -> int:
        """Tokens that never entered Claude's context."""
        return self.shown.kept_out_tokens

    @property
    def sessions(self) -> int:
        """Sessions that delegated."""
        return self.shown.sessions

    @property
    def net_low_pico(self) -> Pico | None:
        """Net dollars at cache-read price."""
        return self.shown.net_low_pico

    @property
    def net_high_pico(self) -> Pico | None:
        """Net dollars at input price."""
        return self.shown.net_high_pico
