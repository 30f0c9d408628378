"""uvicorn inside our own loop: our socket, no signal handlers, no logs, one owner task.

Like mcp_server.py this is imported in a thread, after the screen is painted.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Callable, Iterator

import uvicorn
from mcp.server.transport_security import TransportSecuritySettings

from workers_tui.server.gate import App, Receive, Scope, Send, answer
from workers_tui.server.mcp_server import Doors, McpSide
from workers_tui.server.request_ids import RequestIds

GRACE = 2
FLUSH = 0.05


class QuietServer(uvicorn.Server):
    """Leaves the process's signal handlers alone: they belong to the front end."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def mcp_app(side: McpSide) -> App:
    """The streamable-HTTP app of the SDK, for /mcp; hosts and origins are the gate's to check."""
    security = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    return RequestIds(side.server.streamable_http_app(transport_security=security))


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
        http="h11",
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
