"""The newest frozen value per key, and who wants to know about changes.

A watcher gets everything at first and then the set of keys changed since it
last looked: bounded by the number of keys, coalescing, and the last value of a
key is never missed. The engine puts values here and never knows who looks, but
says when it is in a hurry. All calls belong to the loop's thread.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Topic(StrEnum):
    """Kinds of values on the board; the value's type stands beside each."""

    JOB = "job"  # name: job id             value: jobs.Job
    OUTPUT = "output"  # name: job id       value: int, characters received so far
    SPEND = "spend"  # name: ""             value: budget.Spend
    TIER = "tier"  # name: tier name        value: tiers.TierView
    PROVIDER = "provider"  # name: provider value: providers.ProviderView
    CONFIG = "config"  # name: ""           value: config.ConfigView
    SAVINGS = "savings"  # name: ""         value: savings.SavingsView
    WORKER = "worker"  # name: worker name  value: identities.WorkerView
    TRACE = "trace"  # name: agent job id   value: int, trace steps so far
    SERVER = "server"  # name: ""           value: board.ServerView
    EVENT = "event"  # name: ""             value: int, number of the newest event


@dataclass(frozen=True, slots=True)
class Key:
    """Names one value on the board."""

    topic: Topic
    name: str = ""


@dataclass(frozen=True, slots=True)
class ServerView:
    """What the HTTP side tells about itself."""

    url: str | None
    """Where it listens, None while it starts or when there is no server here."""
    clients: int = 0
    """Client sessions seen in the last minutes."""
    message: str = ""
    """One line worth knowing: `viewer of pid 123`, `port 4747 is taken, took 4748`."""


class Board:
    """Keeps values; wakes watchers."""

    def __init__(self) -> None:
        self._values: dict[Key, Any] = {}
        self._watchers: list[Watcher] = []
        self._hurries: dict[str, float] = {}

    def hurry(self, job: str, seconds: float) -> None:
        """Somebody waits for what this job does now: for so long, or until `calm`, show nothing."""
        now = time.monotonic()
        self._hurries = {other: end for other, end in self._hurries.items() if end > now}
        self._hurries[job] = now + seconds

    def calm(self, job: str) -> None:
        """The job itself waits now: what is shown in this moment holds nobody up."""
        self._hurries.pop(job, None)

    @property
    def hurried(self) -> bool:
        """Whether any job is in a hurry."""
        now = time.monotonic()
        return any(end > now for end in self._hurries.values())

    def put(self, key: Key, value: object) -> None:
        """Set a value and wake the watchers; an equal value changes nothing."""
        if key in self._values and self._values[key] == value:
            return
        self._values[key] = value
        self._mark(key)

    def drop(self, key: Key) -> None:
        """Forget a value; watchers see the key and `get` gives None."""
        if self._values.pop(key, None) is not None:
            self._mark(key)

    def get(self, key: Key) -> Any:
        """The newest value of a key, or None."""
        return self._values.get(key)

    def names(self, topic: Topic) -> list[str]:
        """Names that have a value under this topic, in order of first appearance."""
        return [key.name for key in self._values if key.topic is topic]

    def watch(self, *topics: Topic) -> Watcher:
        """A new watcher of these topics, or of all; close it when done."""
        wanted = frozenset(topics or Topic)
        watcher = Watcher(self, {key for key in self._values if key.topic in wanted}, wanted)
        self._watchers.append(watcher)
        return watcher

    def _mark(self, key: Key) -> None:
        for watcher in self._watchers:
            watcher.mark(key)

    def forget(self, watcher: Watcher) -> None:
        """Stop waking this watcher."""
        if watcher in self._watchers:
            self._watchers.remove(watcher)


class Watcher:
    """One reader's set of changed keys."""

    def __init__(self, board: Board, changed: set[Key], topics: frozenset[Topic]) -> None:
        self._board = board
        self._topics = topics
        self._changed = changed
        self._bell = asyncio.Event()
        if changed:
            self._bell.set()

    def mark(self, key: Key) -> None:
        """Note a changed key; only the board calls this."""
        if key.topic in self._topics:
            self._changed.add(key)
            self._bell.set()

    async def changed(self) -> frozenset[Key]:
        """Wait until something changed; return the keys and start anew."""
        await self._bell.wait()
        return self.take()

    def take(self) -> frozenset[Key]:
        """The keys changed since the last look, without waiting."""
        keys = frozenset(self._changed)
        self._changed.clear()
        self._bell.clear()
        return keys

    def close(self) -> None:
        """Leave the board."""
        self._board.forget(self)
