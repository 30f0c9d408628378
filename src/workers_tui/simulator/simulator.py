"""The simulator as a whole: routes, keys, the choice of a behaviour, start and stop.

    async with Simulator(Scenario()) as sim:
        sim.url, sim.anthropic_url, sim.book

`sim.app` is the same as an ASGI application.
"""

from __future__ import annotations

import asyncio
import random
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

from workers_tui.simulator import chat, messages
from workers_tui.simulator.account import Account
from workers_tui.simulator.bills import BillBook
from workers_tui.simulator.catalogue import count_tokens
from workers_tui.simulator.faults import chat_trouble, messages_trouble
from workers_tui.simulator.http import HttpServer, Reply, Request, asgi, json_reply
from workers_tui.simulator.scenario import (
    BEFORE_STREAM,
    CHAT_ONLY,
    Behaviour,
    Picker,
    Scenario,
    directive,
)

PREFIXES = ("/api/v1", "/api/anthropic/v1", "/anthropic/v1", "/v1")
"""Where the same API is found: OpenRouter's path, other providers', the plain one."""

SEEN_KEPT = 2000


@dataclass(frozen=True, slots=True)
class Seen:
    """One request that came in; keys are masked."""

    method: str
    path: str
    key: str | None
    """The first characters of the key."""
    headers: tuple[tuple[str, str], ...]
    body: Any
    bytes: int


class Simulator:
    """A provider on loopback."""

    def __init__(self, scenario: Scenario | None = None) -> None:
        scenario = scenario or Scenario()
        self.scenario = scenario
        self.book = BillBook()
        self.account = Account(self.book, scenario.limit)
        self.seen: deque[Seen] = deque(maxlen=SEEN_KEPT)
        self.app = asgi(self.handle)
        self._picker = Picker(scenario)
        self._cache = messages.PromptCache()
        self._dice = random.Random(scenario.seed)
        self._server = HttpServer(self.handle)

    async def start(self, port: int = 0) -> str:
        """Listen on loopback; returns the base URL. Raises OSError when the port is taken."""
        await self._server.start(port)
        return self.url

    async def stop(self) -> None:
        """Close everything."""
        await self._server.stop()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    @property
    def port(self) -> int:
        return self._server.port

    @property
    def root(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def url(self) -> str:
        """What OPENROUTER_BASE_URL wants."""
        return f"{self.root}/api/v1"

    @property
    def anthropic_url(self) -> str:
        """What ANTHROPIC_BASE_URL wants."""
        return f"{self.root}/api"

    def change(self, scenario: Scenario) -> None:
        """Answer by another scenario from now on; the book stays."""
        self.scenario = scenario
        self.account.limit = scenario.limit
        self._picker = Picker(scenario)

    async def handle(self, request: Request) -> Reply:
        """Answer one request."""
        self._note(request)
        route = _route(request.path)
        if route == "/sim/bills":
            return self.account.bills()
        if request.method == "HEAD":
            return Reply(200)
        if route in {"/auth", "/auth/keys"}:
            return (
                self.account.authorize(request)
                if route == "/auth"
                else self.account.exchange(request)
            )
        if route == "/models":
            return self.account.models()
        skin = messages_trouble if route.startswith("/messages") else chat_trouble
        if (refused := self._key_trouble(request)) is not None:
            return skin(refused, "")
        return await self._serve(route, request)

    async def _serve(self, route: str, request: Request) -> Reply:
        looks: dict[str, Callable[[Request], Reply]] = {
            "/key": lambda _: self.account.key(),
            "/credits": lambda _: self.account.credits(),
            "/generation": self.account.generation,
        }
        works: dict[str, Callable[[Request], Awaitable[Reply]]] = {
            "/chat/completions": self._chat,
            "/messages": self._messages,
            "/messages/count_tokens": self._count,
        }
        if route in looks:
            return looks[route](request)
        if request.method == "POST" and route in works:
            return await works[route](request)
        if request.path.rstrip("/") in {"", "/api"}:
            return Reply(200, b"")
        return json_reply({"error": {"code": 404, "message": f"no route {request.path}"}}, 404)

    def _note(self, request: Request) -> None:
        headers = tuple(
            (name, value) for name, value in request.headers.items() if name not in SECRET
        )
        key = _key(request)
        masked = None if key is None else key[:12]
        self.seen.append(
            Seen(request.method, request.path, masked, headers, request.json(), len(request.body))
        )

    def _key_trouble(self, request: Request) -> Behaviour | None:
        key = _key(request)
        known = set(self.scenario.keys) | self.account.keys
        if not key and self.scenario.need_key:
            return Behaviour(fault="401", message="No cookie auth credentials found")
        if self.scenario.keys and key not in known:
            return Behaviour(fault="401")
        return None

    async def _chat(self, request: Request) -> Reply:
        raw = request.json()
        if not isinstance(raw, dict):
            return chat_trouble(Behaviour(fault="400", message="Invalid JSON body"), "")
        try:
            ask = chat.read_ask(raw, request)
            seen = {
                "user": ask.task,
                "model": ask.model,
                "raw": request.body.decode(errors="replace"),
                "stream": ask.stream,
            }
            how = self._choose(ask.task, ask.model, seen)
        except ValueError as wrong:
            return chat_trouble(Behaviour(fault="400", message=str(wrong)), "")
        for other in ask.fallbacks if how.fault in BEFORE_STREAM else ():
            how = directive("", other, self.scenario.default) or self.scenario.default
            ask = replace(ask, model=other)
            if how.fault not in BEFORE_STREAM:
                break
        return await chat.answer(ask, how, self.book)

    async def _messages(self, request: Request) -> Reply:
        raw = request.json()
        try:
            turn = messages.read_turn(raw if isinstance(raw, dict) else {}, request)
            how = self._choose(turn.task, turn.model, turn.seen())
        except ValueError as wrong:
            return messages_trouble(Behaviour(fault="400", message=str(wrong)), "")
        if how.fault in CHAT_ONLY:
            why = f"fault {how.fault} is one of chat completions"
            return messages_trouble(Behaviour(fault="400", message=why), "")
        return await messages.answer(turn, how, self.book, self._cache)

    async def _count(self, request: Request) -> Reply:
        if self.scenario.count_tokens == "404":
            return messages_trouble(Behaviour(fault="404", message="Not found"), "")
        if self.scenario.count_tokens == "hang":
            await asyncio.sleep(3600)
        return json_reply({"input_tokens": count_tokens(request.body.decode(errors="replace"))})

    def _choose(self, prompt: str, model: str, seen: Mapping[str, Any]) -> Behaviour:
        base = self._moody() if self.scenario.seed is not None else self.scenario.default
        chosen = directive(prompt, model, base) or self._picker.pick(seen) or base
        if self.account.exhausted and not chosen.fault:
            return replace(chosen, fault="402")
        return chosen

    def _moody(self) -> Behaviour:
        """A working day: mostly well, at many speeds, now and then a failure."""
        dice = self._dice
        base = replace(
            self.scenario.default,
            first_delay=dice.uniform(0.2, 1.6),
            tokens_per_second=dice.uniform(12, 50),
            comments=dice.randint(0, 2),
        )
        roll = dice.random()
        faults = (
            (0.05, "raw-429", "2"),
            (0.07, "502", None),
            (0.09, "error-midstream", None),
            (0.11, "cut", None),
        )
        for bound, fault, retry_after in faults:
            if roll < bound:
                return replace(base, fault=fault, retry_after=retry_after)
        return base


SECRET = frozenset({"authorization", "x-api-key", "cookie", "proxy-authorization"})


def _key(request: Request) -> str | None:
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer" and token.strip():
        return token.strip()
    return request.headers.get("x-api-key") or None


def _route(path: str) -> str:
    for prefix in PREFIXES:
        if path.startswith(prefix + "/"):
            return path[len(prefix) :].rstrip("/")
    return path.rstrip("/")
