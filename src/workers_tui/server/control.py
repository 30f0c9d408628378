"""Small routes beside /mcp: who are you, give way, which job was that, end that call.

/healthz is open: it proves to know the token without showing it and says no
secret. /control stands behind the gate.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol
from urllib.parse import parse_qs

from workers_tui import __version__
from workers_tui.forwarder.told import FORWARDER
from workers_tui.home.proof import prove
from workers_tui.server.gate import Receive, Scope, Send, Token, answer

if TYPE_CHECKING:
    from workers_tui.engine.engine import Engine

LATELY = 200
"""Jobs, newest first, among which those of a call are looked for."""
DIGITS = re.compile(r"[0-9]{1,18}")


class Controlled(Protocol):
    """The server that these routes tell of and steer."""

    engine: Engine
    taking: bool
    """Whether it takes new calls."""

    @property
    def kind(self) -> str:
        """`dashboard`, `serve` or `background`; only the last gives way."""

    def hand_over(self) -> int:
        """Give way; returns how many jobs still run."""

    async def end_call(self, headers: Mapping[str, str], request: int) -> None:
        """End a forwarder's call by the id under which it sent it."""


class Control:
    """Serves /healthz and /control."""

    def __init__(self, host: Controlled, token: Token) -> None:
        self._host = host
        self._token = token

    async def health(self, scope: Scope, _: Receive, send: Send) -> None:
        nonce = _query(scope, "nonce")
        said = {
            "name": "workers-tui",
            "version": __version__,
            "pid": os.getpid(),
            "kind": self._host.kind,
            "taking": self._host.taking,
        }
        if nonce:
            said["proof"] = prove(self._token.value, nonce[:200])
        await answer(send, 200, said)

    async def __call__(self, scope: Scope, _: Receive, send: Send) -> None:
        match scope["method"], scope["path"]:
            case "POST", "/control/hand-over":
                await self._hand_over(send)
            case "GET", "/control/jobs":
                await self._jobs_of(_query(scope, "call"), send)
            case "POST", "/control/cancel":
                await self._cancel(scope, send)
            case _:
                await answer(send, 404, "no such control")

    async def _hand_over(self, send: Send) -> None:
        if self._host.kind != "background":
            await answer(send, 409, f"this {self._host.kind} stays")
            return
        await answer(send, 200, {"jobs": self._host.hand_over()})

    async def _cancel(self, scope: Scope, send: Send) -> None:
        """End a call of the forwarder that asks, by the id under which it sent it."""
        request = _query(scope, "request")
        headers = {
            name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]
        }
        if not DIGITS.fullmatch(request) or FORWARDER not in headers:
            await answer(send, 400, "which request, of which forwarder?")
            return
        await self._host.end_call(headers, int(request))
        await answer(send, 200, {})

    async def _jobs_of(self, call: str, send: Send) -> None:
        """Jobs that came from one tools/call: for a forwarder whose server died."""
        jobs = await self._host.engine.list_jobs(limit=LATELY)
        found = [job.id for job in reversed(jobs) if call and job.tool_use_id == call]
        await answer(send, 200, {"jobs": found})


def _query(scope: Scope, name: str) -> str:
    values = parse_qs(scope["query_string"].decode("latin-1")).get(name)
    return values[0] if values else ""
