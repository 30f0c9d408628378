"""What a client of the newest era listens to: requests that stay open and are told of changes.

Only a change of the tools is ever told. The forwarder keeps these itself, because
they outlive the servers.
"""

from __future__ import annotations

import threading

from workers_tui.forwarder import frames
from workers_tui.forwarder.frames import Message

TYPE_CHECKING = False  # typing costs 4 ms
if TYPE_CHECKING:
    from typing import Any

LISTEN = "subscriptions/listen"
CHANGED = "notifications/tools/list_changed"
ACKNOWLEDGED = "notifications/subscriptions/acknowledged"
ID = "io.modelcontextprotocol/subscriptionId"
MOST = 64


class Subscriptions:
    """The open listen requests of one client."""

    def __init__(self) -> None:
        self._open: dict[Any, bool] = {}
        self._lock = threading.Lock()

    def open(self, request_id: Any, params: Message) -> Message:
        """Begin one; the first message to send on it, which may be an error."""
        wanted = params.get("notifications")
        if not isinstance(wanted, dict):
            text = "params.notifications must be an object"
            return frames.error(request_id, frames.BAD_PARAMS, text)
        tools = wanted.get("toolsListChanged") is True
        with self._lock:
            if request_id in self._open:
                text = f"a request with the id {request_id!r} is still running"
                return frames.error(request_id, frames.INVALID_REQUEST, text)
            if len(self._open) >= MOST:
                text = f"{MOST} subscriptions are open; cancel one"
                return frames.error(request_id, frames.INTERNAL, text)
            self._open[request_id] = tools
        honoured = {"toolsListChanged": True} if tools else {}
        return _notice(ACKNOWLEDGED, request_id, {"notifications": honoured})

    def end(self, request_id: Any) -> None:
        """The client cancelled it, if it is one."""
        with self._lock:
            self._open.pop(request_id, None)

    def has(self, request_id: Any) -> bool:
        """Whether this id belongs to an open one."""
        with self._lock:
            return request_id in self._open

    def notices(self) -> list[Message]:
        """That the tools changed, once for each that wants to know."""
        with self._lock:
            wanting = [request_id for request_id, tools in self._open.items() if tools]
        return [_notice(CHANGED, request_id, {}) for request_id in wanting]


def _notice(method: str, request_id: Any, params: Message) -> Message:
    return frames.notice(method, {**params, "_meta": {ID: request_id}})
