"""The tools on the MCP SDK's low-level server, for both of its protocol eras.

Handshake era: a client cancels with a notification and its job ends; a dropped
connection, or a session that closes, leaves the job running. Newer era: the
protocol makes a closed response stream the cancel, so there it ends the job,
unless a forwarder stands between: its client is on stdio and cancels in words.
This module pulls in the whole SDK (a second): it is imported in a thread.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import mcp_types as types
from mcp import MCPError
from mcp.server.context import CallNext, HandlerResult
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.models import InitializationOptions
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ToolsListChanged
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from workers_tui import __version__
from workers_tui.engine.errors import WrongUse
from workers_tui.engine.jobs.job import Job
from workers_tui.forwarder import tool_list
from workers_tui.forwarder.frames import proper_id
from workers_tui.forwarder.told import unpack
from workers_tui.home.switches import delegation_mode
from workers_tui.server import client_roots, schemas
from workers_tui.server.call import Call
from workers_tui.server.client_roots import Context, RootsNeeded, listed_roots
from workers_tui.server.pushing import reporter, tell_tools_changed
from workers_tui.server.replies import Reply
from workers_tui.server.roots import choose
from workers_tui.server.running import Key, RunningCalls
from workers_tui.server.sessions import MCP_SESSION, Client, Clients
from workers_tui.server.tools import Tools

if TYPE_CHECKING:
    from workers_tui.engine.engine import Engine

TOOL_USE_ID = "claudecode/toolUseId"
CALL_ID = "workers-tui/call"
MOVED = -32050
"""JSON-RPC error: another server has taken over, nothing was done; call there."""

INTRODUCTIONS = {"initialize", "server/discover"}


@dataclass(slots=True)
class Doors:
    """What the MCP side needs from its host."""

    engine: Engine
    clients: Clients
    project: Path | None = None
    taking: bool = True
    """False once another server has taken over: new calls are sent there."""
    seen: Callable[[], None] = lambda: None
    """Called when a client shows up or leaves."""
    running: RunningCalls = field(default_factory=RunningCalls)


class WorkersServer(Server[Any]):
    """The low-level server, saying that its tool list may change."""

    def create_initialization_options(
        self,
        notification_options: NotificationOptions | None = None,
        experimental_capabilities: dict[str, dict[str, Any]] | None = None,
        extensions: dict[str, dict[str, Any]] | None = None,
    ) -> InitializationOptions:
        options = notification_options or NotificationOptions(tools_changed=True)
        return super().create_initialization_options(options, experimental_capabilities, extensions)


class McpSide:
    """Handlers between the SDK and the tools."""

    def __init__(self, doors: Doors) -> None:
        self.doors = doors
        self.tools = Tools(doors.engine)
        self._kept: set[asyncio.Task[Any]] = set()
        self.bus = InMemorySubscriptionBus()
        self.listeners = ListenHandler(self.bus)
        self.server = WorkersServer(
            "workers",
            version=__version__,
            title="workers-tui",
            instructions=schemas.INSTRUCTIONS["auto"],
            get_tool_input_schema=self.tools.shapes.get,
            on_list_tools=self.list_tools,
            on_call_tool=self.call_tool,
            on_subscriptions_listen=self.listen,
        )
        self.server.add_notification_handler(
            "notifications/roots/list_changed", types.NotificationParams, self.roots_changed
        )
        # In place of the SDK's tracing middleware, which nobody here listens to.
        self.server.middleware[:] = [self.watch]

    async def watch(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        """See every message: cancellations end jobs, introductions are remembered."""
        if ctx.method == "notifications/cancelled":
            await self._cancelled(ctx)
        result = await call_next(ctx)
        if ctx.method in INTRODUCTIONS and isinstance(result, dict):
            mode = self._mode(unpack(_headers(ctx)).delegation)
            return {**result, "instructions": schemas.INSTRUCTIONS[mode]}
        if ctx.method == "notifications/initialized":
            self._meet(ctx)
        return result

    async def list_tools(
        self,
        ctx: Context,
        params: types.PaginatedRequestParams | None,  # noqa: ARG002 - the list has one page
    ) -> types.ListToolsResult:
        client = self._meet(ctx)
        made = tool_list.fill(schemas.tool_list(self._mode(client.told.delegation)), self.tiers())
        return types.ListToolsResult(tools=[types.Tool.model_validate(one) for one in made])

    async def call_tool(
        self, ctx: Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        if not self.doors.taking:
            raise MCPError(MOVED, "another server has taken over; nothing was done, call again")
        client = self._meet(ctx)
        # A setting saved a moment ago counts for this call; the watcher may not have seen it.
        await self.doors.engine.config.refresh()
        # Without sessions two clients may use the same name and ids; there no message cancels.
        key = (client.key, ctx.request_id if client.cancels_in_words else object())
        try:
            reply = await self.tools.run(
                params.name, params.arguments or {}, self._call(ctx, params, client, key)
            )
        except RootsNeeded:
            return client_roots.question()
        except asyncio.CancelledError:
            if not client.cancels_in_words:
                await self._cancel_jobs(key, client)
            raise
        self.doors.running.ended(key)
        return _result(reply)

    async def cancel(self, headers: Mapping[str, str], request: int) -> None:
        """End the call that a forwarder of the newer era sent under this id."""
        client = self.doors.clients.meet(headers, "")
        await self._cancel_jobs((client.key, request), client)

    async def listen(
        self, ctx: Context, params: types.SubscriptionsListenRequestParams
    ) -> types.SubscriptionsListenResult:
        """Push on this stream; the client is here as long as it listens."""
        client = self._meet(ctx)
        try:
            return await self.listeners(ctx, params)
        finally:
            self.left(client.key)

    def left(self, key: str) -> None:
        """A client session is over."""
        self.doors.clients.forget(key)
        self.doors.seen()

    async def roots_changed(
        self,
        ctx: Context,
        params: types.NotificationParams,  # noqa: ARG002 - it says nothing
    ) -> None:
        client_roots.forget(self._meet(ctx))

    async def tools_changed(self) -> None:
        """Tell every client that can hear it."""
        await self.bus.publish(ToolsListChanged())
        await asyncio.gather(*(tell_tools_changed(client) for client in self.doors.clients.all()))

    def tiers(self) -> list[tuple[str, str]]:
        """Tier names and uses, as the descriptions name them."""
        return [(name, tier.use) for name, tier in self.doors.engine.config.settings.tiers.items()]

    def modes(self) -> str:
        """The mode of a client that says nothing itself."""
        return self._mode(None)

    def _mode(self, told: str | None) -> str:
        settings = self.doors.engine.config.settings
        return delegation_mode((settings.delegation, told), self.doors.engine.environ)

    def _meet(self, ctx: Context) -> Client:
        params = ctx.session.client_params
        info = params.client_info if params is not None else None
        client = self.doors.clients.meet(
            _headers(ctx), f"{info.name} {info.version}" if info else ""
        )
        if client.handshake and client.tell_tools_changed is None:
            client.tell_tools_changed = ctx.session.send_tool_list_changed
        self.doors.seen()
        return client

    def _call(
        self,
        ctx: Context,
        params: types.CallToolRequestParams,
        client: Client,
        key: Key,
    ) -> Call:
        said = ctx.meta or {}
        report = reporter(ctx)

        async def started(jobs: Iterable[Job]) -> None:
            ids = [job.id for job in jobs]
            if not self.doors.running.started(key, ids):
                await self._cancel_all(ids, client)
            if client.told.forwarder:
                # The forwarder must know the job before this server may die.
                await report(0, None, f"job {' '.join(ids)} queued", {"workers-tui/jobs": ids})

        async def roots() -> tuple[Path, ...]:
            return await self._roots(ctx, params, client)

        async def project() -> Path | None:
            return await self._project(ctx, client)

        return Call(
            client=client,
            mode=self._mode(client.told.delegation),
            roots=roots,
            project=project,
            report=report,
            started=started,
            keep=self._keep,
            tool_use_id=_text(said.get(TOOL_USE_ID)) or _text(said.get(CALL_ID)),
        )

    def _keep(self, task: asyncio.Task[Any]) -> None:
        self._kept.add(task)
        task.add_done_callback(self._kept.discard)

    async def _roots(
        self, ctx: Context, params: types.CallToolRequestParams, client: Client
    ) -> tuple[Path, ...]:
        project, environ = self.doors.project, self.doors.engine.environ
        if client.told.project is not None:  # only then is the disk looked at
            return await asyncio.to_thread(choose, client.told, (), project, environ)
        listed = await listed_roots(ctx, client, params)
        return choose(client.told, listed, project, environ)

    async def _project(self, ctx: Context, client: Client) -> Path | None:
        """For the job's record only: a call without files is not worth a second round trip."""
        if not client.handshake or client.silent:
            return None
        listed = await listed_roots(ctx, client)
        return listed[0] if listed else self.doors.project

    async def _cancelled(self, ctx: Context) -> None:
        request = (ctx.params or {}).get("requestId")
        client = self._meet(ctx)
        if proper_id(request):  # the SDK has not looked at it yet
            await self._cancel_jobs((client.key, request), client)

    async def _cancel_jobs(self, key: Key, client: Client) -> None:
        await self._cancel_all(self.doors.running.cancel(key), client)

    async def _cancel_all(self, jobs: Iterable[str], client: Client) -> None:
        for job_id in jobs:
            with contextlib.suppress(WrongUse):  # it ended by itself in this moment
                await self.doors.engine.cancel(job_id, by=client.name or "client")


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _headers(ctx: Context) -> dict[str, str]:
    headers = dict(ctx.request.headers) if ctx.request is not None else {}
    if ctx.protocol_version in MODERN_PROTOCOL_VERSIONS:
        headers.pop(MCP_SESSION, None)  # that era has none: whoever sends one borrows it
    return headers


def _result(reply: Reply) -> types.CallToolResult:
    content: list[types.ContentBlock] = [types.TextContent(type="text", text=reply.text)]
    return types.CallToolResult.model_validate(
        {"content": content, "isError": reply.error, "_meta": reply.meta or None}
    )
