"""Keeps the tiers' values on the board: settings, price, what is wrong, how they did."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

from workers_tui.engine.board import Board, Key, Topic
from workers_tui.engine.calls.tiers import TierView, file_limit
from workers_tui.engine.jobs.job import AT_HAND, Job, JobKind, JobState
from workers_tui.engine.jobs.jobs import Jobs
from workers_tui.engine.pricing.prices import PriceBook
from workers_tui.engine.settings.providers import Providers
from workers_tui.engine.settings.settings import Settings, Tier

LATER = 0.1
"""Seconds after a call's end: its reply goes out before its tier is counted anew."""
TRIED = frozenset({JobState.DONE, JobState.FAILED})


@dataclass(frozen=True, slots=True)
class Ended:
    """What is remembered of a call."""

    tier: str
    done: bool
    ms: int | None
    tokens: int
    cost_pico: int | None


class TierBoard:
    """Shows every tier as it is and as it did lately."""

    def __init__(
        self,
        board: Board,
        settings: Callable[[], Settings],
        providers: Providers,
        prices: PriceBook,
    ) -> None:
        self._board = board
        self._settings = settings
        self._providers = providers
        self._prices = prices
        self._ended: deque[Ended] = deque(maxlen=AT_HAND)
        self._counted: set[str] = set()

    async def load(self, jobs: Jobs) -> None:
        """Take in the newest calls of all engines and show the tiers."""
        for job in reversed(await jobs.find(kind=JobKind.CALL, state=TRIED, limit=AT_HAND)):
            self._take(job)
        self.show()

    async def follow(self) -> None:
        """Count each call that ends, a moment later; runs until cancelled."""
        watcher = self._board.watch(Topic.JOB)
        try:
            while True:
                keys = await watcher.changed()
                await asyncio.sleep(LATER)
                jobs = [self._board.get(key) for key in keys | watcher.take()]
                if sum(self._take(job) for job in jobs if job is not None):
                    self.show()
        finally:
            watcher.close()

    def _take(self, job: Job) -> bool:
        """Count a call once; True when it is new."""
        if job.kind is not JobKind.CALL or job.state not in TRIED or job.tier is None:
            return False
        if job.id in self._counted:
            return False
        self._counted.add(job.id)
        self._ended.append(
            Ended(
                job.tier,
                job.state is JobState.DONE,
                job.ms if job.state is JobState.DONE else None,
                job.usage.input + job.usage.output,
                job.cost.pico if job.cost else None,
            )
        )
        return True

    @property
    def unpriced(self) -> bool:
        """Whether a tier has no price from the sources at hand."""
        settings = self._settings()
        return any(
            self._prices.find(settings.tier_provider(tier), tier.model) is None
            for tier in settings.tiers.values()
        )

    def show(self) -> None:
        """Put every tier on the board; take away those that are gone."""
        tiers = self._settings().tiers
        for name, tier in tiers.items():
            self._board.put(Key(Topic.TIER, name), self._view(name, tier))
        for name in set(self._board.names(Topic.TIER)) - set(tiers):
            self._board.drop(Key(Topic.TIER, name))

    def _view(self, name: str, tier: Tier) -> TierView:
        settings = self._settings()
        provider = settings.tier_provider(tier)
        price = self._prices.find(provider, tier.model)
        calls = [one for one in self._ended if one.tier == name]
        times = [one.ms for one in calls if one.ms is not None]
        paid = [one for one in calls if one.cost_pico is not None and one.tokens]
        tokens = sum(one.tokens for one in paid)
        return TierView(
            name=name,
            model=tier.model,
            provider=provider,
            price=price,
            use=tier.use,
            max_file_bytes=file_limit(settings, tier),
            context=tier.context or (price.context if price else None),
            picks=len(calls),
            success_rate=sum(one.done for one in calls) / len(calls) if calls else None,
            median_ms=round(median(times)) if times else None,
            cost_per_1k_pico=sum(one.cost_pico or 0 for one in paid) * 1000 // tokens
            if tokens
            else None,
            problem=self._problem(provider, tier.model),
        )

    def _problem(self, provider: str, model: str) -> str | None:
        """What keeps a tier from working, as far as is known before it is tried."""
        if self._providers.find(provider) is None:
            return f"there is no provider {provider!r} in models.json"
        unlisted = self._prices.unlisted(provider, model)
        if unlisted:
            return unlisted
        paused = self._providers.paused(provider)
        return f"{provider} is paused: {paused}" if paused else None
