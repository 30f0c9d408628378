"""Builds the nouns of an engine in the order they lean on each other."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from functools import partial
from typing import Any

from workers_tui.engine.board import Board
from workers_tui.engine.calls.parts import Parts
from workers_tui.engine.calls.queue import FairQueue
from workers_tui.engine.calls.upstream import Upstream
from workers_tui.engine.errors import StoreUnusable, UpstreamFailed
from workers_tui.engine.events import Events
from workers_tui.engine.jobs.jobs import Jobs
from workers_tui.engine.options import EngineOptions
from workers_tui.engine.pricing.model_lists import ModelLists
from workers_tui.engine.pricing.prices import PriceBook
from workers_tui.engine.settings.config import ConfigFile
from workers_tui.engine.settings.providers import Providers
from workers_tui.engine.settings.rules import budget_rules
from workers_tui.engine.spending.budget import Budget
from workers_tui.engine.spending.ledger import Ledger
from workers_tui.engine.spending.schema import STORE_MIGRATIONS
from workers_tui.engine.store.engine_lock import EngineLock, off_the_loop
from workers_tui.engine.store.store import Store
from workers_tui.home.files import prepare, why
from workers_tui.home.places import Home


async def build_parts(options: EngineOptions, opened: AsyncExitStack) -> Parts:
    """Every noun, ready; what must be closed is pushed on `opened`.

    Raises WorkersError when the home, the settings' place or the store cannot be used.
    """
    home, clock = options.home, options.clock
    await asyncio.to_thread(_prepare, home)
    lock = await off_the_loop(partial(_lock, home))
    opened.push_async_callback(asyncio.to_thread, lock.release)
    engine_id = lock.id
    board = Board()
    events = Events(board, clock)
    config = await ConfigFile.open(home, board, events, options.config)
    providers = Providers(lambda: config.settings, home, options.environ, board, events)
    upstream = Upstream(clock, options.transport)
    opened.push_async_callback(upstream.close)
    store = await Store.open(home.store_db, STORE_MIGRATIONS)
    opened.push_async_callback(store.close)
    ledger = Ledger(store, clock, home.usage_jsonl)
    opened.push_async_callback(ledger.close)
    jobs = Jobs(store, board, clock, engine_id, home.results)
    opened.push_async_callback(jobs.close)
    budget = Budget(
        store, board, clock, lambda: budget_rules(config.settings), ledger, engine_id=engine_id
    )
    opened.push_async_callback(budget.close)
    lists = ModelLists(home.state / "models", clock, lambda name: _list(providers, upstream, name))
    prices = PriceBook(lambda: config.settings, providers, lists, clock)
    return Parts(
        id=engine_id,
        home=home,
        environ=options.environ,
        clock=clock,
        board=board,
        events=events,
        config=config,
        store=store,
        jobs=jobs,
        ledger=ledger,
        budget=budget,
        providers=providers,
        prices=prices,
        upstream=upstream,
        queue=FairQueue(lambda: config.settings.concurrency),
        approvals=options.approvals,
    )


def _prepare(home: Home) -> None:
    try:
        prepare(home)
    except OSError as error:
        raise StoreUnusable(f"cannot use {error.filename or home.state}: {why(error)}") from error


def _lock(home: Home) -> EngineLock:
    try:
        return EngineLock.take(home.engines)
    except OSError as error:
        raise StoreUnusable(f"cannot write in {home.engines}: {why(error)}") from error


async def _list(providers: Providers, upstream: Upstream, name: str) -> list[Any]:
    """What a provider answers to /models."""
    provider = providers.get(name)
    key = providers.key_or_none(provider)
    headers = {} if key is None else {"Authorization": f"Bearer {key}"}
    raw = await upstream.get_json(name, f"{provider.base_url}/models", headers)
    data = raw.get("data") if isinstance(raw, dict) else None
    if not isinstance(data, list):
        raise UpstreamFailed(f"{name} has no list of models at {provider.base_url}/models")
    return data
