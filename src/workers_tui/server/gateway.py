"""The metering gateway: agents' requests pass through to their provider and are booked.

Pure ASGI. The job's token opens one account; the provider's key is put in here
and nowhere else. Bodies are passed on as they are and never logged. When the
client is gone the upstream is closed.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import TYPE_CHECKING, Any, TypeVar

import httpx

from workers_tui.engine.agent_limits import Limits
from workers_tui.engine.errors import BudgetRefused, PolicyRefused, WorkersError
from workers_tui.engine.message_reading import error_words
from workers_tui.engine.metering import Account, Meter, count_estimate, read_head

if TYPE_CHECKING:
    from workers_tui.engine.agent_runs import Agents
    from workers_tui.engine.engine import Engine

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

T = TypeVar("T")

LARGEST_BODY = 64 * 1024 * 1024
COUNT_SECONDS = 3.0
CONNECTIONS = 256

NOT_SENT_ON = frozenset(
    {
        "authorization", "x-api-key", "host", "content-length", "connection", "keep-alive",
        "transfer-encoding", "accept-encoding", "cookie", "proxy-authorization", "te", "upgrade",
    }
)  # fmt: skip
NOT_SENT_BACK = frozenset(
    {
        "content-length", "content-encoding", "connection", "keep-alive", "transfer-encoding",
        "set-cookie", "server", "date",
    }
)  # fmt: skip
NO_COUNT = frozenset({404, 405, 500, 501, 502, 503})
BILLED_STATUS = frozenset({408, 504, 524})
"""Refusals after which the model may have worked all the same."""


def gateway_app(engine: Engine) -> App:
    """The gateway of an engine, to be mounted at /gateway."""
    return Gateway(engine.agents)


class Gateway:
    """Passes requests of agents on and back."""

    def __init__(self, agents: Agents) -> None:
        self._agents = agents
        self._clients: dict[bool, httpx.AsyncClient] = {}
        self._countless: set[str] = set()
        """Addresses that have no count_tokens."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        exchange = Exchange(scope, receive, send)
        if exchange.method in {"HEAD", "GET"} and exchange.route is None:
            await exchange.answer(200, b"")
            return
        account = self._agents.metering.find(exchange.token)
        if account is None:
            await exchange.refuse(401, "authentication_error", "this job has ended")
            return
        try:
            body = await exchange.body()
            await self._route(exchange, account, body)
        except ClientGone:
            return
        except BodyTooLarge:
            await exchange.refuse(413, "request_too_large", "the request is larger than 64 MB")

    async def _route(self, exchange: Exchange, account: Account, body: bytes) -> None:
        if exchange.method != "POST" or exchange.route not in ROUTES:
            await exchange.refuse(404, "not_found_error", f"no route {exchange.route}")
        elif exchange.route == "/v1/messages/count_tokens":
            await self._count(exchange, account, body)
        else:
            await self._messages(exchange, account, body)

    async def _messages(self, exchange: Exchange, account: Account, body: bytes) -> None:
        try:
            head = read_head(body, exchange.headers)
            meter = await exchange.unless_gone(self._agents.metering.admit(account, head))
        except ValueError:
            await exchange.refuse(400, "invalid_request_error", "the body is no Messages request")
        except BudgetRefused as refused:
            account.refused = str(refused)
            # Claude Code shows a 402 as it is and does not ask again.
            await exchange.refuse(402, "billing_error", str(refused))
        except PolicyRefused as refused:
            await exchange.refuse(400, "invalid_request_error", str(refused))
        except WorkersError as wrong:
            await exchange.refuse(500, "api_error", str(wrong))
        else:
            passage = Passage(self._client(account), exchange, meter, self._agents.limits)
            await passage.run(body)

    async def _count(self, exchange: Exchange, account: Account, body: bytes) -> None:
        url = account.identity.base_url
        if url not in self._countless:
            reply = await exchange.unless_gone(self._ask_count(exchange, account, body))
            if reply is not None and reply.status_code not in NO_COUNT:
                await exchange.answer(reply.status_code, reply.content)
                return
            self._countless.add(url)
        await exchange.answer(200, json.dumps(count_estimate(body)).encode())

    async def _ask_count(
        self, exchange: Exchange, account: Account, body: bytes
    ) -> httpx.Response | None:
        try:
            async with asyncio.timeout(COUNT_SECONDS):
                return await self._client(account).post(
                    exchange.target(account), content=body, headers=exchange.onward(account)
                )
        except (TimeoutError, httpx.HTTPError):
            return None

    def _client(self, account: Account) -> httpx.AsyncClient:
        """Proxies of the environment count for remote hosts, never for this machine."""
        local = account.identity.loopback
        if local not in self._clients:
            self._clients[local] = httpx.AsyncClient(
                transport=self._agents.transport,
                trust_env=not local,
                timeout=httpx.Timeout(30.0, connect=10.0, read=None),
                limits=httpx.Limits(max_connections=CONNECTIONS, max_keepalive_connections=32),
            )
        return self._clients[local]


ROUTES = frozenset({"/v1/messages", "/v1/messages/count_tokens"})


class ClientGone(Exception):
    """The agent hung up."""


class BodyTooLarge(Exception):
    """More than any request of an agent."""


class Exchange:
    """One request of an agent and the way back."""

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.method: str = scope["method"]
        self.headers: Mapping[str, str] = {
            name.decode("latin-1").lower(): value.decode("latin-1")
            for name, value in scope["headers"]
        }
        _, mark, rest = scope["path"].partition("/v1/")
        self.route = f"/v1/{rest.rstrip('/')}" if mark else None
        self._query = scope.get("query_string", b"").decode("latin-1")
        self._receive = receive
        self._send = send

    @property
    def token(self) -> str:
        """The job's token, in whichever header it came."""
        scheme, _, token = self.headers.get("authorization", "").partition(" ")
        return token.strip() if scheme.lower() == "bearer" else self.headers.get("x-api-key", "")

    async def body(self) -> bytes:
        """The whole body. Raises ClientGone and BodyTooLarge."""
        parts, size = [], 0
        while True:
            message = await self._receive()
            if message["type"] == "http.disconnect":
                raise ClientGone
            part = message.get("body", b"")
            parts.append(part)
            size += len(part)
            if size > LARGEST_BODY:
                raise BodyTooLarge
            if not message.get("more_body"):
                return b"".join(parts)

    def target(self, account: Account) -> str:
        """Where it goes."""
        query = f"?{self._query}" if self._query else ""
        return f"{account.identity.base_url}{self.route}{query}"

    def onward(self, account: Account) -> dict[str, str]:
        """Headers for the provider: what came, without our token, with its key."""
        kept = {name: value for name, value in self.headers.items() if name not in NOT_SENT_ON}
        return {**kept, "accept-encoding": "identity", **account.identity.headers()}

    async def unless_gone(self, work: Awaitable[T]) -> T:
        """Do the work, but stop when the client hangs up: then ClientGone."""
        task = asyncio.ensure_future(work)
        gone = asyncio.ensure_future(self._wait_gone())
        try:
            await asyncio.wait({task, gone}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            gone.cancel()
            if not task.done():
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
        if task.cancelled():
            raise ClientGone
        return task.result()

    async def _wait_gone(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass

    async def start(self, status: int, headers: Mapping[str, str]) -> None:
        """Send status and headers."""
        raw = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
        await self._send({"type": "http.response.start", "status": status, "headers": raw})

    async def piece(self, body: bytes, *, more: bool = True) -> None:
        """Send a part of the body."""
        await self._send({"type": "http.response.body", "body": body, "more_body": more})

    async def answer(
        self, status: int, body: bytes, headers: Mapping[str, str] | None = None
    ) -> None:
        """Send a whole answer."""
        own = {"content-type": "application/json", "content-length": str(len(body))}
        await self.start(status, {**own, **(headers or {})})
        await self.piece(b"" if self.method == "HEAD" else body, more=False)

    async def refuse(self, status: int, kind: str, message: str) -> None:
        """Send an error as Anthropic words it."""
        await self.answer(status, error_body(kind, message))


def error_body(kind: str, message: str) -> bytes:
    """An error in Anthropic's envelope."""
    return json.dumps({"type": "error", "error": {"type": kind, "message": message}}).encode()


class Passage:
    """One admitted request on its way to the provider and back."""

    def __init__(
        self, client: httpx.AsyncClient, exchange: Exchange, meter: Meter, limits: Limits
    ) -> None:
        self._client = client
        self._exchange = exchange
        self._meter = meter
        self._idle = limits.idle
        self._first = limits.idle if meter.head.stream else limits.whole
        self._whole_limit = limits.whole
        self._host = httpx.URL(meter.account.identity.base_url).host

    async def run(self, body: bytes) -> None:
        """Pass it on; whatever happens, it is booked or released."""
        account = self._meter.account
        request = self._client.build_request(
            "POST",
            self._exchange.target(account),
            content=body,
            headers=self._exchange.onward(account),
        )
        try:
            response = await self._exchange.unless_gone(self._sent(request))
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

    async def _sent(self, request: httpx.Request) -> httpx.Response:
        try:
            async with asyncio.timeout(self._first):
                return await self._client.send(request, stream=True)
        except httpx.ConnectError as wrong:
            raise NotReached(f"{self._host} cannot be reached: {wrong}") from wrong
        except TimeoutError:
            raise self._silent(self._first) from None
        except httpx.HTTPError as wrong:
            raise self._broken(wrong) from wrong

    def _silent(self, seconds: float) -> Broken:
        why = f"{self._host} sent nothing for {seconds:.0f} s"
        self._meter.account.fail(why)
        return Broken(why)

    def _broken(self, wrong: httpx.HTTPError) -> Broken:
        why = f"{self._host} broke off ({type(wrong).__name__})"
        self._meter.account.trouble = why
        return Broken(why)

    async def _back(self, response: httpx.Response) -> None:
        """Send the answer back; it is booked or released then."""
        generation = response.headers.get("x-generation-id")
        await self._meter.note_generation(generation)
        media = response.headers.get("content-type", "").partition(";")[0].strip()
        if response.status_code == 200 and media == "text/event-stream":
            await self._streamed(response)
            return
        body = await self._exchange.unless_gone(self._read(response))
        if response.status_code >= 400:
            await self._refused(response, media, body)
        else:
            await self._whole(response, media, body)

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
            await self._exchange.unless_gone(self._pieces(response))
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
            await self._exchange.piece(raw)
            reading.feed(raw)
            if reading.progress != moved:
                moved, deadline = reading.progress, loop.time() + self._idle

    async def _refused(self, response: httpx.Response, media: str, body: bytes) -> None:
        status = response.status_code
        words = page_words(self._host, status, media, body)
        if status in BILLED_STATUS:
            await self._meter.settle("failed")
        else:
            await self._meter.release(words)
        self._meter.account.trouble = words
        back = sent_back(response)
        if media != "application/json":
            body, back = error_body("api_error", words), {"content-type": "application/json"}
        await self._exchange.answer(status, body, back | {"content-length": str(len(body))})

    async def _whole(self, response: httpx.Response, media: str, body: bytes) -> None:
        """An answer that was not streamed, or an error in the clothes of one."""
        reading = self._meter.reading
        reading.whole(body)
        passed = reading.passed()
        if media != "application/json" or passed.error or not passed.complete:
            words = passed.error or page_words(self._host, response.status_code, media, body)
            self._meter.account.trouble = words
            await self._meter.release(words)
            await self._exchange.refuse(400, "invalid_request_error", words)
            return
        await asyncio.shield(self._meter.settle())
        await self._exchange.answer(200, body, sent_back(response))


class NotReached(Exception):
    """No connection was made: nothing left."""


class Broken(Exception):
    """The connection broke before an answer came."""


class Stalled(Exception):
    """The provider holds the stream open and says nothing."""


def sent_back(response: httpx.Response) -> dict[str, str]:
    """The provider's headers, without those of the connection."""
    return {name: value for name, value in response.headers.items() if name not in NOT_SENT_BACK}


def page_words(host: str, status: int, media: str, body: bytes) -> str:
    """What the provider said, in one line."""
    if media == "application/json":
        with contextlib.suppress(ValueError):
            raw = json.loads(body)
            if isinstance(raw, dict):
                return f"{host}: {status} {error_words(raw)}"
    title = body[:4000].decode("utf-8", errors="replace").partition("<title>")[2]
    named = title.partition("</title>")[0].strip()[:120]
    return (
        f"{host} answered {status} with a page instead of an answer ({named or media or 'empty'})"
    )
