"""What the follower does in its thread: the index, the book of sums, the prices, the links.

One step at a time, called by the follower alone. Nothing here waits for news.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import date
from importlib.metadata import version
from math import inf
from pathlib import Path
from sqlite3 import Connection
from typing import Any, TypeVar

from workers_tui.engine.jobs.job import Job
from workers_tui.engine.pricing.manager_prices import (
    ManagerPrices,
    forget_prices,
    own_prices,
)
from workers_tui.engine.pricing.price import Price
from workers_tui.engine.pricing.price_asking import ask_apart
from workers_tui.engine.transcripts import index_query, older_history
from workers_tui.engine.transcripts.cells import CellKey, Sums
from workers_tui.engine.transcripts.doubles import Doubles
from workers_tui.engine.transcripts.indexer import Indexer, Refreshed
from workers_tui.engine.transcripts.job_savings import JobSaving, Links, job_savings, new_links
from workers_tui.engine.transcripts.savings_book import Book
from workers_tui.engine.transcripts.savings_facts import (
    HandWork,
    links_of,
    names_of,
    unmatched_workers,
)
from workers_tui.engine.transcripts.savings_view import SavingsView
from workers_tui.engine.transcripts.transcript_files import MANAGER

T = TypeVar("T")
Transact = Callable[[Callable[[Connection], T]], T]

HOT = 24 * 3600 * 10**9
"""Files written within so many nanoseconds are looked at where no notices come."""


class Steps:
    """The state behind the live figures."""

    def __init__(
        self, transact: Transact[Any], indexer: Indexer, workers_root: Path, settings: Any
    ) -> None:
        self._transact = transact
        self._workers_root = workers_root
        self.book = Book(ManagerPrices(own_prices(settings)))
        self.stale = False
        """The sums are not what the index says: `reload` before showing them."""
        self.links_moved = True
        """A transcript told something new about delegation."""
        self.workers_moved = True
        """A worker that no job of ours is known for did something."""
        self._links = Links()
        self._prices: dict[str | None, Price | None] = {}
        """Of the sessions whose jobs were folded."""
        table = version("genai-prices")
        self._write(lambda conn: forget_prices(conn, table))
        self._write(lambda conn: older_history.take_in(conn, workers_root))
        self._indexer = indexer
        self._ids = list(self._indexer.ids.values())
        self._doubles = Doubles(self._ids)
        self._unreadable = tuple(self._indexer.refresh().unreadable)
        self.reload()

    def _write(self, work: Callable[[Connection], T]) -> T:
        found: T = self._transact(work)
        return found

    def reload(self) -> None:
        """Take the sums from the index, where other processes write, too."""
        self.stale = False
        ids = self._ids
        rows = self._write(lambda conn: index_query.cell_rows(conn, ids))
        self.book.load(rows + self._write(older_history.rows))
        self._write(self._doubles.load)
        self._load_prices()
        self._ask_about([*self.book.jobs.sessions, *self.book.by_hand.sessions])

    def catch_up(self) -> None:
        """Another process has read on: ask the index for everything again."""
        self._indexer.forget()
        self.stale = self.links_moved = self.workers_moved = True

    def take(self, paths: set[str] | None, at_most: float = inf) -> Refreshed:
        """Read what is new in some files, or in all; nothing of `at_most` bytes or more."""
        indexer = self._indexer
        if at_most < inf and (left := indexer.waiting(paths)) >= at_most:
            return Refreshed(left=left)
        done = indexer.refresh() if paths is None else indexer.refresh_paths(paths)
        if paths is None:
            self._unreadable = tuple(done.unreadable)
        for deltas in done.deltas:
            self._gain(deltas)
        self.links_moved |= done.delegated
        return done

    def _gain(self, deltas: Mapping[CellKey, Sums]) -> None:
        complete = self.book.knows(deltas)
        if not complete:
            self._load_names({key.session for key in deltas} - self.book.names.keys())
        self.book.gain(deltas)
        if not complete:
            self._load_prices()
        if self._doubles.concern(deltas, self._write):
            self.stale = True
        names = {self.book.names[key.session] for key in deltas}
        unknown = {one.name for one in names if one.owner != MANAGER}
        self.workers_moved |= bool(unknown and unknown - self.book.jobs.agent_sessions)

    def hot(self) -> list[str]:
        """Files written lately."""
        return self._indexer.hot(HOT)

    def view(self, today: int) -> SavingsView:
        """The newest figures."""
        return self.book.view(today, self._unreadable)

    # jobs

    def look_at_links(self) -> set[str]:
        """Read anew how jobs and transcripts belong together; the jobs for which that changed."""
        if not self.links_moved:
            return set()
        self.links_moved = False
        before, self._links = self._links, self._write(links_of)
        calls, jobs, sessions = new_links(before, self._links)
        book = self.book.jobs
        return (jobs & book.shares.keys()) | book.of_tool_uses(calls) | book.of_session(sessions)

    def take_jobs(self, jobs: Iterable[Job]) -> list[JobSaving]:
        """Fold what these jobs saved."""
        some = list(jobs)
        names = (self._links.session(job) for job in some)
        self._ask_about(name for name in names if name)
        saved = job_savings(some, self._links, self._price_of)
        self.book.jobs.take(saved)
        return saved

    def repriced(self) -> set[str]:
        """The jobs whose session's price is not what they were folded with."""
        before, self._prices = self._prices, {}
        changed = {name for name, price in before.items() if self._price_of(name) != price}
        return self.book.jobs.of_session(changed) if changed else set()

    def price_by(self, settings: Any) -> bool:
        """Go by the prices in these settings from now on; whether they are others."""
        if not self.book.prices.use(own_prices(settings)):
            return False
        self._load_prices()  # of models that the user no longer prices
        self.book.reprice()
        return True

    def _price_of(self, session: str | None) -> Price | None:
        """The price of a session's main model; of everybody's, where it has none."""
        if session not in self._prices:
            own = self.book.work.main_model(session) if session else None
            main = own or self.book.main_model()
            self._prices[session] = self.book.prices.find(*main) if main else None
        return self._prices[session]

    def count_workers(self) -> None:
        """Count what workers did that no job of ours accounts for."""
        if not self.workers_moved:
            return
        self.workers_moved = False
        ids, ours = self._ids, self.book.jobs.agent_sessions

        def count(conn: Connection) -> HandWork:
            rows = index_query.cell_rows(conn, ids, by="session")
            return unmatched_workers(conn, ids, rows, ours)

        self.book.by_hand.take(self._write(count) if self.book.has_workers else {})
        self._ask_about(self.book.by_hand.sessions)

    def _ask_about(self, names: Iterable[str]) -> None:
        """Know from now on what these sessions do themselves."""
        ids, new = self._ids, self.book.work.lacks(names)
        if new:
            rows = self._write(
                lambda conn: index_query.cell_rows(conn, ids, by="session", sessions=new)
            )
            self.book.work.load(new, rows)

    # names and prices

    def _load_names(self, numbers: set[int]) -> None:
        if numbers:
            self.book.names.update(self._write(lambda conn: names_of(conn, numbers)))
        self.book.models.update(self._write(index_query.model_names))

    def _load_prices(self) -> None:
        wanted, prices = self.book.model_days(), self.book.prices
        missing = self._write(lambda conn: prices.missing(conn, wanted))
        if missing:
            found = ask_apart(missing)
            today = date.today()  # noqa: DTZ011 - the user's own day
            self._write(lambda conn: prices.learn(conn, found, today))
            self.book.reprice()
