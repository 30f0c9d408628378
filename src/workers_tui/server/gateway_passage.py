"""One admitted request on its way to the provider and back, byte for byte.

Whatever happens on the way, it is booked or released: a cut answer is an
estimate, a refusal costs nothing, an error in the clothes of an answer is told
in the provider's own words.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Awaitable
from typing import TypeVar

import httpx

from workers_tui.engine.agents.agent_limits import Limits
from workers_tui.engine.agents.message_reading import error_words
from workers_tui.engine.agents.meter import Meter
from workers_tui.engine.network_words import cause_of
from workers_tui.server.gateway_exchange import JSON, ClientGone, Exchange, error_body

NOT_SENT_BACK = frozenset(
    {
        "content-length", "content-encoding", "connection", "keep-alive", "transfer-encoding",
        "set-cookie", "server", "date",
    }
)  # fmt: skip


HIGHEST = 599
"""The last status that a server can send on."""
REFUSAL_WAIT = 10.0
"""Seconds for the words of a refusal."""

T = TypeVar("T")


class Passage:
    """One admitted request on its way to the provider and back."""

    def __init__(
        self,
        client: httpx.AsyncClient,
        request: httpx.Request,
        exchange: Exchange,
        meter: Meter,
        limits: Limits,
    ) -> None:
        self._client = client
        self._request = request
        self._exchange = exchange
        self._meter = meter
        local = meter.account.identity.loopback
        self._idle = limits.local if local else limits.idle
        first = limits.local if local else limits.first
        self._first = first if meter.head.stream else limits.whole
        self._whole_limit = limits.whole
        self._host = request.url.host

    async def run(self) -> None:
        """Pass it on; whatever happens, it is booked or released."""
        try:
            response = await self._unless_gone(self._sent(self._request))
            try:
                await self._back(response)
            finally:
                await response.aclose()
        except NotReached as wrong:
            await self._meter.release(str(wrong))
            await self._exchange.refuse(502, "api_error", str(wrong))
        except Broken as wrong:
            await self._meter.settle("broken")
            await self._exchange.refuse(502, "api_error", str(wrong))
        finally:
            if not self._meter.ended:
                await asyncio.shield(self._meter.settle("cancelled"))

    async def _unless_gone(self, work: Awaitable[T]) -> T:
        return await self._exchange.unless_gone(work, self._meter.account)

    async def _sent(self, request: httpx.Request) -> httpx.Response:
        try:
            async with asyncio.timeout(self._first):
                return await self._client.send(request, stream=True)
        except httpx.ConnectError as wrong:
            raise NotReached(f"{self._host} cannot be reached: {cause_of(wrong)}") from wrong
        except TimeoutError:
            raise self._silent(self._first) from None
        except httpx.HTTPError as wrong:
            raise self._broken(wrong) from wrong

    def _silent(self, seconds: float) -> Broken:
        why = f"{self._host} sent nothing for {seconds:.0f} s"
        self._meter.account.fail(why)
        return Broken(why)

    def _broken(self, wrong: httpx.HTTPError) -> Broken:
        return self._cut(f"({cause_of(wrong)})")

    def _cut(self, how: str = "in the middle of the answer") -> Broken:
        why = f"{self._host} broke off {how}"
        self._meter.account.trouble = why
        return Broken(why)

    async def _back(self, response: httpx.Response) -> None:
        """Send the answer back; it is booked or released then."""
        generation = response.headers.get("x-generation-id")
        await self._meter.note_generation(generation)
        media = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        if response.status_code >= 400:
            await self._refused(response, media)
        elif response.is_success and media == "text/event-stream":
            await self._streamed(response)
        else:
            await self._whole(response, media, await self._unless_gone(self._read(response)))

    async def _read(self, response: httpx.Response) -> bytes:
        try:
            async with asyncio.timeout(self._whole_limit):
                return await response.aread()
        except TimeoutError:
            raise self._silent(self._whole_limit) from None
        except httpx.HTTPError as wrong:
            raise self._broken(wrong) from wrong

    async def _streamed(self, response: httpx.Response) -> None:
        reading = self._meter.reading
        await self._exchange.start(200, sent_back(response))
        status = "ok"
        try:
            await self._unless_gone(self._pieces(response))
        except ClientGone:
            status = "cancelled"
        except Stalled:
            why = f"{self._host} sent nothing for {self._idle:.0f} s in the middle of an answer"
            self._meter.account.fail(why)
            status = "stalled"
        except httpx.HTTPError:
            status = "broken"
        reading.end()
        passed = reading.passed()
        if status == "ok" and not passed.complete and not passed.error:
            status = "broken"
        await asyncio.shield(self._meter.settle(status))
        if status in {"broken", "stalled"}:
            words = f"{self._host} broke off in the middle of the answer"
            event = b"event: error\ndata: " + error_body("api_error", words) + b"\n\n"
            await self._exchange.piece(event)
        if status != "cancelled":
            await self._exchange.piece(b"", more=False)

    async def _pieces(self, response: httpx.Response) -> None:
        """Pass bytes on as they come; raise Stalled when only pings or nothing comes."""
        reading, loop = self._meter.reading, asyncio.get_running_loop()
        source = aiter(response.aiter_bytes())
        moved, deadline = reading.progress, loop.time() + self._idle
        while True:
            try:
                async with asyncio.timeout_at(deadline):
                    raw = await anext(source)
            except StopAsyncIteration:
                return
            except TimeoutError:
                raise Stalled from None
            reading.feed(raw)  # first, for it came, whether or not the client takes it
            await self._exchange.piece(raw)
            if reading.progress != moved:
                moved, deadline = reading.progress, loop.time() + self._idle

    async def _refused(self, response: httpx.Response, media: str) -> None:
        """A refusal: its status has said so, however much of its words comes."""
        body, status = b"", response.status_code
        with contextlib.suppress(ClientGone):
            body = await self._unless_gone(self._said(response))
        words = page_words(self._host, status, media, body)
        await self._meter.refused(status, words)
        back = sent_back(response)
        if media != "application/json" or not body:
            body, back = error_body("api_error", words), [JSON]
        await self._exchange.answer(status if status <= HIGHEST else 502, body, back)

    async def _said(self, response: httpx.Response) -> bytes:
        """The whole words of a refusal, or none."""
        with contextlib.suppress(TimeoutError, httpx.HTTPError):
            async with asyncio.timeout(min(REFUSAL_WAIT, self._whole_limit)):
                return await response.aread()
        return b""

    async def _whole(self, response: httpx.Response, media: str, body: bytes) -> None:
        """An answer that was not streamed, or an error in the clothes of one."""
        reading = self._meter.reading
        reading.whole(body)
        passed = reading.passed()
        if not (passed.stop_reason or passed.usage or passed.blocks):
            await self._no_answer(response, media, body)
            return
        await asyncio.shield(self._meter.settle())
        if passed.error and not passed.blocks:
            await self._exchange.refuse(400, "invalid_request_error", passed.error)
        else:
            await self._exchange.answer(200, body, sent_back(response))

    async def _no_answer(self, response: httpx.Response, media: str, body: bytes) -> None:
        """A page or an error costs nothing; a message that was cut off may cost all of it."""
        error, status = self._meter.reading.passed().error, response.status_code
        if status == 200 and media == "application/json" and not (error or is_json(body)):
            raise self._cut()
        words = error or page_words(self._host, status, media, body)
        await self._meter.release(words)
        await self._exchange.refuse(400, "invalid_request_error", words)


class NotReached(Exception):
    """No connection was made: nothing left."""


class Broken(Exception):
    """The connection broke before an answer came."""


class Stalled(Exception):
    """The provider holds the stream open and says nothing."""


def sent_back(response: httpx.Response) -> list[tuple[bytes, bytes]]:
    """The provider's headers, byte for byte, without those of the connection."""
    raw = response.headers.raw
    return [one for one in raw if one[0].lower().decode("latin-1") not in NOT_SENT_BACK]


def is_json(body: bytes) -> bool:
    """Whether a body is whole as far as JSON goes."""
    try:
        json.loads(body)
    except (ValueError, RecursionError):
        return False
    return True


def page_words(host: str, status: int, media: str, body: bytes) -> str:
    """What the provider said, in one line."""
    if media == "application/json":
        with contextlib.suppress(ValueError, RecursionError):
            raw = json.loads(body)
            if isinstance(raw, dict):
                return f"{host}: {status} {error_words(raw)}"
    title = body[:4000].decode("utf-8", errors="replace").partition("<title>")[2]
    named = title.partition("</title>")[0].strip()[:120]
    return (
        f"{host} answered {status} with a page instead of an answer ({named or media or 'empty'})"
    )
