"""Why nothing came over the network, as the user reads it."""

from __future__ import annotations

import errno
import os
import socket
import ssl
from contextlib import closing

import httpx
import pytest

from workers_tui.engine.network_words import cause_of


def free_port() -> int:
    with closing(socket.socket()) as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


async def failure_of(url: str) -> str:
    async with httpx.AsyncClient(trust_env=False) as client:
        with pytest.raises(httpx.HTTPError) as caught:
            await client.get(url)
    return cause_of(caught.value)


def caused_by(cause: BaseException) -> httpx.HTTPError:
    """As httpx and what is below it hand an error up."""
    error = httpx.ReadError("")
    error.__context__ = OSError(str(cause))
    error.__context__.__cause__ = cause
    return error


@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_a_closed_port_is_said_to_be_one(scheme: str) -> None:
    assert await failure_of(f"{scheme}://127.0.0.1:{free_port()}/") == "nothing listens there"


async def test_who_speaks_no_tls_is_told_from_who_is_not_there() -> None:
    with closing(socket.socket()) as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        with closing(socket.socket()) as asks:
            asks.connect(silent.getsockname())
            other, _ = silent.accept()
            other.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            with closing(other), pytest.raises(ssl.SSLError) as caught:
                ssl.create_default_context().wrap_socket(asks, server_hostname="127.0.0.1")
    said = "no secure connection can be made (wrong version number)"
    assert cause_of(caught.value) == said


def untrusted() -> ssl.SSLCertVerificationError:
    error = ssl.SSLCertVerificationError(1, "[SSL] certificate verify failed")
    error.verify_message = "self-signed certificate"
    return error


@pytest.mark.parametrize(
    ("cause", "words"),
    [
        (socket.gaierror(socket.EAI_NONAME, "Name or service not known"),
         "no host of that name is known"),
        (socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution"),
         "no name can be looked up now"),
        (untrusted(), "its certificate is not trusted (self-signed certificate)"),
        (ConnectionResetError(errno.ECONNRESET, os.strerror(errno.ECONNRESET)),
         "the other side cut the connection"),
        (OSError(errno.ENETUNREACH, os.strerror(errno.ENETUNREACH)), "network is unreachable"),
    ],
)  # fmt: skip
def test_the_systems_own_reason_is_told_in_words(cause: BaseException, words: str) -> None:
    assert cause_of(caused_by(cause)) == words


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (httpx.ConnectTimeout(""), "no answer in time"),
        (httpx.ReadError(""), "the connection broke"),
        (httpx.RemoteProtocolError("peer closed connection"), "peer closed connection"),
    ],
)
def test_no_class_of_an_error_is_told(error: httpx.HTTPError, words: str) -> None:
    assert cause_of(error) == words
