"""Connections of the gateway to the providers of identities."""

from __future__ import annotations

import httpx

from workers_tui.engine.agents.identity import Identity

CONNECTIONS = 256


class AgentClients:
    """One pool for this machine, one for all others."""

    def __init__(self, transport: httpx.AsyncBaseTransport | None = None) -> None:
        self._transport = transport
        self._clients: dict[bool, httpx.AsyncClient] = {}

    def to(self, identity: Identity) -> httpx.AsyncClient:
        """Connections to an identity's provider.

        Proxies of the environment count for remote hosts, never for this machine.
        """
        local = identity.loopback
        if local not in self._clients:
            self._clients[local] = httpx.AsyncClient(
                transport=self._transport,
                trust_env=not local,
                timeout=httpx.Timeout(30.0, connect=10.0, read=None),
                limits=httpx.Limits(max_connections=CONNECTIONS, max_keepalive_connections=32),
            )
        return self._clients[local]

    async def close(self) -> None:
        """Close every connection."""
        for client in self._clients.values():
            await client.aclose()
