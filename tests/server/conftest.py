"""A host over the small engine, and official MCP clients of both eras to it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from tests.server.fake_engine import FakeEngine

from workers_tui.home.places import Home
from workers_tui.home.server_record import ensure_token, read_token
from workers_tui.server.host import Host

Connect = Callable[..., AbstractAsyncContextManager[Client]]


@pytest.fixture
async def engine(home: Home) -> FakeEngine:
    ensure_token(home)
    return FakeEngine(home)


@pytest.fixture
async def host(engine: FakeEngine) -> AsyncIterator[Host]:
    made = Host(engine, port=0, kind="serve")  # type: ignore[arg-type]  # the small engine
    await made.start()
    yield made
    await made.stop()


@asynccontextmanager
async def client_of(
    host: Host, mode: str = "legacy", headers: dict[str, str] | None = None, **more: Any
) -> AsyncIterator[Client]:
    """An official client with the token, connected."""
    head = {"Authorization": f"Bearer {read_token(host.engine.home)}", **(headers or {})}
    assert host.url is not None
    async with httpx2.AsyncClient(headers=head, timeout=30) as http:
        transport = streamable_http_client(host.url, http_client=http)
        async with Client(transport, mode=mode, **more) as client:
            yield client


@pytest.fixture
def connect(host: Host) -> Connect:
    return partial(client_of, host)


def meta(values: dict[str, str]) -> Any:
    """Fields of `_meta` that the SDK's type does not name."""
    return values
