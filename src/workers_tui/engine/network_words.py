"""Why a request over the network failed, in words that say what to look at.

httpx puts the operating system's error at the bottom of a chain, under texts such
as `[Errno -2] Name or service not known` or none at all.
"""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator

import httpx

LOOKED_UP_LATER = {socket.EAI_AGAIN}
"""What getaddrinfo says when no name server answers (getaddrinfo(3))."""

WORDS: tuple[tuple[type[Exception], str], ...] = (
    (ConnectionRefusedError, "nothing listens there"),
    (ConnectionResetError, "the other side cut the connection"),
    (BrokenPipeError, "the other side cut the connection"),
    (httpx.ConnectTimeout, "no answer in time"),
    (httpx.PoolTimeout, "too many connections are open"),
    (httpx.WriteTimeout, "it took nothing more in time"),
    (httpx.ReadTimeout, "nothing came in time"),
)


def cause_of(error: Exception) -> str:
    """What went wrong, without a full stop: `nothing listens there`."""
    chain = list(_chain(error))
    for one in chain:
        if isinstance(one, socket.gaierror):
            return _of_name(one)
        if isinstance(one, ssl.SSLCertVerificationError):
            return f"its certificate is not trusted ({one.verify_message})"
        if isinstance(one, ssl.SSLError):
            why = (one.reason or str(one)).replace("_", " ").lower()
            return f"no secure connection can be made ({why})"
        for kind, words in WORDS:
            if isinstance(one, kind):
                return words
    for one in reversed(chain):
        if isinstance(one, OSError) and one.strerror:
            return one.strerror[0].lower() + one.strerror[1:]
    return str(error) or "the connection broke"


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The error and what caused it, from the outside in."""
    seen: set[int] = set()
    one: BaseException | None = error
    while one is not None and id(one) not in seen:
        seen.add(id(one))
        yield one
        # Also a suppressed context: what a refused connection comes from is in no other place.
        one = one.__cause__ or one.__context__


def _of_name(error: socket.gaierror) -> str:
    if error.errno in LOOKED_UP_LATER:
        return "no name can be looked up now"
    return "no host of that name is known"
