"""A small HTTP/1.1 server on asyncio streams, with control over every byte it writes.

A handler maps a Request to a Reply; a reply's body is bytes or a stream of
bytes. A stream that raises Cut breaks the connection; a client that hangs up
cancels the stream. The same handlers serve as an ASGI application.
"""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

MAX_BODY = 64 * 1024 * 1024


class Cut(Exception):
    """Break the connection here, without a proper end."""


@dataclass(frozen=True, slots=True)
class Request:
    """One request, its body read."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    """Names in lower case."""
    body: bytes

    def json(self) -> Any:
        """The body as JSON; None when it is none."""
        try:
            return json.loads(self.body)
        except (ValueError, RecursionError):
            return None


Body = AsyncGenerator[bytes, None]


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer."""

    status: int = 200
    body: bytes | Body = b""
    headers: tuple[tuple[str, str], ...] = ()
    content_type: str = "application/json"
    delay: float = 0.0
    """Seconds before the status line."""
    extra: Mapping[str, Any] = field(default_factory=dict)


Handler = Callable[[Request], Awaitable[Reply]]


def json_reply(
    value: object, status: int = 200, headers: tuple[tuple[str, str], ...] = ()
) -> Reply:
    """A reply with a JSON body."""
    return Reply(status, json.dumps(value).encode(), headers)


class Connection(asyncio.StreamReaderProtocol):
    """A stream protocol that also says at once when the client is gone."""

    def __init__(
        self,
        serve: Callable[[Connection, asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]],
    ) -> None:
        self.gone = asyncio.Event()
        reader = asyncio.StreamReader(limit=2**20)
        super().__init__(reader, self._start)
        self._serve = serve

    async def _start(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await self._serve(self, reader, writer)

    def eof_received(self) -> bool | None:
        self.gone.set()
        return super().eof_received()

    def connection_lost(self, exc: Exception | None) -> None:
        self.gone.set()
        super().connection_lost(exc)


class HttpServer:
    """Serves a handler on a loopback port."""

    def __init__(self, handler: Handler) -> None:
        self._handler = handler
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self.port = 0

    async def start(self, port: int = 0, host: str = "127.0.0.1") -> int:
        """Listen; returns the port. Raises OSError when it is taken."""
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(lambda: Connection(self._serve), host, port)
        self.port = self._server.sockets[0].getsockname()[1]
        return self.port

    async def stop(self) -> None:
        """Close the port and every connection."""
        if self._server is not None:
            self._server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(
        self, connection: Connection, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - a protocol callback always runs in a task
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        writer.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            while (request := await read_request(reader)) is not None:
                await self._answer(connection, writer, request)
        except (Cut, ConnectionError, asyncio.IncompleteReadError, ValueError):
            writer.transport.abort()
        except asyncio.CancelledError:
            writer.transport.abort()  # `stop` ends the server; nothing waits for this task's result
        finally:
            writer.close()

    async def _answer(
        self, connection: Connection, writer: asyncio.StreamWriter, request: Request
    ) -> None:
        work = asyncio.ensure_future(self._work(writer, request))
        gone = asyncio.ensure_future(connection.gone.wait())
        try:
            await asyncio.wait({work, gone}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            gone.cancel()
            if not work.done():
                work.cancel()
                await asyncio.gather(work, return_exceptions=True)
        if work.cancelled():
            raise ConnectionResetError("the client hung up")
        work.result()

    async def _work(self, writer: asyncio.StreamWriter, request: Request) -> None:
        reply = await self._handler(request)
        if reply.delay:
            await asyncio.sleep(reply.delay)
        writer.write(head(reply))
        if isinstance(reply.body, bytes):
            writer.write(b"" if request.method == "HEAD" else reply.body)
            await writer.drain()
            return
        try:
            async for piece in reply.body:
                writer.write(b"%x\r\n%b\r\n" % (len(piece), piece))
                await writer.drain()
        finally:
            await reply.body.aclose()
        writer.write(b"0\r\n\r\n")
        await writer.drain()


def head(reply: Reply) -> bytes:
    """Status line and headers."""
    try:
        phrase = HTTPStatus(reply.status).phrase
    except ValueError:
        phrase = "Status"
    lines = [f"HTTP/1.1 {reply.status} {phrase}", f"content-type: {reply.content_type}"]
    lines += [f"{name}: {value}" for name, value in reply.headers]
    if isinstance(reply.body, bytes):
        lines.append(f"content-length: {len(reply.body)}")
    else:
        lines += ["transfer-encoding: chunked", "cache-control: no-cache"]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


async def read_request(reader: asyncio.StreamReader) -> Request | None:
    """The next request of a connection, or None at its end. Raises ValueError for nonsense."""
    try:
        raw = await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, asyncio.LimitOverrunError):
        return None
    first, *rest = raw.decode("latin-1").split("\r\n")
    method, target, _version = first.split(" ", 2)
    headers = {}
    for line in rest:
        name, colon, value = line.partition(":")
        if colon:
            headers[name.strip().lower()] = value.strip()
    url = urlsplit(target)
    query = {
        name: values[-1] for name, values in parse_qs(url.query, keep_blank_values=True).items()
    }
    return Request(method, unquote(url.path), query, headers, await _read_body(reader, headers))


async def _read_body(reader: asyncio.StreamReader, headers: Mapping[str, str]) -> bytes:
    if "chunked" in headers.get("transfer-encoding", ""):
        return await _read_chunks(reader)
    length = int(headers.get("content-length") or 0)
    if length > MAX_BODY:
        raise ValueError("body too large")
    return await reader.readexactly(length) if length else b""


async def _read_chunks(reader: asyncio.StreamReader) -> bytes:
    parts = bytearray()
    while size := int((await reader.readuntil(b"\r\n")).split(b";")[0], 16):
        parts += await reader.readexactly(size)
        await reader.readexactly(2)
    await reader.readuntil(b"\r\n")
    return bytes(parts)


Scope = Mapping[str, Any]
Receive = Callable[[], Awaitable[Mapping[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]


def asgi(handler: Handler) -> Callable[[Scope, Receive, Send], Awaitable[None]]:
    """The handler as an ASGI application, for httpx.ASGITransport (which does not stream)."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        reply = await handler(await _asgi_request(scope, receive))
        await asyncio.sleep(reply.delay)
        pairs = [("content-type", reply.content_type), *reply.headers]
        raw = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in pairs]
        await send({"type": "http.response.start", "status": reply.status, "headers": raw})
        if isinstance(reply.body, bytes):
            await send({"type": "http.response.body", "body": reply.body})
            return
        async for piece in reply.body:
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b""})

    return app


async def _asgi_request(scope: Scope, receive: Receive) -> Request:
    body = b""
    while True:
        message = await receive()
        body += message.get("body", b"")
        if not message.get("more_body"):
            break
    headers = {
        name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]
    }
    query = {name: values[-1] for name, values in parse_qs(scope["query_string"].decode()).items()}
    return Request(scope["method"], scope["path"], query, headers, body)
