"""One server as this client meets it: requests, notices, and the stream it pushes on.

Here is what both protocol eras share, and the handshake era: initialize, then a
session. upstream_newest.py has the other one.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from workers_tui.forwarder import frames
from workers_tui.forwarder.finder import Place
from workers_tui.forwarder.frames import Message
from workers_tui.forwarder.wire import Broken, Exchange, ask

MOVED = -32050
"""The server's error code for: another one has taken over, nothing was done."""

QUICK = 30.0
LARGEST = 4 * 1024 * 1024
"""What the server reads of one request; it breaks off longer ones."""


class TooLarge(ValueError):
    """More than a server reads of one message; nothing was sent."""


class Elsewhere(Exception):
    """The server refused before doing anything: session unknown, token changed, or moved."""


class Server:
    """A server that this client is connected to."""

    _ids = itertools.count(1)
    # For all servers: one that is met again must not take a new call for an old one.

    def __init__(
        self,
        place: Place,
        headers: Mapping[str, str],
        deliver: Callable[[Server, Message], None],
        lost: Callable[[], None],
        client: Message,
    ) -> None:
        """`client`: what it said of itself: the params of initialize, or the envelope."""
        self.place = place
        self.alive = True
        self._headers = {
            "authorization": f"Bearer {place.token}",
            "content-type": "application/json",
            "accept": "application/json, text/event-stream",
            **headers,
        }
        self._deliver = deliver
        self._lost = lost
        self._client = client
        self._stream: Exchange | None = None

    def open(self) -> None:
        """Say who the client is, and listen. Raises NotSent, Broken or Elsewhere."""
        raise NotImplementedError

    def cancel(self, request_id: int, params: Message) -> None:
        """Say that the client does not want this answer any more."""
        raise NotImplementedError

    def new_id(self) -> int:
        """An id that no other request to this server has."""
        return next(self._ids)

    def request(self, message: Message, timeout: float | None = None) -> Message:
        """Send a request and return its answer; what comes before it is delivered.

        Raises NotSent, Broken or Elsewhere.
        """
        try:
            exchange = self._post(message, timeout)
        except TooLarge as error:
            return frames.error(message["id"], frames.INVALID_REQUEST, str(error))
        try:
            if exchange.status not in {200, 202}:
                return _refusal(message["id"], exchange)
            for event in exchange.events():
                if "method" not in event and event.get("id") == message["id"]:
                    if event.get("error", {}).get("code") == MOVED:
                        raise Elsewhere("another server has taken over")
                    return event
                self._deliver(self, event)
        finally:
            exchange.close()
        raise Broken("the stream ended without an answer")

    def notify(self, message: Message) -> None:
        """Send a notice or an answer; a server that is gone does not matter."""
        with contextlib.suppress(OSError, Elsewhere, TooLarge):
            exchange = self._post(message, QUICK)
            exchange.body()
            exchange.close()

    def close(self) -> None:
        """Stop listening."""
        self.alive = False
        if self._stream is not None:
            self._stream.close()

    def ask_jobs(self, call: str) -> list[str]:
        """Which jobs came from a call that an earlier server took."""
        # Late, because it is rarely needed: the name may be any text of the client's.
        from urllib.parse import quote

        path = f"/control/jobs?call={quote(call, safe='', errors='replace')}"
        said = ask(self.place.address, "GET", path, self._headers, QUICK)
        jobs = (said or {}).get("jobs")
        return [str(job) for job in jobs] if isinstance(jobs, list) else []

    def _post(self, message: Message, timeout: float | None) -> Exchange:
        # Half of a character, as a model may say one, is no JSON to the server.
        text = json.dumps(message, ensure_ascii=False, separators=(",", ":"))
        body = text.encode("utf-8", "replace")
        if len(body) > LARGEST:
            raise TooLarge(
                f"a call may have {LARGEST >> 20} MB at most; name files instead of pasting them"
            )
        head = {**self._headers, **self._head_of(message)}
        exchange = Exchange(self.place.address, "POST", self.place.path, head, body, timeout)
        if exchange.status in {401, 404}:
            exchange.close()
            raise Elsewhere(f"status {exchange.status}")
        return exchange

    def _head_of(self, message: Message) -> dict[str, str]:  # noqa: ARG002 - the other era's need
        """Headers that repeat what a message says."""
        return {}

    def _hear(self, events: Iterable[Message]) -> None:
        """Deliver what comes by itself; the end of it is the end of the server."""
        with contextlib.suppress(OSError):
            for event in events:
                self._deliver(self, event)
        if self.alive:
            self.alive = False
            self._lost()


class HandshakeServer(Server):
    """The handshake era: a session, a stream of its own for what the server pushes."""

    def open(self) -> None:
        """Replay the client's initialize and listen. Raises NotSent, Broken or Elsewhere."""
        request = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": self._client}
        exchange = self._post(request, QUICK)
        try:
            answer = next(iter(exchange.events()), {})
        finally:
            exchange.close()
        version = answer.get("result", {}).get("protocolVersion")
        if exchange.status != 200 or not version:
            raise Broken(f"the server refused to initialize: {answer.get('error')}")
        self._headers["mcp-protocol-version"] = version
        if session := exchange.headers.get("mcp-session-id"):
            self._headers["mcp-session-id"] = session
        self.notify(frames.notice("notifications/initialized"))
        threading.Thread(target=self._listen, daemon=True).start()

    def cancel(self, request_id: int, params: Message) -> None:
        told = {**params, "requestId": request_id}
        self.notify(frames.notice("notifications/cancelled", told))

    def _listen(self) -> None:
        """Deliver what the server says by itself; the end of the stream ends the session."""
        events: Iterable[Message] = ()
        with contextlib.suppress(OSError):
            self._stream = Exchange(self.place.address, "GET", self.place.path, self._headers)
            if self._stream.status not in {200, 404}:
                return  # it will not push; calls may still pass
            events = self._stream.events()
        self._hear(events)


def _refusal(request_id: Any, exchange: Exchange) -> Message:
    """A JSON-RPC error for an HTTP status that is one; the server's own where it gave one."""
    code, text = frames.INVALID_REQUEST, f"the server answered with status {exchange.status}"
    with contextlib.suppress(OSError, ValueError, AttributeError):
        said = json.loads(exchange.body()).get("error")
        if isinstance(said, dict) and isinstance(said.get("code"), int):
            return {"jsonrpc": "2.0", "id": request_id, "error": said}
        text = str(said) if said else text
    return frames.error(request_id, code, text)
