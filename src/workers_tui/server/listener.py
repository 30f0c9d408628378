"""The listening socket: on the wanted port, else on the next free one, which is said."""

from __future__ import annotations

import errno
import socket
from dataclasses import dataclass

from workers_tui.engine.errors import WorkersError, WrongUse
from workers_tui.server.claim import name_stranger

PORTS_TRIED = 50
TAKEN = {errno.EADDRINUSE, errno.EACCES}


@dataclass(frozen=True, slots=True)
class Listener:
    """A socket that listens."""

    socket: socket.socket
    url: str
    """Where MCP is."""
    port: int
    message: str = ""
    """Why it is not the wanted port."""


def listen(host: str, wanted: int) -> Listener:
    """Listen. Raises WrongUse for an address that is not ours, WorkersError without a free port."""
    for port in [wanted, *range(wanted + 1, min(wanted + PORTS_TRIED, 65536)), 0]:
        try:
            listener = _listen(host, port)
        except OSError as error:
            if error.errno not in TAKEN:
                raise WrongUse(f"cannot listen on {host}: {error.strerror}") from error
            continue
        taken = listener.getsockname()[1]
        literal = f"[{host}]" if ":" in host else host
        message = ""
        if wanted and taken != wanted:
            message = f"port {wanted} is taken by {name_stranger(literal, wanted)}, took {taken}"
        return Listener(listener, f"http://{literal}:{taken}/mcp", taken, message)
    raise WorkersError(f"no free port on {host}")


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio sets TCP_NODELAY only on sockets that say they are TCP; without it
    # each answer waits 40 ms for the client's acknowledgement.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(256)
        listener.setblocking(False)
    except OSError:
        listener.close()
        raise
    return listener
