"""JSON-RPC over lines: any bytes in, well-formed messages or a fault out. Never raises on input."""

from __future__ import annotations

import json
import os
import select
import threading

TYPE_CHECKING = False  # typing costs 4 ms
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

Message = dict[str, "Any"]

LONGEST = 16 * 1024 * 1024
CHUNK = 65536

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
NO_METHOD = -32601
BAD_PARAMS = -32602
INTERNAL = -32603


class Fault:
    """A frame that is no message, and the code to answer it with."""

    # No dataclass: its import is a fifth of what the client's first answer waits for.
    __slots__ = ("code", "id", "text")

    def __init__(self, code: int, text: str, request_id: Any = None) -> None:
        self.code = code
        self.text = text
        self.id = request_id


def read_lines(fd: int, longest: int = LONGEST) -> Iterator[bytes | Fault]:
    """The lines that arrive on a file descriptor; one that is too long is skipped whole."""
    held = bytearray()
    skipping = False
    while chunk := _read(fd):
        held += chunk
        if b"\n" in chunk:
            *lines, rest = held.split(b"\n")
            for line in lines:
                if not skipping and line.strip():
                    yield bytes(line)
                skipping = False
            held = bytearray(rest)
        if len(held) > longest:
            if not skipping:
                yield Fault(INVALID_REQUEST, f"a message may have {longest} bytes at most")
            skipping = True
            held.clear()
    if held.strip() and not skipping:
        yield bytes(held)


def _read(fd: int) -> bytes:
    """The next bytes; waits even where the client left the descriptor non-blocking."""
    while True:
        try:
            return os.read(fd, CHUNK)
        except BlockingIOError:
            select.select([fd], [], [])
        except OSError:
            return b""  # it was closed before we came, or its other end is gone


def parse(line: bytes) -> Message | Fault:
    """One JSON-RPC message from a line."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return Fault(PARSE_ERROR, "this is not JSON")
    if isinstance(value, list):
        return Fault(INVALID_REQUEST, "batches are not supported; send one message a line")
    if not isinstance(value, dict):
        return Fault(INVALID_REQUEST, "this is not a JSON-RPC message")
    return _fault(value) or value


def _fault(value: Message) -> Fault | None:
    """What is wrong with an object that should be a message."""
    if "id" in value and not proper_id(value["id"]):
        return Fault(INVALID_REQUEST, "an id is a text or a whole number")
    if not isinstance(value.get("method", ""), str):
        return Fault(INVALID_REQUEST, "a method is a text", value.get("id"))
    if "method" not in value and "id" not in value:
        return Fault(INVALID_REQUEST, "this is neither a request nor an answer")
    if not isinstance(value.get("params", {}), dict):
        return Fault(BAD_PARAMS, "params must be an object", value.get("id"))
    return None


def proper_id(value: object) -> bool:
    """Whether a request may carry this id."""
    return isinstance(value, str | int) and not isinstance(value, bool)


def result(request_id: object, value: Message) -> Message:
    return {"jsonrpc": "2.0", "id": request_id, "result": value}


def notice(method: str, params: Message | None = None) -> Message:
    said: Message = {"jsonrpc": "2.0", "method": method}
    return said if params is None else {**said, "params": params}


def error(request_id: object, code: int, text: str) -> Message:
    return {"jsonrpc": "2.0", "id": request_id, "error": {"code": code, "message": text}}


def tool_error(request_id: object, text: str) -> Message:
    """A tool result that says in words what went wrong; the model reads it."""
    content = [{"type": "text", "text": text}]
    return result(request_id, {"content": content, "isError": True})


class ClientGone(OSError):
    """Nothing more can be written to the client: it closed its end, or never opened it."""


class Output:
    """Writes messages to a file descriptor, one whole line at a time, from any thread."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._lock = threading.Lock()

    def send(self, message: Message) -> None:
        """Write one message. Raises ClientGone."""
        raw = memoryview(json.dumps(message, separators=(",", ":")).encode() + b"\n")
        with self._lock:
            while raw:
                try:
                    raw = raw[os.write(self._fd, raw) :]
                except BlockingIOError:
                    select.select([], [self._fd], [])
                except OSError as error:
                    raise ClientGone(*error.args) from error
