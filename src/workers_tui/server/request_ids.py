"""Refuses a request whose id is still in use in its session.

The SDK would give the first one's answer stream to the second and leave the
first client waiting for ever. Pure ASGI, in front of the SDK's app.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from typing import Any

from workers_tui.server.gate import App, Message, Receive, Scope, Send, answer

LONGEST = 4 * 1024 * 1024
"""What the SDK reads of a body; longer ones are its to refuse."""
SESSION = b"mcp-session-id"
INVALID_REQUEST = -32600
RESERVED = "_GET_stream"
"""Under this id the SDK keeps the stream on which it pushes."""


@dataclass(eq=False, slots=True)
class Use:
    """An id while it is in use."""

    answered: bool = False
    """Its client has the whole answer, and may use the id again."""
    over: asyncio.Event = field(default_factory=asyncio.Event)
    """The SDK has put everything of it away."""


class RequestIds:
    """Knows the ids in use, by session."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._used: dict[tuple[bytes, str], Use] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] != "POST":
            await self._app(scope, receive, send)
            return
        read = await _read(receive)
        if read[-1]["type"] == "http.disconnect":
            return  # it left in the middle of its request: nobody is there to answer
        session = dict(scope["headers"]).get(SESSION)
        request_id = None if session is None else _id_in(read)
        if session is None or request_id is None:
            await self._app(scope, _again(read, receive), send)
            return
        # As text, because the SDK takes 1 and "1" for one id.
        key = (session, str(request_id))
        if not await self._free(key):
            await answer(send, 400, _refusal(request_id))
            return
        use = self._used[key] = Use()
        try:
            await self._app(scope, _again(read, receive), _watched(send, use))
        finally:
            del self._used[key]
            use.over.set()

    async def _free(self, key: tuple[bytes, str]) -> bool:
        """Whether a session may use an id now; waits for one that was answered a moment ago."""
        while (use := self._used.get(key)) is not None and use.answered:
            await use.over.wait()
        return use is None and key[1] != RESERVED


def _watched(send: Send, use: Use) -> Send:
    """Sends, and notes when the answer is whole."""

    async def watched(message: Message) -> None:
        use.answered |= message["type"] == "http.response.body" and not message.get("more_body")
        await send(message)

    return watched


async def _read(receive: Receive) -> list[Message]:
    """The messages that make the body, or as many as are of use."""
    messages: list[Message] = []
    size = 0
    while size <= LONGEST:
        message = await receive()
        messages.append(message)
        size += len(message.get("body", b""))
        if message["type"] != "http.request" or not message.get("more_body", False):
            break
    return messages


def _again(read: list[Message], receive: Receive) -> Receive:
    """Gives what was read once more, then what comes."""
    left = iter(read)

    async def replay() -> Message:
        message = next(left, None)
        return await receive() if message is None else message

    return replay


def _id_in(read: list[Message]) -> str | int | None:
    """The id of a request; None for notices, answers and what is no message."""
    try:
        value = json.loads(b"".join(message.get("body", b"") for message in read))
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict) or "method" not in value:
        return None
    request_id = value.get("id")
    return request_id if isinstance(request_id, str | int) else None


def _refusal(request_id: str | int) -> dict[str, Any]:
    text = f"a request with the id {request_id!r} is still running in this session"
    return {
        "jsonrpc": "2.0",
        "id": request_id,
        "error": {"code": INVALID_REQUEST, "message": text},
    }
