"""The little HTTP/1.1 that the forwarder speaks to its server on loopback.

A connection per request: a kept one may turn out dead after the bytes went out,
and then nobody knows whether the call was received. `NotSent` and `Broken` keep
the two cases apart, because a call that may have arrived is never repeated.
"""

from __future__ import annotations

import contextlib
import io
import json
import socket
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO

CONNECT_WAIT = 2.0
HEAD_LINES = 100
LONGEST_LINE = 65536
LONGEST_PORT = 5
HIGHEST_PORT = 65535
SMALL = 65536
"""Bytes of a small answer; whoever sends more is not one of ours."""


class NotSent(OSError):
    """No byte of the request left; it may be tried elsewhere."""


class Broken(OSError):
    """The request went out and the answer did not come whole."""


@dataclass(frozen=True, slots=True)
class Address:
    """Where a server listens."""

    host: str
    port: int

    @classmethod
    def of(cls, url: str) -> Address | None:
        """The address in `http://HOST:PORT/…`; None when there is none."""
        scheme, _, rest = url.partition("://")
        host, _, port = rest.partition("/")[0].rpartition(":")
        if scheme != "http" or not host or not port.isdecimal() or len(port) > LONGEST_PORT:
            return None
        return cls(host.strip("[]"), int(port)) if 0 < int(port) <= HIGHEST_PORT else None

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class Exchange:
    """One request and its answer as it comes."""

    def __init__(
        self,
        address: Address,
        method: str,
        path: str,
        headers: Mapping[str, str],
        body: bytes = b"",
        timeout: float | None = None,
        end: float | None = None,
    ) -> None:
        """Send the request and read the answer's head. Raises NotSent or Broken.

        `timeout` is for each read; at `end`, on the monotonic clock, all is over.
        """
        self._socket = _connect(address)
        try:
            self._socket.settimeout(timeout)
            self._socket.sendall(_head(address, method, path, headers, body) + body)
            self._file = _file(self._socket, end)
            self.status, self.headers = _read_head(self._file)
        except (OSError, ValueError) as error:
            self._socket.close()
            raise Broken(str(error)) from error

    def events(self) -> Iterator[dict[str, Any]]:
        """The messages of an event stream, or the one of a JSON body. Raises Broken."""
        if "text/event-stream" not in self.headers.get("content-type", ""):
            body = self.body()
            if body.strip():
                yield _object(body)
            return
        data: list[bytes] = []
        for line in self._lines():
            if line.startswith(b"data:"):
                data.append(line[5:].removeprefix(b" "))
            elif not line and data:
                text = b"\n".join(data)
                data = []
                if text:
                    yield _object(text)

    def wait(self, timeout: float | None) -> None:
        """How long a read may take from now on; None waits for ever."""
        self._socket.settimeout(timeout)

    def body(self, most: int | None = None) -> bytes:
        """The whole body. Raises Broken, also for one of more than `most` bytes."""
        whole = b""
        for chunk in self._chunks(most):
            whole += chunk
            if most is not None and len(whole) > most:
                raise Broken("the answer is too long")
        return whole

    def _lines(self) -> Iterator[bytes]:
        held = b""
        for chunk in self._chunks():
            *lines, held = (held + chunk).split(b"\n")
            for line in lines:
                yield line.removesuffix(b"\r")

    def _chunks(self, most: int | None = None) -> Iterator[bytes]:
        try:
            if "chunked" in self.headers.get("transfer-encoding", ""):
                while size := int(self._file.readline(LONGEST_LINE).split(b";")[0] or b"-", 16):
                    yield _exactly(self._file, size, most)
                    self._file.readline(LONGEST_LINE)
            elif size := int(self.headers.get("content-length", 0)):
                yield _exactly(self._file, size, most)
        except (OSError, ValueError) as error:
            raise Broken(str(error) or "the connection closed") from error

    def close(self) -> None:
        """End it, also while another thread reads."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()


def ask(
    address: Address, method: str, path: str, headers: Mapping[str, str], timeout: float
) -> dict[str, Any] | None:
    """A small JSON answer with status 200, or None; also from whoever answers drop by drop."""
    end = time.monotonic() + timeout
    try:
        exchange = Exchange(address, method, path, headers, timeout=timeout, end=end)
    except OSError:
        return None
    try:
        value = json.loads(exchange.body(SMALL))
    except (OSError, ValueError, RecursionError):
        return None
    finally:
        exchange.close()
    return value if exchange.status == 200 and isinstance(value, dict) else None


def _connect(address: Address) -> socket.socket:
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    connection = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        connection.settimeout(CONNECT_WAIT)
        connection.connect((address.host, address.port))
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    except OSError as error:
        connection.close()
        raise NotSent(str(error)) from error
    return connection


def _head(
    address: Address, method: str, path: str, headers: Mapping[str, str], body: bytes
) -> bytes:
    lines = [f"{method} {path} HTTP/1.1", f"host: {address}", f"content-length: {len(body)}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "connection: close", "", ""]).encode("latin-1")


def _read_head(file: BinaryIO) -> tuple[int, dict[str, str]]:
    first = file.readline(LONGEST_LINE).split(None, 2)
    if len(first) < 2 or not first[0].startswith(b"HTTP/1."):
        raise ValueError("the connection closed without an answer")
    headers: dict[str, str] = {}
    for _ in range(HEAD_LINES):
        line = file.readline(LONGEST_LINE)
        if line in {b"\r\n", b"\n", b""}:
            break
        name, _, value = line.decode("latin-1").partition(":")
        headers[name.strip().lower()] = value.strip()
    return int(first[1]), headers


class _UntilEnd(io.RawIOBase):
    """Reads a socket as long as there is time."""

    def __init__(self, connection: socket.socket, end: float) -> None:
        self._connection = connection
        self._end = end

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        left = self._end - time.monotonic()
        if left <= 0:
            raise TimeoutError("the answer took too long")
        self._connection.settimeout(left)
        return self._connection.recv_into(buffer)


def _file(connection: socket.socket, end: float | None) -> BinaryIO:
    if end is None:
        return connection.makefile("rb")
    return io.BufferedReader(_UntilEnd(connection, end))


def _exactly(file: BinaryIO, size: int, most: int | None = None) -> bytes:
    if size < 0 or (most is not None and size > most):
        raise ValueError("the answer is too long")
    data = file.read(size)
    if len(data) < size:
        raise ValueError("the connection closed in the middle of an answer")
    return data


def _object(raw: bytes) -> dict[str, Any]:
    try:
        value = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise Broken("the server's answer is not JSON") from error
    if not isinstance(value, dict):
        raise Broken("the server's answer is not a message")
    return value
