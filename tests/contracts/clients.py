"""Official MCP clients and plain HTTP requests to a server that runs in another process."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.types import CallToolResult
from tests.contracts.program import Serving


@asynccontextmanager
async def client_of(
    serving: Serving, mode: str = "legacy", headers: dict[str, str] | None = None, **more: Any
) -> AsyncIterator[Client]:
    """An official client with the token, connected."""
    head = {"Authorization": f"Bearer {serving.token}", **(headers or {})}
    async with httpx2.AsyncClient(headers=head, timeout=30) as http:
        transport = streamable_http_client(serving.url, http_client=http)
        async with Client(transport, mode=mode, **more) as client:
            yield client


def text_of(result: CallToolResult) -> str:
    """The one text of a reply."""
    (block,) = result.content
    assert block.type == "text"
    return block.text


async def call(client: Client, tool: str, **arguments: Any) -> str:
    """The text of a call that must succeed."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, text_of(result)
    return text_of(result)


async def fails(client: Client, tool: str, **arguments: Any) -> str:
    """The one line of a call that must fail."""
    result = await client.call_tool(tool, arguments)
    said = text_of(result)
    assert result.is_error, said
    assert "\n" not in said
    return said


def post(
    serving: Serving, body: dict[str, Any], *, url: str | None = None, **headers: str | None
) -> httpx.Response:
    """One JSON-RPC request by hand; a header given as None is left out."""
    head: dict[str, str | None] = {
        "Accept": "application/json, text/event-stream",
        "Authorization": f"Bearer {serving.token}",
        **{name.replace("_", "-"): value for name, value in headers.items()},
    }
    given = {name: value for name, value in head.items() if value is not None}
    message = {"jsonrpc": "2.0", "id": 1, **body}
    return httpx.post(url or serving.url, json=message, headers=given, timeout=10)


def initialize(version: str = "2025-11-25") -> dict[str, Any]:
    """The first request of a client."""
    about = {"name": "raw", "version": "1"}
    params = {"protocolVersion": version, "capabilities": {}, "clientInfo": about}
    return {"method": "initialize", "params": params}
