"""The client sessions that talk to this server: who they are and what they may do.

In the handshake era a session has an id; the newer protocol has none, so there a
client is told apart by its forwarder, or by all that it says about itself: what
one client may read is never taken from another's words. Nothing is kept on disk.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from workers_tui.forwarder.told import FORWARDER, Told, unpack

MCP_SESSION = "mcp-session-id"
SESSIONLESS = "sessionless "
SEEN_LATELY = 300.0
MOST = 500


@dataclass(slots=True)
class Client:
    """One client session."""

    key: str
    """The MCP session id, or what stands for one."""
    name: str = ""
    """Program and version, as it introduced itself."""
    told: Told = field(default_factory=Told)
    roots: tuple[Path, ...] | None = None
    """Its answer to roots/list; None until asked, or when it said they changed."""
    silent: bool = False
    """It did not answer roots/list in time: asked again only when a file is wanted."""
    tell_tools_changed: Callable[[], Awaitable[None]] | None = None
    """Pushes tools/list_changed to it, where its connection can."""
    seen: float = field(default_factory=time.monotonic)

    @property
    def handshake(self) -> bool:
        """It speaks the protocol with sessions, and can be asked and told things."""
        return not self.key.startswith(SESSIONLESS)

    @property
    def cancels_in_words(self) -> bool:
        """A broken connection is no cancellation of its calls; it says so when it means it."""
        return self.handshake or self.told.forwarder


class Clients:
    """All sessions seen lately, newest last."""

    def __init__(self) -> None:
        self._clients: dict[str, Client] = {}

    def meet(self, headers: Mapping[str, str], name: str) -> Client:
        """The client these request headers belong to."""
        told = unpack(headers)
        itself = headers.get(FORWARDER) or f"{name} {told}"
        key = headers.get(MCP_SESSION) or SESSIONLESS + itself
        client = self._clients.pop(key, None) or Client(key)
        client.told, client.name, client.seen = told, name or client.name, time.monotonic()
        self._clients[key] = client
        while len(self._clients) > MOST:
            del self._clients[next(iter(self._clients))]
        return client

    def forget(self, key: str) -> None:
        """The client ended its session."""
        self._clients.pop(key, None)

    def count(self) -> int:
        """Clients seen in the last minutes."""
        since = time.monotonic() - SEEN_LATELY
        return sum(client.seen >= since for client in self._clients.values())

    def all(self) -> list[Client]:
        return list(self._clients.values())
