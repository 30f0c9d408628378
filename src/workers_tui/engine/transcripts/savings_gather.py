"""From the disk to a report in one pass, synchronously: what `workers-tui savings` runs.

Opens index.db and store.db itself and closes them; nothing here needs a loop,
settings classes or the network, so the command starts quickly.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import date
from pathlib import Path
from sqlite3 import Connection, connect
from sqlite3 import Error as SQLiteError
from typing import TYPE_CHECKING

from workers_tui.engine.errors import StoreError
from workers_tui.engine.pricing.manager_prices import ManagerPrices, ModelDay, ask_table, own_prices
from workers_tui.engine.store import store_file
from workers_tui.engine.transcripts import index_query, older_history
from workers_tui.engine.transcripts.index import MIGRATIONS
from workers_tui.engine.transcripts.index_query import CellRow
from workers_tui.engine.transcripts.indexer import Indexer
from workers_tui.engine.transcripts.savings_facts import (
    Facts,
    asking_sessions,
    links_of,
    unmatched_workers,
)
from workers_tui.engine.transcripts.savings_report import Report, build
from workers_tui.engine.transcripts.scan import scan
from workers_tui.engine.transcripts.short_transactions import transactions
from workers_tui.engine.transcripts.transcript_files import MANAGER, Source, is_text
from workers_tui.home.files import read_json
from workers_tui.home.places import Home

if TYPE_CHECKING:
    from workers_tui.engine.transcripts.savings_store import Stored


def gather(
    home: Home,
    sources: Sequence[Source],
    *,
    by: str = "day",
    since: date | None = None,
    config: Path | None = None,
    workers_root: Path | None = None,
) -> Report:
    """Bring the index up to date and fold it. Raises StoreError."""
    aside = store_file.prepare(home.index_db, MIGRATIONS)
    with _opened(home.index_db) as conn:
        transact = transactions(conn)
        indexer = Indexer(transact, sources)
        if workers_root is not None:
            transact(lambda conn: older_history.take_in(conn, workers_root))
        done = indexer.refresh()
        ids = list(indexer.ids.values())
        facts = Facts(unreadable=done.unreadable + damage_told(aside))
        first = since.toordinal() if since else 0
        axis = by if by in {"session", "project"} else ""
        facts.rows = index_query.cell_rows(conn, ids, by=axis, since=first)
        facts.rows += older_history.rows(conn, first)
        facts.files = index_query.file_counts(conn, ids)
        _take_delegation(conn, home, ids, facts, since)
        prices = _own_prices(config or home.models_json, facts)
        load_prices(transact, prices, facts.rows)
    return build(facts, prices, by=by, since=since)


def _own_prices(path: Path, facts: Facts) -> ManagerPrices:
    """The user's own prices; those that cannot count are said, for the cost differs without."""
    settings = read_json(path)
    own = own_prices(settings)
    given = settings.get("prices") if isinstance(settings, dict) else None
    if settings is None and path.exists():
        facts.unreadable.append(f"{path}: no JSON that can be read, so prices in it do not count")
    elif given and not isinstance(given, dict):
        facts.unreadable.append(f"{path}: prices are no object, so they do not count")
    elif lost := sorted(given.keys() - own.keys() if given else ()):
        facts.unreadable.append(f"{path}: prices without sense do not count: {', '.join(lost)}")
    return ManagerPrices(own)


def damage_told(aside: Path | None) -> list[str]:
    """What the user should know when the index was damaged."""
    if aside is None:
        return []
    return [f"{aside}: damaged, built anew; files that were deleted since are only in it"]


@contextmanager
def _opened(path: Path) -> Iterator[Connection]:
    """A connection, closed at the end; its errors say what the user can do."""
    try:
        with contextlib.closing(store_file.connect(path, durable=False)) as conn:
            yield conn
    except SQLiteError as error:
        if store_file.is_damage(error):
            store_file.mark_damaged(path)
        raise store_file.store_error(error, path) from error


def was_read(home: Home, directory: Path) -> bool:
    """Whether the index has history of a directory, or of one in it, that may be gone by now."""
    if not home.index_db.exists():
        return False
    root = os.path.realpath(directory)
    if not is_text(root):
        return False
    with _opened(home.index_db) as conn:
        found = conn.execute(
            "SELECT 1 FROM source WHERE root = ? OR substr(root, 1, ?) = ?",
            (root, len(root) + 1, f"{root}/"),
        ).fetchone()
    return found is not None


def gather_without_index(
    home: Home,
    sources: Sequence[Source],
    *,
    by: str = "day",
    since: date | None = None,
    config: Path | None = None,
    workers_root: Path | None = None,
) -> Report:
    """The same from the files alone: nothing is kept, deleted files are not known.

    What was billed is; which jobs belong to which session only the index says.
    """
    scanned = scan(sources)
    first = since.toordinal() if since else 0
    rows = [*scanned.rows, *(_older(workers_root) if workers_root else ())]
    facts = Facts(files=scanned.files, unreadable=scanned.unreadable)
    facts.rows = [row for row in rows if row.day >= first]
    _take_ledger(home, facts, since)
    prices = _own_prices(config or home.models_json, facts)
    with contextlib.closing(_price_memory(home)) as conn:
        load_prices(transactions(conn), prices, facts.rows)
    return replace(build(facts, prices, by=by, since=since), without_index=True)


def _take_ledger(home: Home, facts: Facts, since: date | None) -> None:
    """What was billed; where that cannot be read, it is said."""
    try:
        if home.store_db.exists():
            facts.delegated = _from_store(home, since).delegated
    except StoreError as error:
        facts.unreadable.append(str(error))


def _price_memory(home: Home) -> Connection:
    """The index for its prices alone; one in memory where it cannot be used."""
    try:
        store_file.prepare(home.index_db, MIGRATIONS)
        return store_file.connect(home.index_db, durable=False)
    except StoreError:
        return _memory()


def _memory() -> Connection:
    """An index that nothing is kept of."""
    conn = connect(":memory:", isolation_level=None)
    for statements in MIGRATIONS:
        conn.executescript(statements)
    return conn


def _older(workers_root: Path) -> list[CellRow]:
    """What an earlier tool's file says."""
    if not (workers_root / older_history.FILE).is_file():
        return []
    with contextlib.closing(_memory()) as conn:
        older_history.take_in(conn, workers_root)
        return older_history.rows(conn)


def load_prices(
    transact: Callable[[Callable[[Connection], set[ModelDay]]], set[ModelDay]],
    prices: ManagerPrices,
    rows: Iterable[CellRow],
) -> None:
    """Make the prices of these cells known, asking the installed table for what is new."""
    wanted = {(row.model, row.day) for row in rows}
    missing = transact(lambda conn: prices.missing(conn, wanted))
    if missing:
        found = ask_table(missing)
        today = date.today()  # noqa: DTZ011 - the user's own day

        def learn(conn: Connection) -> set[ModelDay]:
            prices.learn(conn, found, today)
            return set()

        transact(learn)


def _take_delegation(
    conn: Connection, home: Home, sources: Sequence[int], facts: Facts, since: date | None
) -> None:
    """Who delegated what, and what these sessions did themselves."""
    first = since.toordinal() if since else 0
    if home.store_db.exists():
        facts.links = links_of(conn)
        facts.jobs, facts.agent_sessions, facts.delegated = _from_store(home, since)
    if any(row.owner != MANAGER for row in facts.rows):
        workers = index_query.cell_rows(conn, sources, by="session", since=first)
        facts.unmatched = unmatched_workers(conn, sources, workers, facts.agent_sessions)
    asking = asking_sessions(facts)
    if asking:
        facts.asking = index_query.cell_rows(
            conn, sources, by="session", since=first, sessions=asking
        )


def _from_store(home: Home, since: date | None) -> Stored:
    """Jobs and ledger."""
    # Half of the start-up time, and there is no store before the first delegation.
    from workers_tui.engine.transcripts.savings_store import stored

    with _opened(home.store_db) as conn:
        return stored(conn, home.store_db, since)
