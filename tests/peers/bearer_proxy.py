"""Adds the token for test clients that cannot send one; the Host header stays the client's."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

ENDS = (ConnectionError, asyncio.IncompleteReadError, asyncio.LimitOverrunError)


@asynccontextmanager
async def bearer_proxy(target: int, token: str) -> AsyncIterator[int]:
    """A port that passes everything on with the token; one request a connection."""
    own: list[int] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            back, forth = await asyncio.open_connection("127.0.0.1", target)
            forth.write(_with_token(head, token, own[0], target))
            await asyncio.gather(_pump(reader, forth), _pump(back, writer))
        except ENDS:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    own.append(server.sockets[0].getsockname()[1])
    try:
        yield own[0]
    finally:
        server.close()


def _with_token(head: bytes, token: str, own: int, target: int) -> bytes:
    ours = (b"host:", b"origin:")
    kept = [
        line.replace(b":%d" % own, b":%d" % target) if line.lower().startswith(ours) else line
        for line in head[:-4].split(b"\r\n")
        if not line.lower().startswith((b"authorization:", b"connection:"))
    ]
    more = [b"Authorization: Bearer " + token.encode(), b"Connection: close", b"", b""]
    return b"\r\n".join([*kept, *more])


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    except ENDS:
        pass
    finally:
        writer.close()
