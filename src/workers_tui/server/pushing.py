"""What the server sends to a client by itself: how far a call is, and that the tools changed."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import Any

import mcp_types as types

from workers_tui.server.client_roots import Context
from workers_tui.server.sessions import Client

PUSH_WAIT = 2.0
"""Seconds that a client may take to be told; one that does not read is left."""


async def tell_tools_changed(client: Client) -> None:
    """Push to one client; one that is gone or does not read must not hold up the others."""
    if client.tell_tools_changed is not None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(PUSH_WAIT):
                await client.tell_tools_changed()


def reporter(ctx: Context) -> Callable[..., Awaitable[None]]:
    """Sends progress of this request, rising as the protocol asks; silent without a token."""
    token = (ctx.meta or {}).get("progress_token", (ctx.meta or {}).get("progressToken"))
    last = -1.0

    async def report(
        done: float, of: float | None, text: str, meta: dict[str, Any] | None = None
    ) -> None:
        nonlocal last
        if token is None:
            return
        last = done if done > last else last + 0.001
        params = types.ProgressNotificationParams.model_validate(
            {"progressToken": token, "progress": last, "total": of, "message": text, "_meta": meta}
        )
        await ctx.session.send_notification(
            types.ProgressNotification(params=params), related_request_id=ctx.request_id
        )

    return report
