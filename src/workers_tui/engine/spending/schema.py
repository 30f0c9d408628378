"""The order in which store.db grew. Append only: a store counts the steps it has taken."""

from __future__ import annotations

from workers_tui.engine.jobs import job_rows
from workers_tui.engine.spending import holds, ledger_rows
from workers_tui.engine.store import facts
from workers_tui.engine.store.store_file import Migration

STORE_MIGRATIONS: tuple[Migration, ...] = (
    *facts.MIGRATIONS,
    *job_rows.MIGRATIONS,
    *holds.MIGRATIONS,
    *ledger_rows.MIGRATIONS,
)
"""One entry per step. A later change of any table goes to the end, whoever owns the table."""
