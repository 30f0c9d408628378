"""The nouns of one engine, handed to the flows that work with them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from workers_tui.engine.board import Board
from workers_tui.engine.calls.queue import FairQueue
from workers_tui.engine.calls.upstream import Upstream
from workers_tui.engine.clock import Clock
from workers_tui.engine.events import Events
from workers_tui.engine.jobs.jobs import Jobs
from workers_tui.engine.pricing.prices import PriceBook
from workers_tui.engine.settings.config import ConfigFile
from workers_tui.engine.settings.providers import Providers
from workers_tui.engine.spending.budget import Budget
from workers_tui.engine.spending.ledger import Ledger
from workers_tui.engine.store.store import Store
from workers_tui.home.places import Home


@dataclass(frozen=True, slots=True)
class Parts:
    """Built once by the engine."""

    id: str
    """The engine's own name."""
    home: Home
    environ: Mapping[str, str]
    clock: Clock
    board: Board
    events: Events
    config: ConfigFile
    store: Store
    jobs: Jobs
    ledger: Ledger
    budget: Budget
    providers: Providers
    prices: PriceBook
    upstream: Upstream
    queue: FairQueue
    approvals: bool
    """Somebody looks at a dashboard and can accept or reject."""
