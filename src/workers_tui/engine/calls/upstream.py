"""One request to a provider, streamed: the only module that speaks HTTP with providers.

The transport is an argument. Clocks of our own watch over the stream, because
comments keep a read timeout from ever firing. Cancelling the reading task
closes the connection, which tells the provider to stop.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, cast
from urllib.parse import urlsplit

import httpx
import msgspec

from workers_tui.engine.calls.answer import Reading
from workers_tui.engine.calls.deadline import Deadline, Limits
from workers_tui.engine.calls.pace import Pace, Reader
from workers_tui.engine.calls.sse import LONGEST, EventReader, EventTooLong
from workers_tui.engine.calls.upstream_errors import page_text, refusal, stream_failure
from workers_tui.engine.clock import Clock
from workers_tui.engine.errors import Incomplete, UpstreamFailed
from workers_tui.engine.network_words import cause_of
from workers_tui.engine.settings.providers import is_loopback

ERROR_BYTES = 200_000
"""No more of an error body is read."""
LAST_BYTES = 0.02
"""Seconds to wait for the end of a body whose answer is complete."""
SHORT = 20.0
"""Seconds for a request that is not a stream."""


@dataclass(frozen=True, slots=True)
class UpstreamRequest:
    """One attempt of a call."""

    provider: str
    url: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]
    limits: Limits = field(default_factory=Limits)


class NeverSent(UpstreamFailed):
    """No connection was made: nothing left the machine and nothing is billed."""


class Upstream:
    """Connections to all providers."""

    def __init__(self, clock: Clock, transport: httpx.AsyncBaseTransport | None = None) -> None:
        self._clock = clock
        self._transport = transport
        self._clients: dict[bool, httpx.AsyncClient] = {}
        self._pace = Pace()

    async def close(self) -> None:
        """Close every connection."""
        for client in self._clients.values():
            await client.aclose()

    async def stream(
        self,
        request: UpstreamRequest,
        reading: Reading,
        on_text: Callable[[str], None],
        on_start: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        """Send, and hand over the text as it comes; `reading` knows everything else.

        The end is handed over too, though it may be empty. `on_start` is awaited
        when the provider has taken the request. Raises UpstreamFailed
        (KeyRejected, PaymentRequired, NeverSent) and Incomplete; `reading` then
        holds what came before.
        """
        deadline = Deadline(request.limits)
        response = await self._send(request, deadline)
        try:
            reading.generation_id = response.headers.get("x-generation-id")
            reading.cached = response.headers.get("x-openrouter-cache-status", "") == "HIT"
            if on_start is not None:
                await on_start()
            await self._pump(request, response, deadline, reading, on_text)
        finally:
            await response.aclose()
        if reading.error is not None:
            raise stream_failure(request.provider, reading.error, reading.generation_id)
        if not reading.done and not reading.finish_reason:
            raise Incomplete(
                f"{request.provider} broke off before the answer was finished; "
                "what came is kept, run it again for the whole"
            )

    async def _send(self, request: UpstreamRequest, deadline: Deadline) -> httpx.Response:
        """The answer's head, once it is known to be a good one."""
        client = self.client(request.url)
        headers = {"Content-Type": "application/json", **request.headers}
        # httpx would take seven times as long, on the loop: 20 ms for a file of 3 MB.
        body = msgspec.json.encode(request.body)
        message = client.build_request("POST", request.url, headers=headers, content=body)
        try:
            async with asyncio.timeout_at(deadline.at()):
                response = await client.send(message, stream=True)
        except TimeoutError:
            raise deadline.ran_out(request.provider) from None
        except httpx.HTTPError as error:
            raise connection_failure(request.provider, request.url, error) from error
        if response.is_success and _is_answer(response):
            return response
        raise await self._refused(request.provider, response)

    async def _refused(self, provider: str, response: httpx.Response) -> UpstreamFailed:
        try:
            async with asyncio.timeout(SHORT):
                body = await _read_some(response)
        except (TimeoutError, httpx.HTTPError):
            body = b""
        finally:
            await response.aclose()
        status = response.status_code
        if response.is_success:
            return UpstreamFailed(
                f"{provider} sent {page_text(response.headers, body) or 'an empty page'}",
                status=status,
            )
        return refusal(provider, status, response.headers, body, self._clock.now())

    async def _pump(
        self,
        request: UpstreamRequest,
        response: httpx.Response,
        deadline: Deadline,
        reading: Reading,
        on_text: Callable[[str], None],
    ) -> None:
        """Read to the end, within the deadline."""
        try:
            async with asyncio.timeout_at(deadline.at()) as timer:
                if _media_type(response) == "application/json":
                    # It was asked for as a stream and came whole.
                    _hand_over([await _read_whole(response)], reading, on_text)
                else:
                    await self._read_events(response, deadline, timer, reading, on_text)
        except TimeoutError:
            raise deadline.ran_out(request.provider) from None
        except EventTooLong:
            raise Incomplete(
                f"{request.provider} sent more than {LONGEST // 1_000_000} MB without an end; "
                "what came before is kept"
            ) from None
        except httpx.HTTPError as error:
            raise Incomplete(
                f"{request.provider} broke off in the middle of the answer ({cause_of(error)}); "
                "what came is kept"
            ) from error

    async def _read_events(
        self,
        response: httpx.Response,
        deadline: Deadline,
        timer: asyncio.Timeout,
        reading: Reading,
        on_text: Callable[[str], None],
    ) -> None:
        events = EventReader()
        with Reader(self._pace) as reader:
            async with aclosing(_pieces(response)) as pieces:
                async for piece in pieces:
                    if _hand_over(events.feed(piece), reading, on_text):
                        deadline.moved(timer)
                    if reading.error is not None:
                        return
                    if reading.done:
                        await _drain(pieces)
                        return
                    if reader.is_due():
                        await reader.rest()
        _hand_over(events.end(), reading, on_text)

    async def get_json(
        self,
        provider: str,
        url: str,
        headers: Mapping[str, str],
        params: Mapping[str, str] | None = None,
    ) -> Any:
        """The JSON behind an address. Raises UpstreamFailed."""
        try:
            async with asyncio.timeout(SHORT):
                response = await self.client(url).get(
                    url, headers=dict(headers), params=dict(params or {})
                )
        except TimeoutError:
            raise UpstreamFailed(f"{provider} did not answer within {SHORT:.0f} s") from None
        except httpx.HTTPError as error:
            raise connection_failure(provider, url, error) from error
        if not response.is_success:
            raise refusal(
                provider,
                response.status_code,
                response.headers,
                response.content,
                self._clock.now(),
            )
        try:
            return json.loads(response.content, parse_float=Decimal)
        except (ValueError, ArithmeticError, RecursionError):  # a number may be beyond all reason
            text = page_text(response.headers, response.content)
            raise UpstreamFailed(f"{provider} sent {text}", status=response.status_code) from None

    def client(self, url: str) -> httpx.AsyncClient:
        """Proxies and certificates of the environment are for remote hosts only."""
        remote = not is_loopback(url)
        if remote not in self._clients:
            self._clients[remote] = _open_client(self._transport, trust_env=remote)
        return self._clients[remote]


def _open_client(
    transport: httpx.AsyncBaseTransport | None, *, trust_env: bool
) -> httpx.AsyncClient:
    # The queue decides how many calls run; a pool that did too would only make them wait.
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=20)
    timeout = httpx.Timeout(connect=10.0, write=30.0, pool=10.0, read=None)
    try:
        return httpx.AsyncClient(
            transport=transport, limits=limits, timeout=timeout, trust_env=trust_env
        )
    except (ImportError, ValueError, OSError) as error:
        raise UpstreamFailed(
            f"the proxy or certificate settings cannot be used: {error}"
        ) from error


def connection_failure(provider: str, url: str, error: httpx.HTTPError) -> UpstreamFailed:
    """The error for a request that got no answer at all."""
    host = urlsplit(url).netloc
    if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout | httpx.ProxyError):
        return NeverSent(
            f"{provider} cannot be reached at {host}: {cause_of(error)}; is it running, is the "
            "network up?",
            retryable=not isinstance(error, httpx.ProxyError),
        )
    if isinstance(error, httpx.UnsupportedProtocol | httpx.PoolTimeout):
        return NeverSent(f"{provider} cannot be asked at {url!r}: {cause_of(error)}")
    # A connection kept from an earlier request may be closed at the other end by now.
    return UpstreamFailed(
        f"{provider} closed the connection without an answer ({cause_of(error)})",
        retryable=isinstance(error, httpx.ReadError | httpx.RemoteProtocolError | httpx.WriteError),
    )


def _hand_over(events: list[bytes], reading: Reading, on_text: Callable[[str], None]) -> bool:
    """Feed the events of one read; False when they carry nothing.

    Comments that are sent as data, to keep a connection alive, are no events.
    """
    carrying = [data for data in events if not data.startswith(b":")]
    text = "".join([reading.feed(data) for data in carrying])
    if text or reading.finish_reason:
        on_text(text)
    return bool(carrying)


async def _drain(pieces: AsyncGenerator[bytes, None]) -> None:
    """Read what follows the end, so that the connection can serve the next call too."""
    with suppress(TimeoutError, httpx.HTTPError):
        async with asyncio.timeout(LAST_BYTES):
            async for _ in pieces:
                pass


def _media_type(response: httpx.Response) -> str:
    kind: str = response.headers.get("content-type", "")
    return kind.partition(";")[0].strip().lower()


def _is_answer(response: httpx.Response) -> bool:
    return _media_type(response) in {"text/event-stream", "application/json"}


async def _read_whole(response: httpx.Response) -> bytes:
    body = await _read_some(response, LONGEST + 1)
    if len(body) > LONGEST:
        raise EventTooLong
    return body


async def _read_some(response: httpx.Response, enough: int = ERROR_BYTES) -> bytes:
    body = bytearray()
    async with aclosing(_pieces(response)) as pieces:
        async for piece in pieces:
            body += piece
            if len(body) >= enough:
                break
    return bytes(body)


def _pieces(response: httpx.Response) -> AsyncGenerator[bytes, None]:
    """A generator, though httpx does not say so: it is to be closed whatever happens."""
    return cast("AsyncGenerator[bytes, None]", response.aiter_bytes())
