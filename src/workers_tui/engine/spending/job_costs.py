"""What a job costs over all its requests."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from dataclasses import replace

from workers_tui.engine.money import Cost, CostSource
from workers_tui.engine.spending import ledger_rows
from workers_tui.engine.spending.entry import CORRECTION, Row
from workers_tui.engine.usage import Usage


def job_sum(conn: sqlite3.Connection, job: str) -> tuple[Usage, Cost | None]:
    """Usage and cost of a job over all its requests; None when nothing was booked."""
    rows = ledger_rows.of_job(conn, job)
    usage = sum((row.entry.usage for row in rows), Usage())
    return usage, add_costs(_now(rows))


def add_costs(costs: Iterable[Cost]) -> Cost | None:
    """One cost for several; its source is that of the least certain part."""
    all_ = list(costs)
    if not all_:
        return None
    known = [cost.pico for cost in all_ if cost.pico is not None]
    listed = [cost.list_pico for cost in all_ if cost.list_pico is not None]
    sources = {cost.source for cost in all_}
    return Cost(
        sum(known) if known else None,
        next(source for source in LEAST_CERTAIN_FIRST if source in sources),
        sum(listed) if listed else None,
    )


LEAST_CERTAIN_FIRST = (
    CostSource.PENDING,
    CostSource.UNKNOWN,
    CostSource.ESTIMATED,
    CostSource.RECONCILED,
    CostSource.REPORTED,
)


def _now(rows: list[Row]) -> list[Cost]:
    """What each call of these rows costs, corrections taken in."""
    costs: dict[str, Cost] = {}
    for row in rows:
        cost, was = row.entry.cost, costs.get(row.entry.call)
        if was is not None and row.entry.status == CORRECTION:
            cost = replace(was, pico=(was.pico or 0) + (cost.pico or 0), source=cost.source)
        costs[row.entry.call] = cost
    return list(costs.values())
