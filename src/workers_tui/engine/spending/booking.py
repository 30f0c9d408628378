"""What becomes of a bill: its row in the ledger, and what it counts against the cap."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from zoneinfo import ZoneInfo

from workers_tui.engine.money import Cost, CostSource, Pico
from workers_tui.engine.spending import ledger_rows
from workers_tui.engine.spending.entry import Entry, Row, plausible
from workers_tui.engine.spending.holds import Hold
from workers_tui.engine.spending.spend import BudgetRules


def book(
    conn: sqlite3.Connection, hold: Hold, entry: Entry, rules: BudgetRules, zone: ZoneInfo
) -> Row | None:
    """Write the row, or correct the one that is there; None when nothing new is known."""
    entry = replace(entry, generation_id=entry.generation_id or hold.generation_id)
    if ledger_rows.get(conn, entry.call) is not None:
        return ledger_rows.correct(conn, entry.call, entry.cost, entry.at, zone)
    cost = plausible(entry.cost)
    return ledger_rows.add(conn, entry, hold.day, _charge(cost, hold, rules), zone)


def _charge(cost: Cost, hold: Hold, rules: BudgetRules) -> Pico:
    """What a call counts against the cap.

    One whose bill is still to come counts as much as it may cost, so that the
    bill cannot break the cap; one that nobody will ever know, its estimate.
    """
    if cost.pico is not None:
        return cost.pico
    most = max(hold.pico, hold.estimate_pico)
    known = most if cost.source is CostSource.PENDING else hold.estimate_pico
    return known or rules.unknown_charge_pico
