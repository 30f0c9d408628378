"""The little HTTP/1.1 that the forwarder speaks to its server on loopback.

A connection per request: a kept one may turn out dead after the bytes went out,
and then nobody knows whether the call was received. `NotSent` and `Broken` keep
the two cases apart, because a call that may have arrived is never repeated.
"""

from __future__ import annotations

import contextlib
import json
import socket
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO

CONNECT_WAIT = 2.0
HEAD_LINES = 100
LONGEST_LINE = 65536


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
        if scheme != "http" or not host or not port.isdigit():
            return None
        return cls(host.strip("[]"), int(port))

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
    ) -> None:
        """Send the request and read the answer's head. Raises NotSent or Broken."""
        self._socket = _connect(address)
        try:
            self._socket.settimeout(timeout)
            self._socket.sendall(_head(address, method, path, headers, body) + body)
            self._file: BinaryIO = self._socket.makefile("rb")
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

    def body(self) -> bytes:
        """The whole body. Raises Broken."""
        return b"".join(self._chunks())

    def _lines(self) -> Iterator[bytes]:
        held = b""
        for chunk in self._chunks():
            *lines, held = (held + chunk).split(b"\n")
            for line in lines:
                yield line.removesuffix(b"\r")

    def _chunks(self) -> Iterator[bytes]:
        try:
            if "chunked" in self.headers.get("transfer-encoding", ""):
                while size := int(self._file.readline(LONGEST_LINE).split(b";")[0] or b"-", 16):
                    yield _exactly(self._file, size)
                    self._file.readline(LONGEST_LINE)
            elif size := int(self.headers.get("content-length", 0)):
                yield _exactly(self._file, size)
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
    """A small JSON answer with status 200, or None."""
    try:
        exchange = Exchange(address, method, path, headers, timeout=timeout)
    except OSError:
        return None
    try:
        value = json.loads(exchange.body())
    except (OSError, ValueError):
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


def _exactly(file: BinaryIO, size: int) -> bytes:
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
