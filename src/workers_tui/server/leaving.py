"""Notices that a client's session has ended: it says so, or the stream it listens on closes.

Pure ASGI, in front of the SDK's app. A session whose stream broke for another
reason is met again with its next message.
"""

from __future__ import annotations

from collections.abc import Callable

from workers_tui.server.gate import App, Message, Receive, Scope, Send
from workers_tui.server.request_ids import SESSION


class Leaving:
    """Tells which session is over."""

    def __init__(self, app: App, left: Callable[[str], None]) -> None:
        self._app = app
        self._left = left

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        session = dict(scope["headers"]).get(SESSION)
        if session is None or scope["method"] not in {"GET", "DELETE"}:
            await self._app(scope, receive, send)
            return
        accepted = False

        async def watched(message: Message) -> None:
            nonlocal accepted
            accepted |= message.get("status") == 200  # a second stream is refused, and no end
            await send(message)

        try:
            await self._app(scope, receive, watched)
        finally:
            if accepted:
                self._left(session.decode("latin-1"))
