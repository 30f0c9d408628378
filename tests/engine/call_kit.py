"""Engines over a scripted transport: what a provider would send, said in a few words."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from workers_tui.engine.clock import Clock, SystemClock
from workers_tui.engine.engine import Engine, EngineOptions
from workers_tui.engine.jobs.job import Job, Origin
from workers_tui.home.places import Home

MODEL = "deepseek/deepseek-v4-flash"
USAGE = {"prompt_tokens": 100, "completion_tokens": 20, "cost": 0.001}
PRICES = {MODEL: {"input": 0.1, "output": 0.2}}
SETTINGS: dict[str, Any] = {
    "tiers": {"fast": {"model": MODEL, "use": "summaries"}},
    "prices": PRICES,
    "daily_budget_usd": 3.0,
}


def chunk(text: str = "", **more: Any) -> dict[str, Any]:
    """One chunk of an answer."""
    choice = {"index": 0, "delta": {"content": text}, "finish_reason": more.pop("finish", None)}
    return {"id": "gen-1", "model": MODEL, "choices": [choice], **more}


def sse(*events: Mapping[str, Any] | str) -> bytes:
    """Events as they travel."""
    lines = [event if isinstance(event, str) else json.dumps(event) for event in events]
    return "".join(f"data: {line}\n\n" for line in lines).encode()


def answered(text: str = "hello", usage: Mapping[str, Any] | None = USAGE) -> bytes:
    """A complete answer."""
    end = [] if usage is None else [{"id": "gen-1", "choices": [], "usage": usage}]
    return sse(chunk(text), chunk(finish="stop"), *end, "[DONE]")


class Gate:
    """Lets a test hold a provider's answer back."""

    def __init__(self) -> None:
        self.reached = asyncio.Event()
        self.open = asyncio.Event()
        self.closed = asyncio.Event()
        """The client went away."""


Step = bytes | Gate | Exception


class Body(httpx.AsyncByteStream):
    """Sends pieces, stops at gates, breaks where an exception stands."""

    def __init__(self, steps: Sequence[Step]) -> None:
        self._steps = steps

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for step in self._steps:
            if isinstance(step, Exception):
                raise step
            if isinstance(step, Gate):
                step.reached.set()
                await step.open.wait()
            else:
                yield step

    async def aclose(self) -> None:
        for step in self._steps:
            if isinstance(step, Gate):
                step.closed.set()


def stream(*steps: Step, status: int = 200, **headers: str) -> httpx.Response:
    """A streamed response."""
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    return httpx.Response(
        status, headers={"content-type": "text/event-stream", **given}, stream=Body(steps)
    )


def error(status: int, body: Mapping[str, Any] | None = None, **headers: str) -> httpx.Response:
    """A refusal before the stream."""
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    return httpx.Response(status, json=body or {"error": {"message": "no"}}, headers=given)


Reply = httpx.Response | Exception | Callable[[httpx.Request], Awaitable[httpx.Response]]


@dataclass
class Provider(httpx.AsyncBaseTransport):
    """Answers POSTs from a script, the last one for ever; GETs by path."""

    replies: list[Reply | Callable[[], httpx.Response]]
    gets: dict[str, Any] = field(default_factory=dict)
    requests: list[httpx.Request] = field(default_factory=list)

    @property
    def bodies(self) -> list[dict[str, Any]]:
        """What was posted."""
        return [json.loads(one.content) for one in self.requests if one.method == "POST"]

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        await request.aread()
        self.requests.append(request)
        if request.method == "GET":
            name = request.url.path.rpartition("/")[2]
            if name not in self.gets:
                return httpx.Response(404, json={"error": {"message": "no such thing"}})
            return httpx.Response(200, json=self.gets[name])
        reply = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        if isinstance(reply, Exception):
            raise reply
        if callable(reply):
            made = reply() if _takes_nothing(reply) else reply(request)  # type: ignore[call-arg]
            return made if isinstance(made, httpx.Response) else await made
        return reply


def _takes_nothing(reply: Callable[..., Any]) -> bool:
    return reply.__code__.co_argcount == 0


def ok(text: str = "hello", **more: Any) -> Callable[[], httpx.Response]:
    """A complete answer, made anew for each request."""
    return lambda: stream(answered(text, **more))


class FastClock(SystemClock):
    """Sleeps of a second and more take no time; each is noted."""

    def __init__(self) -> None:
        self.slept: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        await asyncio.sleep(min(seconds, 0.005) if seconds < 50 else seconds)


@asynccontextmanager
async def engine_over(
    home: Home,
    *replies: Any,
    settings: Mapping[str, Any] | None = None,
    environ: Mapping[str, str] | None = None,
    clock: Clock | None = None,
    **options: Any,
) -> AsyncIterator[tuple[Engine, Provider]]:
    """An engine whose provider answers from a script."""
    provider = Provider(list(replies or [ok()]), gets=options.pop("gets", {}))
    if settings is not None or not home.models_json.exists():
        home.models_json.write_text(json.dumps({**SETTINGS, **(settings or {})}))
    engine = await Engine.start(
        EngineOptions(
            home=home,
            environ={"OPENROUTER_API_KEY": "sk-test", **(environ or {})},
            transport=provider,
            clock=clock or SystemClock(),
            watch=options.pop("watch", False),
            **options,
        )
    )
    try:
        yield engine, provider
    finally:
        await engine.close()


async def until(engine: Engine, job: Job, done: Callable[[Job], bool]) -> Job:
    """Wait on the board until the job is as wanted."""
    watcher = engine.board.watch()
    try:
        while True:
            now = await engine.job(job.id)
            if done(now):
                return now
            await watcher.changed()
    finally:
        watcher.close()


def origin(root: Path | None = None, **more: Any) -> Origin:
    """Somebody who asks."""
    return Origin((root,) if root else (), **more)
