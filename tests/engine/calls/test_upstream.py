"""Streams as providers really send them (cases C), read through an injected transport."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from decimal import Decimal

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.engine.call_kit import MODEL, USAGE, Gate, Provider, chunk, error, sse, stream

from workers_tui.engine.calls.answer import Answer, Reading
from workers_tui.engine.calls.deadline import Limits
from workers_tui.engine.calls.upstream import NeverSent, Upstream, UpstreamRequest
from workers_tui.engine.calls.upstream_errors import retry_hint
from workers_tui.engine.clock import SystemClock
from workers_tui.engine.errors import (
    Incomplete,
    KeyRejected,
    PaymentRequired,
    UpstreamFailed,
)
from workers_tui.engine.usage import Usage

URL = "https://example.test/api/v1/chat/completions"


async def read(
    response: httpx.Response | Exception, limits: Limits | None = None
) -> tuple[str, Answer]:
    """The text and what else is known of one response."""
    upstream = Upstream(SystemClock(), Provider([response]))
    reading = Reading()
    request = UpstreamRequest("acme", URL, {}, {"stream": True}, limits or Limits())
    texts: list[str] = []
    try:
        await upstream.stream(request, reading, texts.append)
    finally:
        await upstream.close()
    return "".join(texts), reading.answer()


async def test_text_usage_cost_and_model_come_out() -> None:
    usage = {
        **USAGE,
        "prompt_tokens_details": {"cached_tokens": 40, "cache_write_tokens": 10},
        "completion_tokens_details": {"reasoning_tokens": 5},
    }
    body = sse(
        chunk("Hel"), chunk("lo", finish="stop", provider="Acme"), {"usage": usage}, "[DONE]"
    )
    text, answer = await read(stream(body, x_generation_id="gen-9"))
    assert text == "Hello"
    # C9: cached tokens are part of the input, reasoning part of the output
    assert answer.usage == Usage(input=100, output=20, cached=40, cache_write=10, reasoning=5)
    assert answer.cost_usd == Decimal("0.001")
    assert (answer.model, answer.served_by) == (MODEL, "Acme")
    assert answer.generation_id == "gen-9"


async def test_comments_and_keepalives_carry_nothing() -> None:
    body = (
        b": OPENROUTER PROCESSING\n\n: again\n"
        + sse(chunk("a"))
        + b": more\ndata: : keepalive\n\n:\n\n"
        + sse(chunk("b", finish="stop"), "[DONE]")
    )
    assert (await read(stream(body)))[0] == "ab"


@pytest.mark.parametrize("finish", [None, ""])
async def test_a_stream_that_just_ends_is_incomplete(finish: str | None) -> None:
    with pytest.raises(Incomplete, match="broke off"):
        await read(stream(sse(chunk("part", finish=finish))))


async def test_a_finish_without_done_is_an_answer() -> None:
    text, answer = await read(stream(sse(chunk("all", finish="stop"))))
    assert (text, answer.finish_reason) == ("all", "stop")


async def test_usage_is_taken_wherever_it_stands_and_the_last_one_counts() -> None:
    late = {"prompt_tokens": 7, "completion_tokens": 3, "cost": "0.5"}
    _, answer = await read(
        stream(sse(chunk("x", usage=USAGE), chunk(finish="stop"), {"choices": [], "usage": late}))
    )
    assert answer.usage == Usage(input=7, output=3)
    assert answer.cost_usd == Decimal("0.5")


@pytest.mark.parametrize(
    "usage",
    [
        {"prompt_tokens": None, "completion_tokens": 2.0, "prompt_tokens_details": None},
        {"completion_tokens": 2, "prompt_tokens": -4, "cost": -1},
        {"completion_tokens": 2, "prompt_tokens": True, "cost": "free"},
        {"completion_tokens": 2, "prompt_tokens": 10**400, "cost": "1e999999"},
    ],
)
async def test_odd_numbers_count_as_nothing(usage: dict[str, object]) -> None:
    _, answer = await read(stream(sse(chunk("x", finish="stop", usage=usage))))
    assert answer.usage == Usage(output=2)
    assert answer.cost_usd is None


async def test_own_provider_keys_cost_what_that_provider_takes() -> None:
    usage = {**USAGE, "is_byok": True, "cost_details": {"upstream_inference_cost": 0.02}}
    _, answer = await read(stream(sse(chunk("x", finish="stop", usage=usage))))
    assert answer.cost_usd == Decimal("0.021")
    usage["is_byok"] = False
    _, answer = await read(stream(sse(chunk("x", finish="stop", usage=usage))))
    assert answer.cost_usd == Decimal("0.001")


HARD = "snow ☃ and\u2028line\u2029sep \x85 \x0b \x0c 🏳️‍🌈 end\r\nlast"


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
@pytest.mark.parametrize("newline", [b"\n", b"\r\n", b"\r"])
async def test_text_survives_any_split_and_line_end(size: int, newline: bytes) -> None:
    raw = json.dumps(chunk(HARD, finish="stop"), ensure_ascii=False).encode()
    body = b"data: " + raw + newline * 2 + b"data: [DONE]" + newline * 2
    pieces = [body[at : at + size] for at in range(0, len(body), size)]
    assert (await read(stream(*pieces)))[0] == HARD


@given(st.lists(st.text(max_size=30), max_size=8), st.integers(1, 40))
async def test_any_text_in_any_pieces_comes_out_as_it_went_in(texts: list[str], size: int) -> None:
    sent = [text.encode("utf-8", "ignore").decode() for text in texts]
    body = sse(*(chunk(text) for text in sent), chunk(finish="stop"), "[DONE]")
    pieces = [body[at : at + size] for at in range(0, len(body), size)]
    assert (await read(stream(*pieces)))[0] == "".join(sent)


async def test_several_data_lines_are_one_event() -> None:
    first, second = json.dumps(chunk("a", finish="stop")).split(", ", 1)
    body = f"data: {first},\ndata: {second}\n\ndata: [DONE]\n\n".encode()
    assert (await read(stream(body)))[0] == "a"


async def test_fields_of_an_unexpected_kind_do_not_lose_the_text() -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "image"}, {"type": "text", "text": "b"}]
    event = {"id": 5, "choices": [{"delta": {"content": parts}, "finish_reason": "stop"}]}
    assert (await read(stream(sse(event, "[DONE]"))))[0] == "ab"


async def test_something_that_is_not_json_is_a_failure_that_shows_it() -> None:
    upstream = Upstream(
        SystemClock(), Provider([stream(sse(chunk("kept"), "{broken", chunk("x")))])
    )
    texts: list[str] = []
    request = UpstreamRequest("acme", URL, {}, {})
    with pytest.raises(UpstreamFailed, match=r"something that is not JSON: '\{broken"):
        await upstream.stream(request, Reading(), texts.append)
    await upstream.close()
    assert texts == ["kept"]


DEEP = "[" * 100_000 + "]" * 100_000


@pytest.mark.parametrize(
    "event",
    [
        f'{{"choices": [], "usage": {DEEP}}}',
        f'{{"choices": [], "error": {DEEP}}}',
        f'{{"choices": {DEEP}}}',
        f'{{"other": {DEEP}}}',
        DEEP,
    ],
    ids=["usage", "error", "choices", "another field", "all of it"],
)
async def test_an_event_that_is_nested_too_deeply_ends_the_call_and_keeps_its_text(
    event: str,
) -> None:
    upstream = Upstream(SystemClock(), Provider([stream(sse(chunk("kept"), event, chunk("x")))]))
    texts: list[str] = []
    with pytest.raises(UpstreamFailed, match="something that is not JSON"):
        await upstream.stream(UpstreamRequest("acme", URL, {}, {}), Reading(), texts.append)
    await upstream.close()
    assert texts == ["kept"]


ODD = (b"9" * 5000, b"1e99999999999999999999", b'"\xff"', b"1e400")
"""What a part of a chunk may hold that JSON allows, or nearly, and no number or text takes."""


@pytest.mark.parametrize("odd", ODD, ids=["digits", "exponent", "bytes", "infinite"])
async def test_an_amount_beyond_all_reason_is_none_and_the_answer_stands(odd: bytes) -> None:
    usage = b'{"prompt_tokens": 7, "cost": %s, "completion_tokens": %s}' % (odd, odd)
    last = b'data: {"choices": [], "usage": %s}\n\ndata: [DONE]\n\n' % usage
    text, answer = await read(stream(sse(chunk("whole", finish="stop")) + last))
    assert (text, answer.cost_usd, answer.usage) == ("whole", None, Usage(7, 0))


@pytest.mark.parametrize(
    "error_object",
    [
        *(b'{"message": "slow down", "code": %s}' % odd for odd in ODD),
        b'{"message": "slow down", "code": "\xc2\xb2"}',
        b'{"message": "slow down", "metadata": {"raw": "\\ud800"}}',
        b'{"message": "slow down", "availability": {"retry_after": 1%s}}' % (b"0" * 400),
    ],
    ids=["digits", "exponent", "bytes", "infinite", "no digit", "half a character", "patience"],
)
@pytest.mark.parametrize("status", [200, 429])
async def test_an_error_with_odd_parts_is_a_failure_like_any_other(
    error_object: bytes, status: int
) -> None:
    body = b'{"error": %s}' % error_object
    with pytest.raises(UpstreamFailed) as whole:
        await read(
            httpx.Response(status, content=body, headers={"content-type": "application/json"})
        )
    with pytest.raises(UpstreamFailed, match="slow down"):
        await read(stream(sse(chunk("part")) + b"data: " + body + b"\n\n"))
    assert whole.value.retryable == (status == 429)


@pytest.mark.parametrize("piece", [b"x" * 65_536, b"data: x\n" * 8192], ids=["bytes", "lines"])
async def test_a_provider_that_never_ends_its_event_is_left(piece: bytes) -> None:
    endless = stream(sse(chunk("part")), *[piece] * 1000)
    with pytest.raises(Incomplete, match="acme sent more than 8 MB without an end"):
        await read(endless)


async def test_a_whole_answer_that_never_ends_is_left() -> None:
    endless = stream(*[b" " * 65_536] * 1000)
    endless.headers["content-type"] = "application/json"
    with pytest.raises(Incomplete, match="acme sent more than 8 MB without an end"):
        await read(endless)


async def test_reasons_that_no_line_can_show_do_not_count() -> None:
    odd = {"delta": {}, "finish_reason": "a\nb", "native_finish_reason": "x" * 1000}
    _, answer = await read(stream(sse(chunk("text"), {"choices": [odd]}, "[DONE]")))
    assert (answer.finish_reason, answer.native_finish_reason) == (None, None)


@pytest.mark.parametrize("body", [b"[1e99999999999999999999]", b"9" * 5000])
async def test_a_list_with_a_number_beyond_all_reason_is_a_failure(body: bytes) -> None:
    upstream = Upstream(SystemClock(), AlwaysSays(body))
    with pytest.raises(UpstreamFailed, match="acme sent"):
        await upstream.get_json("acme", URL, {})
    await upstream.close()


class AlwaysSays(httpx.AsyncBaseTransport):
    """Answers every request with the same bytes."""

    def __init__(self, body: bytes) -> None:
        self._body = body

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, content=self._body)


@pytest.mark.parametrize("status", [200, 400, 502])
async def test_a_body_that_is_nested_too_deeply_is_a_failure_like_any_other(status: int) -> None:
    with pytest.raises(UpstreamFailed):
        await read(httpx.Response(status, text=DEEP, headers={"content-type": "application/json"}))


@pytest.mark.parametrize(
    "event",
    [
        {"error": {"code": 429, "message": "slow down"}, "choices": []},
        {"error": {"code": "server_error", "message": "slow down"}},
        chunk("", finish="error", error={"code": 502, "message": "slow down"}),
        {"choices": [{"delta": {}, "finish_reason": "error", "error": {"message": "slow down"}}]},
    ],
)
async def test_an_error_inside_a_stream_is_said_and_not_sent_again(event: object) -> None:
    with pytest.raises(UpstreamFailed, match="slow down") as caught:
        await read(stream(sse(chunk("part"), event)))  # type: ignore[arg-type]
    assert not caught.value.retryable
    assert caught.value.generation_id == "gen-1"


async def test_an_answer_in_one_piece_is_read_too() -> None:
    message = {"role": "assistant", "content": "whole"}
    whole = {"model": MODEL, "choices": [{"message": message, "finish_reason": "stop"}]}
    text, answer = await read(httpx.Response(200, json={**whole, "usage": USAGE}))
    assert (text, answer.cost_usd) == ("whole", Decimal("0.001"))


async def test_an_error_object_with_status_200_is_a_failure() -> None:
    with pytest.raises(UpstreamFailed, match="the model is asleep"):
        await read(httpx.Response(200, json={"error": {"message": "the model is asleep"}}))


@pytest.mark.parametrize("status", [200, 404, 502])
async def test_a_web_page_is_told_in_a_line(status: int) -> None:
    page = "<html><head><title>Bad\n gateway</title><style>x{}</style></head><body>x</body></html>"
    with pytest.raises(UpstreamFailed, match="a web page instead of an answer: Bad gateway") as why:
        await read(httpx.Response(status, html=page))
    assert why.value.retryable == (status == 502)


async def test_what_the_router_and_the_provider_behind_it_say_is_shown() -> None:
    body = {
        "error": {
            "message": "Provider returned error",
            "code": 429,
            "metadata": {"raw": "the pool is dry", "provider_name": "BaseTen"},
        }
    }
    with pytest.raises(UpstreamFailed, match="429: Provider returned error; BaseTen: the pool is"):
        await read(error(429, body))


async def test_what_shut_a_model_out_is_named() -> None:
    body = {
        "error": {
            "message": "No endpoints found",
            "error_type": "not_found",
            "availability": {
                "code": "constraint_filtered",
                "retryable": False,
                "excluded_by": ["data_policy:training"],
                "fallback_models": ["a/b"],
            },
        }
    }
    with pytest.raises(UpstreamFailed, match=r"shut out by data_policy:training.*a/b") as caught:
        await read(error(503, body))
    assert not caught.value.retryable  # the provider's own word beats the status


@pytest.mark.parametrize(
    ("status", "message", "kind", "retryable"),
    [
        (400, "bad", UpstreamFailed, False),
        (401, "No auth", KeyRejected, False),
        (402, "needs credits", PaymentRequired, False),
        (403, "flagged", UpstreamFailed, False),
        (403, "Key limit exceeded (total limit)", PaymentRequired, False),
        (404, "No endpoints", UpstreamFailed, False),
        (408, "late", UpstreamFailed, True),
        (422, "odd", UpstreamFailed, False),
        (429, "slow", UpstreamFailed, True),
        (500, "ouch", UpstreamFailed, True),
        (503, "full", UpstreamFailed, True),
        (529, "full", UpstreamFailed, True),
    ],
)
async def test_refusals_by_status(
    status: int, message: str, kind: type[UpstreamFailed], retryable: bool
) -> None:
    with pytest.raises(UpstreamFailed, match=message.split(" (", maxsplit=1)[0]) as caught:
        await read(error(status, {"error": {"message": message, "code": status}}))
    assert type(caught.value) is kind
    assert caught.value.retryable == retryable
    assert caught.value.status == status


NOW = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)
RESET = {"x-ratelimit-reset": str(int((NOW.timestamp() + 30) * 1000))}


@pytest.mark.parametrize(
    ("body", "headers", "seconds"),
    [
        ({}, {}, None),
        ({}, {"retry-after": "7"}, 7),
        ({}, {"Retry-After": "Sun, 29 Nov 2026 12:00:20 GMT"}, 20),
        ({}, {"retry-after": "Sun, 29 Nov 2026 11:00:00 GMT"}, 0),
        ({}, {"retry-after": "soon"}, None),
        ({}, {"retry-after": "Mon, 01 Jan 2020 00:00:00 +99999999999999"}, None),
        ({}, {"retry-after": "Mon, 01 Jan 99999999999 00:00:00 GMT"}, None),
        ({}, RESET, 30),
        ({"metadata": {"headers": {"X-RateLimit-Reset": RESET["x-ratelimit-reset"]}}}, {}, 30),
        ({"metadata": {"headers": "none"}, "availability": []}, {"retry-after": "7"}, 7),
        ({"availability": {"retry_after": 3}}, {"retry-after": "7", **RESET}, 3),
        ({}, {"retry-after": "7", **RESET}, 7),
    ],
)
def test_hints_in_the_order_of_trust(
    body: dict[str, object], headers: dict[str, str], seconds: float | None
) -> None:
    assert retry_hint(body, headers, NOW) == seconds


@pytest.mark.parametrize("broken", [httpx.ConnectError("refused"), httpx.ConnectTimeout("slow")])
async def test_no_connection_means_nothing_was_sent(broken: Exception) -> None:
    with pytest.raises(NeverSent, match=r"acme cannot be reached at example\.test") as caught:
        await read(broken)
    assert caught.value.retryable


@pytest.mark.parametrize("broken", [httpx.ReadError("reset"), httpx.RemoteProtocolError("gone")])
async def test_a_connection_lost_before_the_answer_may_be_tried_again(broken: Exception) -> None:
    with pytest.raises(UpstreamFailed, match="without an answer") as caught:
        await read(broken)
    assert caught.value.retryable
    assert not isinstance(caught.value, NeverSent)


async def test_a_connection_lost_within_the_answer_is_incomplete() -> None:
    with pytest.raises(Incomplete, match="in the middle"):
        await read(stream(sse(chunk("part")), httpx.ReadError("reset")))


async def test_comments_do_not_keep_a_silent_provider_alive() -> None:
    with pytest.raises(UpstreamFailed, match=r"sent no answer within 0\.05 s"):
        await read(stream(b": still there\n\n", Gate()), Limits(first=0.05))


async def test_silence_between_events_ends_the_reading() -> None:
    with pytest.raises(UpstreamFailed, match=r"sent nothing for 0\.05 s"):
        await read(stream(sse(chunk("part")), Gate()), Limits(idle=0.05))


async def test_an_answer_that_never_ends_is_ended() -> None:
    class Dripping(httpx.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            while True:
                yield sse(chunk("x"))
                await asyncio.sleep(0.001)

    response = httpx.Response(200, headers={"content-type": "text/event-stream"}, stream=Dripping())
    with pytest.raises(UpstreamFailed, match=r"not finished after 0\.1 s"):
        await read(response, Limits(total=0.1))


async def test_the_end_of_the_answer_is_not_waited_for_for_long() -> None:
    gate = Gate()
    async with asyncio.timeout(2):
        text, _ = await read(stream(sse(chunk("all", finish="stop"), "[DONE]"), gate))
    assert text == "all"
    assert gate.closed.is_set()


async def test_a_connection_serves_one_call_after_another() -> None:
    """What follows the end is read too: a body left half read would cost the connection."""
    ports: list[int] = []
    body = sse(chunk("x", finish="stop"), "[DONE]")

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        ports.append(writer.get_extra_info("peername")[1])
        while head := await reader.readuntil(b"\r\n\r\n"):
            length = int(head.lower().partition(b"content-length:")[2].split()[0])
            await reader.readexactly(length)
            writer.write(
                b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n"
                b"transfer-encoding: chunked\r\n\r\n%x\r\n%s\r\n" % (len(body), body)
            )
            await writer.drain()
            await asyncio.sleep(0)
            writer.write(b"0\r\n\r\n")

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    upstream = Upstream(SystemClock())
    for _ in range(3):
        await upstream.stream(UpstreamRequest("acme", url, {}, {}), Reading(), lambda _: None)
    await upstream.close()
    server.close()
    assert len(ports) == 1


async def test_a_cancelled_reader_closes_the_connection() -> None:
    gate = Gate()
    task = asyncio.create_task(read(stream(sse(chunk("part")), gate)))
    await gate.reached.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert gate.closed.is_set()


async def test_an_answer_from_the_routers_cache_is_known_as_one() -> None:
    zero = {"prompt_tokens": 0, "completion_tokens": 0}
    _, answer = await read(
        stream(
            sse(chunk("old", finish="stop", usage=zero), "[DONE]"),
            x_openrouter_cache_status="HIT",
        )
    )
    assert answer.cached


def test_proxies_of_the_environment_are_for_remote_hosts_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[tuple[bool, object]] = []
    real = httpx.AsyncClient

    def noted(**options: object) -> httpx.AsyncClient:
        seen.append((bool(options["trust_env"]), options["transport"]))
        return real(**options)  # type: ignore[arg-type]

    monkeypatch.setattr(httpx, "AsyncClient", noted)
    upstream = Upstream(SystemClock())
    for url in ("http://127.0.0.1:1/x", "http://localhost:1/x", "http://[::1]:1/x", URL):
        upstream.client(url)
    assert seen == [(False, None), (True, None)]
