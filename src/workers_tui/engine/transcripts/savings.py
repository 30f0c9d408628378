"""The savings figures as a pure fold over sums of messages and over jobs.

Fresh tokens are input, cache writes and output; cache reads are shown, never
counted as work. Percent is the workers' part of all fresh tokens in the
sessions that delegated. Kept out of context are the tokens of the files that
calls read, less what came back. Net dollars are those tokens at the manager's
own input price (high) or cache-read price (low), less what the workers cost.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from workers_tui.engine.jobs.job import Job
from workers_tui.engine.money import Pico, from_usd
from workers_tui.engine.pricing.price import Price
from workers_tui.engine.transcripts.cells import NOTHING, Sums, prompt_in, total
from workers_tui.engine.transcripts.index_query import CellRow
from workers_tui.engine.transcripts.job_savings import JobSaving
from workers_tui.engine.transcripts.transcript_files import MANAGER

PriceOf = Callable[[str, int], Price | None]
"""Model and day to a price."""
PriceKey = tuple[str, int, int]
"""Model, day and price step: what decides on the rates of a cell."""
MILLION = 10**6


@dataclass(frozen=True, slots=True)
class Tokens:
    """Sums of some messages with their cost (T of contract 4.7)."""

    sums: Sums = NOTHING
    cost_pico: Pico = 0
    """Over the models that have a price."""
    unpriced: tuple[str, ...] = ()
    """Models without one."""


@dataclass(frozen=True, slots=True)
class Figures:
    """Whether delegation paid, over some sessions and days."""

    worker_fresh: int = 0
    """Tokens that workers worked off in the sessions that delegated."""
    all_fresh: int = 0
    """The same with the manager's own in those sessions."""
    sessions: int = 0
    """Sessions that delegated."""
    kept_out_tokens: int = 0
    """Tokens of files that only workers read, less what came back."""
    worker_pico: Pico = 0
    """What the workers cost, as far as it is known."""
    net_low_pico: Pico | None = 0
    """None when the manager's model has no price."""
    net_high_pico: Pico | None = 0
    unknown_costs: int = 0
    """Jobs whose cost nobody knows."""
    jobs: int = 0
    read_again: int = 0
    """Files that Claude read itself after it had delegated them."""

    @property
    def percent(self) -> float | None:
        """The workers' part of the work; None when there was none."""
        return 100 * self.worker_fresh / self.all_fresh if self.all_fresh else None


@dataclass(frozen=True, slots=True)
class Delegated:
    """What the ledger sums up: every request to a worker, whoever asked."""

    calls: int = 0
    input: int = 0
    output: int = 0
    cost_pico: Pico = 0
    """As far as it is known."""
    unknown_calls: int = 0
    pending_calls: int = 0


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
    manager_pico: Pico
    worker_pico: Pico


@dataclass(frozen=True, slots=True)
class SavingsView:
    """What the dashboard shows (board, Topic.SAVINGS)."""

    today: Period
    all_time: Period
    session: Period | None = None
    """The session that delegated last."""
    session_id: str | None = None
    days: tuple[DayPoint, ...] = ()
    """The newest days, oldest first."""
    workers: tuple[tuple[str, Tokens], ...] = ()
    """All time, by worker identity: what their own transcripts show."""
    models: tuple[tuple[str, Tokens], ...] = ()
    """All time, the manager's models, most work first."""
    lost_money: tuple[JobSaving, ...] = ()
    """Jobs that cost more than they saved, newest first."""
    warnings: tuple[str, ...] = ()
    """What the user should know about these figures, a line each."""

    @property
    def shown(self) -> Figures:
        """Today's figures, or those of all time while nothing was delegated today."""
        return self.today.figures if self.today.figures.jobs else self.all_time.figures

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


def tokens(rows: Iterable[CellRow], price_of: PriceOf) -> Tokens:
    """Sum of some cells, with their cost."""
    return tokens_by(rows, lambda _: "", price_of).get("", Tokens())


def tokens_by(
    rows: Iterable[CellRow], key: Callable[[CellRow], str], price_of: PriceOf
) -> dict[str, Tokens]:
    """Sums by some key, with their costs."""
    groups: dict[str, dict[PriceKey, list[Sums]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        groups[key(row)][row.model, row.day, row.step].append(row.sums)
    return {name: _priced(groups[name], price_of) for name in sorted(groups)}


def _priced(parts: Mapping[PriceKey, Sequence[Sums]], price_of: PriceOf) -> Tokens:
    cost, unpriced, whole = Decimal(0), set(), []
    for (model, day, step), some in parts.items():
        sums = some[0] if len(some) == 1 else total(some)
        whole.append(sums)
        price = price_of(model, day)
        if price is None:
            unpriced.add(model)
        else:
            cost += cost_of(sums, price, step)
    return Tokens(total(whole), from_usd(cost), tuple(sorted(unpriced)))


def add_tokens(parts: Iterable[Tokens]) -> Tokens:
    """All together."""
    kept = list(parts)
    return Tokens(
        total(part.sums for part in kept) if kept else NOTHING,
        sum(part.cost_pico for part in kept),
        tuple(sorted({model for part in kept for model in part.unpriced})),
    )


def cost_of(sums: Sums, price: Price, step: int) -> Decimal:
    """Dollars for messages whose prompts all passed the same price steps."""
    rates = price.rates_for(prompt_in(step))
    read = rates.input if rates.cache_read is None else rates.cache_read
    write = rates.input if rates.cache_write is None else rates.cache_write
    write_1h = write if rates.cache_write_1h is None else rates.cache_write_1h
    return (
        sums.input * rates.input
        + sums.output * rates.output
        + sums.read * read
        + (sums.creation - sums.creation_1h) * write
        + sums.creation_1h * write_1h
    ) / MILLION


def figures(
    jobs: Sequence[JobSaving],
    manager_fresh: Mapping[str, int],
    extra_worker_fresh: Mapping[str, int] | None = None,
) -> Figures:
    """The figures over some jobs; `manager_fresh` holds the manager's own by session.

    `extra_worker_fresh`: what workers did without a job of ours, by the session that asked.
    """
    extra = extra_worker_fresh or {}
    sessions = {one.session for one in jobs if one.session} | set(extra)
    worker = sum(one.job.usage.fresh for one in jobs if one.session) + sum(extra.values())
    manager = sum(manager_fresh.get(session, 0) for session in sessions)
    lows = [one.net_low_pico for one in jobs]
    highs = [one.net_high_pico for one in jobs]
    return Figures(
        worker_fresh=worker,
        all_fresh=worker + manager,
        sessions=len(sessions),
        kept_out_tokens=sum(one.kept_out for one in jobs),
        worker_pico=sum(one.job.cost.pico or 0 for one in jobs if one.job.cost),
        net_low_pico=_sum(lows),
        net_high_pico=_sum(highs),
        unknown_costs=sum(_cost_unknown(one.job) for one in jobs),
        jobs=len(jobs),
        read_again=sum(len(one.read_again) for one in jobs),
    )


def _sum(values: Sequence[Pico | None]) -> Pico | None:
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None


def _cost_unknown(job: Job) -> bool:
    return job.state.ended and job.cost is not None and job.cost.pico is None


def fresh_by_session(rows: Iterable[CellRow]) -> dict[str, int]:
    """The manager's own fresh tokens per session."""
    found: dict[str, int] = defaultdict(int)
    for row in rows:
        if row.owner == MANAGER:
            found[row.session] += row.sums.fresh
    return dict(found)


def main_models(rows: Iterable[CellRow]) -> dict[str, tuple[str, int]]:
    """The model that did most of a session's work, and its newest day."""
    fresh: dict[tuple[str, str], int] = defaultdict(int)
    newest: dict[tuple[str, str], int] = defaultdict(int)
    for row in rows:
        if row.owner == MANAGER:
            key = (row.session, row.model)
            fresh[key] += row.sums.fresh
            newest[key] = max(newest[key], row.day)
    best: dict[str, tuple[str, int]] = {}
    for (session, model), _ in sorted(fresh.items(), key=lambda item: (item[1], item[0])):
        best[session] = (model, newest[session, model])
    return best
