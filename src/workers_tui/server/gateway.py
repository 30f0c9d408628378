"""The metering gateway: agents' requests pass through to their provider and are booked.

Pure ASGI. The job's token opens one account; the provider's key is put in here
and nowhere else. Bodies are passed on as they are and never logged. When the
client is gone the upstream is closed.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

import httpx

from workers_tui.engine.agents.agent_account import Account, read_head
from workers_tui.engine.agents.metering import count_estimate
from workers_tui.engine.errors import (
    BudgetRefused,
    JobCancelled,
    PaymentRequired,
    PolicyRefused,
    WorkersError,
    WrongUse,
)
from workers_tui.server.gateway_exchange import (
    BodyTooLarge,
    ClientGone,
    Exchange,
    Receive,
    Scope,
    Send,
)
from workers_tui.server.gateway_passage import Passage

if TYPE_CHECKING:
    from workers_tui.engine.agents.agent_runs import Agents
    from workers_tui.engine.engine import Engine

App = Callable[[Scope, Receive, Send], Awaitable[None]]

COUNT_SECONDS = 3.0

NO_COUNT = frozenset({404, 405, 500, 501, 502, 503})


def gateway_app(engine: Engine) -> App:
    """The gateway of an engine, to be mounted at /gateway."""
    return Gateway(engine.agents)


class Gateway:
    """Passes requests of agents on and back."""

    def __init__(self, agents: Agents) -> None:
        self._agents = agents
        self._countless: set[str] = set()
        """Addresses that have no count_tokens."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        exchange = Exchange(scope, receive, send)
        if exchange.method in {"HEAD", "GET"} and exchange.route is None:
            await exchange.answer(200, b"")
            return
        account = self._agents.metering.find(exchange.token)
        if account is None:
            await refuse_ended(exchange)
            return
        try:
            body = await exchange.body()
            await self._route(exchange, account, body)
        except ClientGone:
            return
        except BodyTooLarge:
            await exchange.refuse(413, "request_too_large", "the request is larger than 64 MB")

    async def _route(self, exchange: Exchange, account: Account, body: bytes) -> None:
        if exchange.method != "POST" or exchange.route not in ROUTES:
            await exchange.refuse(404, "not_found_error", f"no route {exchange.route}")
        elif exchange.route == "/v1/messages/count_tokens":
            await self._count(exchange, account, body)
        else:
            await self._messages(exchange, account, body)

    async def _messages(self, exchange: Exchange, account: Account, body: bytes) -> None:
        client = self._agents.clients.to(account.identity)
        try:
            head = read_head(body, exchange.headers)
            # Before anything is held: what cannot be sent must leave no hold behind.
            request = exchange.request(client, account, body)
            meter = await exchange.unless_gone(self._agents.metering.admit(account, head), account)
        except ValueError as wrong:
            await exchange.refuse(400, "invalid_request_error", f"{wrong}: nothing was sent")
        except BudgetRefused as refused:
            account.refused = str(refused)
            # Claude Code shows a 402 as it is and does not ask again.
            await exchange.refuse(402, "billing_error", str(refused))
        except PaymentRequired as refused:
            account.trouble = str(refused)
            await exchange.refuse(402, "billing_error", str(refused))
        except (PolicyRefused, WrongUse) as refused:
            await exchange.refuse(400, "invalid_request_error", str(refused))
        except JobCancelled:
            await refuse_ended(exchange)
        except WorkersError as wrong:
            await exchange.refuse(500, "api_error", str(wrong))
        else:
            await Passage(client, request, exchange, meter, self._agents.limits).run()

    async def _count(self, exchange: Exchange, account: Account, body: bytes) -> None:
        url = account.identity.base_url
        if url not in self._countless:
            reply = await exchange.unless_gone(self._ask_count(exchange, account, body), account)
            if reply is not None and is_count(reply):
                await exchange.answer(reply.status_code, reply.content)
                return
            self._countless.add(url)
        await exchange.answer(200, json.dumps(count_estimate(body)).encode())

    async def _ask_count(
        self, exchange: Exchange, account: Account, body: bytes
    ) -> httpx.Response | None:
        client = self._agents.clients.to(account.identity)
        try:
            async with asyncio.timeout(COUNT_SECONDS):
                return await client.send(exchange.request(client, account, body))
        except (TimeoutError, ValueError, httpx.HTTPError):
            return None


def is_count(reply: httpx.Response) -> bool:
    """Whether count_tokens is there: it counts, or refuses in words."""
    if reply.status_code in NO_COUNT:
        return False
    try:
        raw = json.loads(reply.content)
    except (ValueError, RecursionError):
        return False
    return isinstance(raw, dict) and (reply.status_code != 200 or "input_tokens" in raw)


async def refuse_ended(exchange: Exchange) -> None:
    """Say to whoever holds a dead token, or none, that it opens nothing."""
    await exchange.refuse(401, "authentication_error", "this job has ended")


ROUTES = frozenset({"/v1/messages", "/v1/messages/count_tokens"})
