"""One request of an agent and the way back to it: ASGI in plain words."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping
from typing import Any, TypeVar

import httpx

from workers_tui.engine.agents.agent_account import Account

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

T = TypeVar("T")

LARGEST_BODY = 64 * 1024 * 1024
NOT_SENT_ON = frozenset(
    {
        "authorization", "x-api-key", "host", "content-length", "connection", "keep-alive",
        "transfer-encoding", "accept-encoding", "cookie", "proxy-authorization", "te", "trailer",
        "upgrade", "expect",
    }
)  # fmt: skip


JSON = (b"content-type", b"application/json")


class ClientGone(Exception):
    """The agent hung up, or its job has ended."""


class BodyTooLarge(Exception):
    """More than any request of an agent."""


class Exchange:
    """One request of an agent and the way back."""

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.method: str = scope["method"]
        self.headers: Mapping[str, str] = {
            name.decode("latin-1").lower(): value.decode("latin-1")
            for name, value in scope["headers"]
        }
        _, mark, rest = scope["path"].partition("/v1/")
        self.route = f"/v1/{rest.rstrip('/')}" if mark else None
        self._query = scope.get("query_string", b"").decode("latin-1")
        self._raw_headers: list[tuple[bytes, bytes]] = list(scope["headers"])
        self._receive = receive
        self._send = send

    @property
    def token(self) -> str:
        """The job's token, in whichever header it came."""
        scheme, _, token = self.headers.get("authorization", "").partition(" ")
        return token.strip() if scheme.lower() == "bearer" else self.headers.get("x-api-key", "")

    async def body(self) -> bytes:
        """The whole body. Raises ClientGone and BodyTooLarge."""
        parts, size = [], 0
        while True:
            message = await self._receive()
            if message["type"] == "http.disconnect":
                raise ClientGone
            part = message.get("body", b"")
            parts.append(part)
            size += len(part)
            if size > LARGEST_BODY:
                raise BodyTooLarge
            if not message.get("more_body"):
                return b"".join(parts)

    def request(self, client: httpx.AsyncClient, account: Account, body: bytes) -> httpx.Request:
        """What goes to the provider. Raises ValueError when it cannot be sent."""
        query = f"?{self._query}" if self._query else ""
        url = f"{account.identity.base_url}{self.route}{query}"
        try:
            return client.build_request("POST", url, content=body, headers=self._onward(account))
        except httpx.InvalidURL as wrong:
            raise ValueError(str(wrong)) from None

    def _onward(self, account: Account) -> list[tuple[bytes, bytes]]:
        """Headers for the provider, byte for byte: what came, with its key for our token."""
        kept = [
            one for one in self._raw_headers if one[0].lower().decode("latin-1") not in NOT_SENT_ON
        ]
        own = {"accept-encoding": "identity", **account.identity.headers()}
        return [*kept, *((name.encode(), value.encode()) for name, value in own.items())]

    async def unless_gone(self, work: Awaitable[T], account: Account) -> T:
        """Do the work, but stop when the client hangs up or its job ends: then ClientGone."""
        task = asyncio.ensure_future(work)
        gone = asyncio.ensure_future(self._wait_gone())
        over = asyncio.ensure_future(account.closed.wait())
        try:
            await asyncio.wait({task, gone, over}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            gone.cancel()
            over.cancel()
            if not task.done():
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
        if task.cancelled():
            raise ClientGone
        return task.result()

    async def _wait_gone(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass

    async def start(self, status: int, headers: Iterable[tuple[bytes, bytes]]) -> None:
        """Send status and headers."""
        raw = list(headers)
        await self._send({"type": "http.response.start", "status": status, "headers": raw})

    async def piece(self, body: bytes, *, more: bool = True) -> None:
        """Send a part of the body."""
        await self._send({"type": "http.response.body", "body": body, "more_body": more})

    async def answer(
        self, status: int, body: bytes, headers: Iterable[tuple[bytes, bytes]] = (JSON,)
    ) -> None:
        """Send a whole answer."""
        await self.start(status, [*headers, (b"content-length", b"%d" % len(body))])
        await self.piece(b"" if self.method == "HEAD" else body, more=False)

    async def refuse(self, status: int, kind: str, message: str) -> None:
        """Send an error as Anthropic words it."""
        await self.answer(status, error_body(kind, message))


def error_body(kind: str, message: str) -> bytes:
    """An error in Anthropic's envelope."""
    return json.dumps({"type": "error", "error": {"type": kind, "message": message}}).encode()
