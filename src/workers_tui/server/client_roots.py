"""Asks a client for its directories, in its era's way.

It waits two seconds at most and asks no more often than needed. An error or a
timeout never widens what the client may read.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import mcp_types as types
from mcp import MCPError
from mcp.server.context import ServerRequestContext

from workers_tui.server.roots import from_uris
from workers_tui.server.sessions import Client

Context = ServerRequestContext[Any, Any]

ROOTS_WAIT = 2.0
ROOTS_AGAIN = 0.5
"""What is asked before a client's event stream is open is lost: ask once more after this."""
ROOTS = "roots"


class RootsNeeded(Exception):
    """A sessionless client must say its roots and call again."""


def question() -> types.InputRequiredResult:
    """What such a client gets instead of an answer."""
    return types.InputRequiredResult(input_requests={ROOTS: types.ListRootsRequest()})


async def listed_roots(
    ctx: Context, client: Client, params: types.CallToolRequestParams | None = None
) -> tuple[Path, ...]:
    """What the client lists, or listed in `params`; nothing when it cannot say in time.

    Raises RootsNeeded where it can say only by calling again.
    """
    answer = (params.input_responses or {}).get(ROOTS) if params is not None else None
    if isinstance(answer, types.ListRootsResult):
        return await _directories(answer)
    can = ctx.session.client_capabilities
    if can is None or can.roots is None:
        return ()
    if not client.handshake:
        raise RootsNeeded
    if client.roots is None:
        try:
            client.roots = await _directories(await _answer(ctx))
        except (MCPError, ValueError, TimeoutError):
            client.silent = True
            return ()
        client.silent = False
    return client.roots


def forget(client: Client) -> None:
    """The client said that its roots changed."""
    client.roots, client.silent = None, False


async def _directories(answer: types.ListRootsResult) -> tuple[Path, ...]:
    # In a thread: a root may lie on a disk that does not answer.
    return await asyncio.to_thread(from_uris, [str(root.uri) for root in answer.roots])


async def _answer(ctx: Context) -> types.ListRootsResult:
    """The first answer to roots/list. Raises TimeoutError or MCPError when there is none."""
    asks: list[asyncio.Task[types.ListRootsResult]] = []
    try:
        async with asyncio.timeout(ROOTS_WAIT):
            while True:
                asks.append(asyncio.create_task(_ask(ctx)))
                done, _ = await asyncio.wait(
                    asks, timeout=ROOTS_AGAIN, return_when=asyncio.FIRST_COMPLETED
                )
                if done:
                    return done.pop().result()
    finally:
        for ask in asks:
            ask.cancel()
        await asyncio.gather(*asks, return_exceptions=True)


async def _ask(ctx: Context) -> types.ListRootsResult:
    return await ctx.session.send_request(
        types.ListRootsRequest(), types.ListRootsResult, ROOTS_WAIT
    )
