"""uvicorn inside our own loop: our socket, no signal handlers, no logs, one owner task.

Like mcp_server.py this is imported in a thread, after the screen is painted.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import TYPE_CHECKING, Any

import uvicorn
from mcp.server.transport_security import TransportSecuritySettings
from uvicorn.protocols.http.h11_impl import H11Protocol

from workers_tui.server.gate import App, Receive, Scope, Send, answer
from workers_tui.server.leaving import Leaving
from workers_tui.server.mcp_server import Doors, McpSide
from workers_tui.server.request_ids import RequestIds

if TYPE_CHECKING:
    from workers_tui.engine.engine import Engine

GRACE = 2
FLUSH = 0.05
REQUEST_WAIT = 15.0
"""Seconds for a request to come whole, or for the rest of one that was refused."""


class QuietServer(uvicorn.Server):
    """Leaves the process's signal handlers alone: they belong to the front end."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class Connection(H11Protocol):
    """Ends connections on which no whole request comes in time.

    Before the gate anybody on this machine may connect; whoever sends heads or
    bodies drop by drop must not use up the descriptors that files need, too.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._patience: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._expect()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._at_work():
            self._expect_nothing()
        else:
            self._expect()

    def connection_lost(self, exc: Exception | None) -> None:
        self._expect_nothing()
        super().connection_lost(exc)

    def _at_work(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _expect(self) -> None:
        if self._patience is None:
            self._patience = self.loop.call_later(REQUEST_WAIT, self._give_up)

    def _expect_nothing(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None

    def _give_up(self) -> None:
        self._patience = None
        self.transport.close()


def mcp_app(side: McpSide) -> App:
    """The streamable-HTTP app of the SDK, for /mcp; hosts and origins are the gate's to check."""
    security = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    app = RequestIds(side.server.streamable_http_app(transport_security=security))
    return Leaving(app, side.left)


def gateway_app(engine: Engine) -> App:
    """The metering gateway, loaded when the first agent's request comes."""
    made: list[App] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if not made:
            module = await asyncio.to_thread(import_module, "workers_tui.server.gateway")
            made.append(module.gateway_app(engine))
        await made[0](scope, receive, send)

    return app


def route(routes: dict[str, App]) -> App:
    """Sends a request to the app whose prefix its path has."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        path = scope["path"]
        for prefix, target in routes.items():
            if path == prefix or path.startswith(prefix + "/"):
                await target(scope, receive, send)
                return
        await answer(send, 404, "there is nothing here; MCP is at /mcp")

    return app


async def serve(
    side: McpSide,
    app: App,
    listener: socket.socket,
    ready: Callable[[], None],
    stop: asyncio.Event,
) -> None:
    """Serve until told to stop. The whole life of the SDK's task group is this one task."""
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        lifespan="off",
        ws="none",
        http=Connection,
        proxy_headers=False,
        server_header=False,
        date_header=False,
        timeout_graceful_shutdown=GRACE,
        timeout_keep_alive=30,
    )
    server = QuietServer(config)
    async with side.server.session_manager.run():
        http = asyncio.create_task(server.serve(sockets=[listener]))
        while not server.started and not http.done():  # noqa: ASYNC110 - uvicorn has no event
            await asyncio.sleep(0.005)
        ready()
        await stop.wait()
        await asyncio.sleep(FLUSH)  # the tools have answered; let the answers leave
        side.listeners.close()
    server.should_exit = True
    await http


def make_side(doors: Doors) -> McpSide:
    """The MCP handlers over an engine."""
    return McpSide(doors)
