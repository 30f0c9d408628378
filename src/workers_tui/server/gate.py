"""The gate before every route: Host, Origin, token. Pure ASGI, nothing runs before it.

A page in the user's browser must not reach the tools (DNS rebinding, form posts),
and neither must another user of the machine. /healthz is open but says nothing
secret; /gateway checks tokens of its own.
"""

from __future__ import annotations

import hmac
import json
import time
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from dataclasses import dataclass, field
from typing import Any

from workers_tui.home.files import write_atomic
from workers_tui.home.places import Home
from workers_tui.home.server_record import ensure_token, read_token

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

OPEN = "/healthz"
OWN_TOKENS = "/gateway"


class Token:
    """The user's bearer token, read again when its file changes."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._stamp: tuple[int, int] | None = None
        self._value = ""
        self._last = ""
        """The last one that there was."""

    @property
    def value(self) -> str:
        """The token now in force; empty when there is none, which nobody can send."""
        try:
            status = self._home.token.stat()
        except OSError:
            return ""
        stamp = (status.st_mtime_ns, status.st_ino)
        if stamp != self._stamp:
            self._value, self._stamp = read_token(self._home) or "", stamp
            self._last = self._value or self._last
        return self._value

    def keep(self) -> None:
        """Put the token back if its file was taken away or spoilt. Blocking; raises OSError."""
        if self.value:
            return
        if self._last:
            write_atomic(self._home.token, self._last + "\n", mode=0o600)
        else:
            ensure_token(self._home)

    def fits(self, header: bytes) -> bool:
        """Whether an Authorization header carries it."""
        scheme, _, given = header.partition(b" ")
        token = self.value.encode()
        right = hmac.compare_digest(given.strip(), token)
        return bool(token) and scheme.lower() == b"bearer" and right


@dataclass(slots=True)
class Traffic:
    """How busy the doors are; the background server leaves when nobody comes."""

    open: int = 0
    """Requests being served now, event streams included."""
    last: float = field(default_factory=time.monotonic)
    """When the newest request came or went, on the monotonic clock."""

    def idle_for(self) -> float:
        """Seconds without any request."""
        return 0.0 if self.open else time.monotonic() - self.last


class Gate:
    """Lets only the user's own clients through to the app."""

    def __init__(self, app: App, token: Token, hosts: Iterable[str], traffic: Traffic) -> None:
        self._app = app
        self._token = token
        self._hosts = frozenset(host.encode() for host in hosts)
        self._traffic = traffic

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        refusal = self._refusal(scope["path"], scope["headers"])
        if refusal is not None:
            await answer(send, *refusal)
            return
        if scope["path"] == OPEN:
            await self._app(scope, receive, send)
            return
        self._traffic.open += 1
        self._traffic.last = time.monotonic()
        try:
            await self._app(scope, receive, send)
        finally:
            self._traffic.open -= 1
            self._traffic.last = time.monotonic()

    def _refusal(self, path: str, raw: Iterable[tuple[bytes, bytes]]) -> tuple[int, str] | None:
        headers = dict(raw)
        if headers.get(b"host", b"").lower() not in self._hosts:
            return 421, "this server answers on its loopback address only"
        if any(name == b"origin" and not self._is_own(value) for name, value in raw):
            return 403, "web pages may not call this server"
        if path == OPEN or path.startswith(OWN_TOKENS + "/"):
            return None
        if not self._token.fits(headers.get(b"authorization", b"")):
            return 401, "missing or wrong token; run: workers-tui connect"
        return None

    def _is_own(self, origin: bytes) -> bool:
        return origin.removeprefix(b"http://") in self._hosts


async def answer(
    send: Send,
    status: int,
    value: str | dict[str, Any],
    headers: Iterable[tuple[bytes, bytes]] = (),
) -> None:
    """Send a small JSON answer; a text is an error."""
    body = json.dumps({"error": value} if isinstance(value, str) else value).encode()
    head = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    if status == 401:
        head.append((b"www-authenticate", b"Bearer"))
    await send({"type": "http.response.start", "status": status, "headers": [*head, *headers]})
    await send({"type": "http.response.body", "body": body})


def own_hosts(host: str, port: int) -> set[str]:
    """Every Host header that means this server."""
    named = f"[{host}]" if ":" in host else host
    return {f"{name}:{port}".lower() for name in ("127.0.0.1", "localhost", "[::1]", named)}
