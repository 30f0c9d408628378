"""Refuses a request whose id is still in use in its session.

The SDK would give the first one's answer stream to the second and leave the
first client waiting for ever. Pure ASGI, in front of the SDK's app.
"""

from __future__ import annotations

import json
from typing import Any

from workers_tui.server.gate import App, Message, Receive, Scope, Send, answer

LONGEST = 4 * 1024 * 1024
"""What the SDK reads of a body; longer ones are its to refuse."""
SESSION = b"mcp-session-id"
INVALID_REQUEST = -32600


class RequestIds:
    """Knows the ids in use, by session."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._used: set[tuple[bytes, str]] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        session = dict(scope["headers"]).get(SESSION)
        if scope["method"] != "POST" or session is None:
            await self._app(scope, receive, send)
            return
        read = await _read(receive)
        request_id = _id_in(read)
        if request_id is None:
            await self._app(scope, _again(read, receive), send)
            return
        # As JSON, because 1 and "1" are two ids.
        key = (session, json.dumps(request_id))
        if key in self._used:
            await answer(send, 400, _refusal(request_id))
            return
        self._used.add(key)
        try:
            await self._app(scope, _again(read, receive), send)
        finally:
            self._used.discard(key)


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
