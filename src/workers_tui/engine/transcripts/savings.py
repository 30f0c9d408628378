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
from typing import NamedTuple

from workers_tui.engine.money import PER_USD, Pico, from_usd
from workers_tui.engine.pricing.price import Price
from workers_tui.engine.transcripts.cells import NOTHING, Sums, prompt_in, total
from workers_tui.engine.transcripts.index_query import CellRow
from workers_tui.engine.transcripts.job_savings import (
    NOTHING_SAVED,
    JobSaving,
    JobSums,
    job_sums,
)
from workers_tui.engine.transcripts.transcript_files import MANAGER

PriceOf = Callable[[str, int], Price | None]
"""Model and day to a price."""
Amount = int | Decimal
"""Pico-dollars: whole wherever the prices are, which is quicker."""
PICO_A_TOKEN = PER_USD // 10**6
"""What a dollar per million tokens is, in pico-dollars a token."""


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
    estimated_pico: Pico = 0
    """The part of it that nobody has confirmed."""
    unknown_calls: int = 0
    pending_calls: int = 0


def tokens(rows: Iterable[CellRow], price_of: PriceOf) -> Tokens:
    """Sum of some cells, with their cost."""
    return tokens_by(rows, lambda _: "", price_of).get("", Tokens())


def tokens_by(
    rows: Iterable[CellRow], key: Callable[[CellRow], str], price_of: PriceOf
) -> dict[str, Tokens]:
    """Sums by some key, with their costs."""
    groups: dict[str, list[CellRow]] = defaultdict(list)
    for row in rows:
        groups[key(row)].append(row)
    costs = _TokenCosts()
    return {name: _priced(groups[name], price_of, costs) for name in sorted(groups)}


def _priced(rows: Sequence[CellRow], price_of: PriceOf, costs: _TokenCosts) -> Tokens:
    cost: Amount = 0
    unpriced = set()
    for row in rows:
        price = price_of(row.model, row.day)
        if price is None:
            unpriced.add(row.model)
        else:
            cost += costs.of(price, row.step).over(row.sums)
    pico = cost if isinstance(cost, int) else from_usd(cost / PER_USD)
    return Tokens(total(row.sums for row in rows), pico, tuple(sorted(unpriced)))


def add_tokens(parts: Iterable[Tokens]) -> Tokens:
    """All together."""
    kept = list(parts)
    return Tokens(
        total(part.sums for part in kept) if kept else NOTHING,
        sum(part.cost_pico for part in kept),
        tuple(sorted({model for part in kept for model in part.unpriced})),
    )


class _TokenCost(NamedTuple):
    """What one token costs in messages whose prompts all passed the same price steps."""

    input: Amount
    output: Amount
    creation: Amount
    creation_1h: Amount
    read: Amount

    def over(self, sums: Sums) -> Amount:
        """What all of these cost."""
        return (
            sums.input * self.input
            + sums.output * self.output
            + (sums.creation - sums.creation_1h) * self.creation
            + sums.creation_1h * self.creation_1h
            + sums.read * self.read
        )


class _TokenCosts:
    """The costs of a token by price and step, each worked out once."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, int], tuple[Price, _TokenCost]] = {}
        """The price is kept so that its id stays its own; hashing prices takes longer."""

    def of(self, price: Price, step: int) -> _TokenCost:
        """What a token costs at this price, past so many steps."""
        key = (id(price), step)
        if key not in self._known:
            self._known[key] = (price, _token_cost(price, step))
        return self._known[key][1]


def _token_cost(price: Price, step: int) -> _TokenCost:
    rates = price.rates_for(prompt_in(step))
    read = rates.input if rates.cache_read is None else rates.cache_read
    write = rates.input if rates.cache_write is None else rates.cache_write
    write_1h = write if rates.cache_write_1h is None else rates.cache_write_1h
    return _TokenCost(*map(_amount, (rates.input, rates.output, write, write_1h, read)))


def _amount(usd_per_million: Decimal) -> Amount:
    pico = usd_per_million * PICO_A_TOKEN
    whole = int(pico)
    return whole if whole == pico else pico


def figures(
    jobs: Sequence[JobSaving],
    manager_fresh: Mapping[str, int],
    extra_worker_fresh: Mapping[str, int] | None = None,
) -> Figures:
    """The figures over some jobs; `manager_fresh` holds the manager's own by session.

    `extra_worker_fresh`: what workers did without a job of ours, by the session that asked.
    """
    extra = extra_worker_fresh or {}
    sums = NOTHING_SAVED
    for one in jobs:
        sums = sums.plus(job_sums(one))
    sessions = {one.session for one in jobs if one.session} | set(extra)
    manager = sum(manager_fresh.get(session, 0) for session in sessions)
    return figures_of(sums, len(sessions), manager, sum(extra.values()))


def figures_of(sums: JobSums, sessions: int, manager_fresh: int, extra: int = 0) -> Figures:
    """The figures from sums; `extra` is what workers did without a job of ours."""
    low, high = sums.net
    return Figures(
        worker_fresh=sums.asked_fresh + extra,
        all_fresh=sums.asked_fresh + extra + manager_fresh,
        sessions=sessions,
        kept_out_tokens=sums.kept_out,
        worker_pico=sums.worker_pico,
        net_low_pico=low,
        net_high_pico=high,
        unknown_costs=sums.unknown_costs,
        jobs=sums.jobs,
        read_again=sums.read_again,
    )


def fresh_by_session(rows: Iterable[CellRow]) -> dict[str, int]:
    """The manager's own fresh tokens per session."""
    found: dict[str, int] = defaultdict(int)
    for row in rows:
        if row.owner == MANAGER:
            found[row.session] += row.sums.fresh
    return dict(found)


def main_models(rows: Iterable[CellRow]) -> dict[str, tuple[str, int]]:
    """The main model of every session of the manager."""
    sessions: dict[str, list[tuple[str, int, int]]] = defaultdict(list)
    for row in rows:
        if row.owner == MANAGER:
            sessions[row.session].append((row.model, row.day, row.sums.fresh))
    mains = ((session, main_model(work)) for session, work in sessions.items())
    return {session: main for session, main in mains if main is not None}


def main_model(work: Iterable[tuple[str, int, int]]) -> tuple[str, int] | None:
    """The model that did most of some work (model, day, fresh tokens), and its newest day."""
    fresh: dict[str, int] = defaultdict(int)
    newest: dict[str, int] = {}
    for model, day, tokens_ in work:
        fresh[model] += tokens_
        newest[model] = max(newest.get(model, 0), day)
    best = max(fresh, key=lambda model: (fresh[model], model), default=None)
    return None if best is None else (best, newest[best])
