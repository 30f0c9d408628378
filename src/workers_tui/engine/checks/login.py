"""Logging in at OpenRouter without pasting a key: OAuth with PKCE, by browser or by code.

The verifier never leaves this process before the exchange, so a code that
somebody else sees or sends is worth nothing.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import secrets
from dataclasses import dataclass
from types import TracebackType
from typing import Self
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx

from workers_tui.engine.errors import UpstreamFailed
from workers_tui.engine.network_words import cause_of
from workers_tui.engine.settings.providers import is_loopback

API_PATH = "/api/v1"
METHOD = "S256"
KEY_LABEL = "workers-tui"
PATIENCE = 300.0
"""Seconds the browser may take; a code lives ten minutes."""
SHORT = 20.0
REQUEST_LIMIT = 16_384

PAGE = """<!doctype html><meta charset="utf-8"><title>workers-tui</title>
<body style="font-family: sans-serif; margin: 4em"><h1>{title}</h1><p>{text}</p>"""


@dataclass(frozen=True, slots=True)
class Challenge:
    """One login's secret and what the provider gets to see of it."""

    verifier: str
    challenge: str


def make_challenge() -> Challenge:
    """A fresh pair."""
    verifier = secrets.token_urlsafe(48)
    digest = hashlib.sha256(verifier.encode()).digest()
    return Challenge(verifier, base64.urlsafe_b64encode(digest).rstrip(b"=").decode())


def login_page(base_url: str, challenge: Challenge, callback: str | None) -> str:
    """The page the user opens; without a callback it shows a code to paste."""
    root = base_url.rstrip("/").removesuffix(API_PATH)
    query = {"code_challenge": challenge.challenge, "code_challenge_method": METHOD}
    extra = {"callback_url": callback} if callback else {"key_label": KEY_LABEL}
    return f"{root}/auth?{urlencode(extra | query)}"


async def exchange(
    base_url: str,
    code: str,
    challenge: Challenge,
    transport: httpx.AsyncBaseTransport | None = None,
) -> str:
    """The key for a code. Raises UpstreamFailed; 403 means a wrong or used code."""
    body = {
        "code": code.strip(),
        "code_verifier": challenge.verifier,
        "code_challenge_method": METHOD,
    }
    url = f"{base_url.rstrip('/')}/auth/keys"
    try:
        async with httpx.AsyncClient(
            transport=transport, timeout=SHORT, trust_env=not is_loopback(url)
        ) as client:
            reply = await client.post(url, json=body)
    except httpx.HTTPError as error:
        raise UpstreamFailed(f"{url} cannot be reached: {cause_of(error)}") from None
    return _key(reply)


def _key(reply: httpx.Response) -> str:
    try:
        said = reply.json()
    except (ValueError, RecursionError):
        said = None
    key = said.get("key") if isinstance(said, dict) else None
    if reply.is_success and isinstance(key, str) and key:
        return key
    why = {
        400: "the method was not accepted",
        403: "the code is wrong, used or older than ten minutes; run login again",
    }.get(reply.status_code, "there was no key in the answer")
    raise UpstreamFailed(f"the login failed ({reply.status_code}): {why}", status=reply.status_code)


class Callback:
    """Listens on this machine for the browser to come back with a code."""

    def __init__(self) -> None:
        self._server: asyncio.Server | None = None
        self._said: asyncio.Queue[str | UpstreamFailed] = asyncio.Queue()
        self.url = ""

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._answer, "127.0.0.1", 0, limit=REQUEST_LIMIT)
        port = self._server.sockets[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{port}/callback"
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._server is not None:
            self._server.close()
            await self._server.wait_closed()

    async def code(self) -> str:
        """The next code. Raises UpstreamFailed when the user refused or nobody came."""
        try:
            async with asyncio.timeout(PATIENCE):
                said = await self._said.get()
        except TimeoutError:
            raise UpstreamFailed(
                "the browser did not come back; try `workers-tui login --headless`"
            ) from None
        if isinstance(said, UpstreamFailed):
            raise said
        return said

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(SHORT):
                line = await reader.readline()
                status, page = self._take(line.decode("latin-1").split(" "))
                head = f"HTTP/1.1 {status}\r\nContent-Type: text/html\r\nConnection: close\r\n\r\n"
                writer.write(head.encode() + page.encode())
                await writer.drain()
        except (OSError, TimeoutError, ValueError):
            return  # a stranger that talks no HTTP
        finally:
            writer.close()

    def _take(self, words: list[str]) -> tuple[str, str]:
        """What this request means; the page that the browser shows."""
        place = urlsplit(words[1] if len(words) > 1 else "")
        query = parse_qs(place.query)
        if words[0] != "GET" or place.path != "/callback" or not {"code", "error"} & set(query):
            return "404 Not Found", PAGE.format(title="Nothing here", text="")
        if "code" in query:
            self._said.put_nowait(query["code"][0])
            text = "You can close this page and go back to the terminal."
            return "200 OK", PAGE.format(title="Logged in", text=text)
        self._said.put_nowait(UpstreamFailed("the login was refused in the browser"))
        return "200 OK", PAGE.format(title="Not logged in", text="The login was refused.")
