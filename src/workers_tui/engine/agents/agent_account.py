"""One running agent's account: what it may ask with, what it has cost, what went wrong."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from workers_tui.engine.agents.identity import Identity
from workers_tui.engine.jobs.job import Job
from workers_tui.engine.money import Cost
from workers_tui.engine.settings.providers import Provider
from workers_tui.engine.usage import Usage

LARGE_CONTEXT = "[1m]"
"""Claude Code's mark for a large context; no provider knows it."""


@dataclass(frozen=True, slots=True)
class Billed:
    """One request that is booked."""

    model: str
    usage: Usage
    cost: Cost
    status: str
    ms: int
    bytes_out: int
    agent: str | None
    """Claude Code's id of the subagent."""
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Head:
    """What the account must know of a request before it leaves."""

    model: str
    max_tokens: int
    messages: int
    bytes: int
    stream: bool = True
    session: str | None = None
    agent: str | None = None


def read_head(body: bytes, headers: Mapping[str, str]) -> Head:
    """The facts of a request. Raises ValueError when it is no Messages request."""
    try:
        raw = json.loads(body)
    except RecursionError:
        raise ValueError("the body is nested too deeply") from None
    messages = raw.get("messages") if isinstance(raw, dict) else None
    if not isinstance(messages, list) or not isinstance(raw.get("model"), str):
        raise ValueError("the body is no Messages request")  # noqa: TRY004 - it is data
    most = raw.get("max_tokens")
    return Head(
        raw["model"],
        most if type(most) is int and most > 0 else UNBOUNDED,  # `true` is no number
        len(messages),
        len(body),
        raw.get("stream") is True,
        headers.get("x-claude-code-session-id"),
        headers.get("x-claude-code-agent-id"),
    )


UNBOUNDED = 64_000
"""Output tokens to expect of a request that names no limit."""


@dataclass(eq=False)
class Account:
    """One running job's account."""

    job: Job
    identity: Identity
    token: str = field(repr=False)
    on_billed: Callable[[Billed], None]
    """Told after each booking."""
    usage: Usage = Usage()
    cost: Cost | None = None
    requests: int = 0
    in_flight: int = 0
    failure: str | None = None
    """Why the job must end: the provider stalled."""
    trouble: str | None = None
    """The last thing a provider complained of."""
    refused: str | None = None
    """The cap's own words, once it said no."""
    failed: asyncio.Event = field(default_factory=asyncio.Event)
    idle: asyncio.Event = field(default_factory=asyncio.Event)
    """Set while nothing is under way."""
    closed: asyncio.Event = field(default_factory=asyncio.Event)
    """Set once the job has ended: what is under way is broken off."""
    waiting: int = 0
    """Requests that wait for room under the cap."""

    def __post_init__(self) -> None:
        self.idle.set()

    @property
    def open(self) -> bool:
        """Whether its token opens anything."""
        return not self.closed.is_set()

    def fail(self, why: str) -> None:
        """End the job."""
        self.failure = self.failure or why
        self.failed.set()

    @property
    def provider(self) -> Provider:
        """The identity as the bounds and prices know endpoints."""
        one = self.identity
        return Provider(one.provider, one.base_url, "openai", None, one.plan, one.loopback)

    @property
    def booked_under(self) -> str:
        """Provider in the ledger: the router where bills can be asked for, else the worker."""
        return "openrouter" if self.identity.provider == "openrouter" else self.identity.name
