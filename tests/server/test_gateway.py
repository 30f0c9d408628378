"""The gateway: what passes, what is refused, what is booked when things break."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.engine.agent_kit import (
    MODEL,
    PROVIDER_KEY,
    World,
    rule,
    say,
    scripted,
    world,
)

from workers_tui.engine.agents.agent_account import Account, Billed
from workers_tui.engine.agents.agent_limits import Limits
from workers_tui.engine.board import Key, Topic
from workers_tui.engine.jobs.job import Job, JobKind, JobState
from workers_tui.engine.money import CostSource, to_usd
from workers_tui.engine.spending.ledger import Entry
from workers_tui.server import gateway
from workers_tui.server.gateway_passage import page_words
from workers_tui.simulator.scenario import Scenario

SECRET_TEXT = "the-body-nobody-logs"


@dataclass
class Caller:
    """An agent's side of the gateway."""

    one: World
    account: Account
    client: httpx.AsyncClient
    billed: list[Billed]

    def body(self, **more: Any) -> dict[str, Any]:
        messages = [{"role": "user", "content": f"hello {SECRET_TEXT}"}]
        base = {"model": MODEL, "max_tokens": 500, "messages": messages, "stream": True}
        return {**base, **more}

    async def post(self, path: str = "/v1/messages", **more: Any) -> httpx.Response:
        return await self.client.post(path, json=self.body(**more))

    async def booked(self) -> list[Entry]:
        return [json.loads(line) for line in self.one.home.usage_jsonl.read_text().splitlines()]


Calling = Callable[..., AbstractAsyncContextManager[Caller]]


@pytest.fixture
def calling(tmp_path: Path) -> Calling:
    @asynccontextmanager
    async def opened(scenario: Scenario | None = None, **more: Any) -> AsyncIterator[Caller]:
        async with world(tmp_path, scenario or scripted(rule({}, say("hi"))), **more) as one:
            now = one.engine.clock.now()
            job = await one.engine.jobs.create(
                Job("", JobKind.AGENT, JobState.RUNNING, "task", now, worker="glm")
            )
            billed: list[Billed] = []
            identity = one.engine.agents.identities.get("glm")
            account = one.engine.agents.metering.open(job, identity, billed.append)
            url = one.engine.board.get(Key(Topic.SERVER)).url.removesuffix("/mcp") + "/gateway"
            headers = {"authorization": f"Bearer {account.token}"}
            async with httpx.AsyncClient(
                base_url=url, headers=headers, trust_env=False, timeout=20
            ) as client:
                yield Caller(one, account, client, billed)
                await one.engine.agents.metering.close(account)

    return opened


async def test_bytes_pass_as_they_came(calling: Calling) -> None:
    async with calling(scripted(rule({}, say("hi \u2028 there"), split=3))) as caller:
        through = await caller.post()
        direct = await httpx.AsyncClient(trust_env=False).post(
            f"{caller.one.sim.anthropic_url}/v1/messages",
            json=caller.body(),
            headers={"authorization": f"Bearer {PROVIDER_KEY}"},
        )
        assert through.headers["content-type"] == direct.headers["content-type"]
        assert events(through.text) == events(direct.text)
        assert through.headers["request-id"]


def events(text: str) -> list[dict[str, Any]]:
    found = [json.loads(line[5:]) for line in text.split("\n") if line.startswith("data:")]
    for one in found:
        one.get("message", {}).pop("id", None)
    return found


async def test_the_provider_sees_its_key_and_never_the_token(calling: Calling) -> None:
    async with calling() as caller:
        await caller.client.post(
            "/v1/messages?beta=true",
            json=caller.body(),
            headers={"anthropic-beta": "one,two", "x-claude-code-session-id": "s9"},
        )
        seen = dict(caller.one.sim.seen[-1].headers)
        assert caller.one.sim.seen[-1].key == PROVIDER_KEY[:12]
        assert caller.account.token not in json.dumps([str(s) for s in caller.one.sim.seen])
        assert seen["anthropic-beta"] == "one,two"
        assert caller.one.sim.book.all()[0].session == "s9"


async def test_a_request_is_booked_to_the_token_and_the_cent(calling: Calling) -> None:
    async with calling() as caller:
        for stream in (True, False):
            assert (await caller.post(stream=stream)).status_code == 200
        bills = caller.one.sim.book.all()
        assert [one.usage.input for one in caller.billed] == [bill.prompt for bill in bills]
        assert [to_usd(one.cost.pico or 0) for one in caller.billed] == [b.cost for b in bills]
        assert [one.status for one in caller.billed] == ["ok", "ok"]


@pytest.mark.parametrize("style", ["start-zero", "output-only", "full"])
async def test_usage_is_right_in_every_style(calling: Calling, style: str) -> None:
    async with calling(scripted(rule({}, say("hi"), usage_style=style))) as caller:
        await caller.post()
        (bill,) = caller.one.sim.book.all()
        assert (caller.billed[0].usage.input, caller.billed[0].usage.output) == (
            bill.prompt,
            bill.completion,
        )


@pytest.mark.parametrize("token", ["x", "wrong", "\u00dc"])
async def test_a_wrong_token_opens_nothing(calling: Calling, token: str) -> None:
    async with calling() as caller:
        headers = [("authorization", f"Bearer {token}".encode("latin-1"))]
        raw = [(name.encode(), value) for name, value in headers]
        reply = await caller.client.post("/v1/messages", json=caller.body(), headers=raw)
        assert reply.status_code == 401
        assert not caller.one.sim.seen


async def test_the_token_dies_with_the_job(calling: Calling) -> None:
    async with calling() as caller:
        await caller.one.engine.agents.metering.close(caller.account)
        reply = await caller.post()
        assert reply.status_code == 401
        assert reply.json()["error"]["message"] == "this job has ended"
        assert not caller.one.sim.seen


async def test_the_cap_answers_402_with_our_words(calling: Calling) -> None:
    async with calling(daily_budget_usd=0.0001) as caller:
        reply = await caller.post()
        error = reply.json()["error"]
        assert (reply.status_code, error["type"]) == (402, "billing_error")
        assert "no room under the daily cap" in error["message"]
        assert not caller.one.sim.seen


async def test_a_model_that_is_not_allowed_is_named(calling: Calling) -> None:
    async with calling(agents={"allowed_models": [MODEL]}) as caller:
        reply = await caller.post(model="claude-opus-4-8")
        assert reply.status_code == 400
        assert MODEL in reply.json()["error"]["message"]
        assert (await caller.post(model=f"{MODEL}[1m]")).status_code == 200


async def test_the_start_of_a_session_is_answered_here(calling: Calling) -> None:
    async with calling() as caller:
        assert (await caller.client.head("")).status_code == 200
        assert not caller.one.sim.seen


async def test_tokens_are_counted_by_the_provider_or_estimated(
    calling: Calling, monkeypatch: pytest.MonkeyPatch
) -> None:
    for count, asked in (("yes", 2), ("404", 1), ("hang", 1)):
        monkeypatch.setattr(gateway, "COUNT_SECONDS", 0.2 if count == "hang" else 30.0)
        async with calling(scripted(count_tokens=count)) as caller:
            for _ in range(2):
                reply = await caller.post("/v1/messages/count_tokens?beta=true")
                assert reply.json()["input_tokens"] > 10
            assert len(caller.one.sim.seen) == asked, count
            assert caller.billed == []


@pytest.mark.parametrize(
    ("fault", "status", "words"),
    [
        ("529", 529, "Overloaded"),
        ("401", 401, "User not found."),
        ("html-502", 502, "127.0.0.1 answered 502 with a page instead of an answer (502 | Error)"),
        ("html-200", 400, "127.0.0.1 answered 200 with a page instead of an answer (200 | Error)"),
        ("error-200", 400, "Upstream error from SimHost: backend connection failed"),
    ],
)
async def test_refusals_come_back_in_words_and_cost_nothing(
    calling: Calling, fault: str, status: int, words: str
) -> None:
    async with calling(scripted(rule({}, fault=fault))) as caller:
        reply = await caller.post()
        assert (reply.status_code, reply.json()["error"]["message"]) == (status, words)
        assert caller.billed == []
        spend = await caller.one.engine.budget.refresh()
        assert (spend.held_pico, spend.spent_pico) == (0, 0)
        assert words.split(maxsplit=1)[0] in (caller.account.trouble or "")


def test_a_refusal_that_is_nested_too_deeply_is_told_as_a_page() -> None:
    said = page_words("api.example.com", 502, "application/json", b"[" * 100_000)
    assert said.startswith("api.example.com answered 502 with a page instead of an answer")


async def test_a_provider_that_is_not_there_is_named(calling: Calling) -> None:
    async with calling() as caller:
        await caller.one.sim.stop()
        reply = await caller.post()
        assert reply.status_code == 502
        assert "cannot be reached" in reply.json()["error"]["message"]
        assert (await caller.one.engine.budget.refresh()).held_pico == 0


async def test_a_cut_stream_is_an_estimate_and_its_repetition_a_second_call(
    calling: Calling,
) -> None:
    text = say("a rather long answer that is cut in its middle, somewhere around here")
    cut = rule({"stream": True}, text, fault="cut", prompt_tokens=1000)
    async with calling(scripted(cut, rule({}, text))) as caller:
        reply = await caller.post()
        assert "event: error" in reply.text
        assert (await caller.post(stream=False)).status_code == 200
        broken, whole = caller.billed
        assert (broken.status, broken.cost.source) == ("broken", CostSource.ESTIMATED)
        assert broken.usage.input == 1000
        assert 0 < broken.usage.output < whole.usage.output
        assert whole.status == "ok"


async def test_an_error_in_midstream_passes_and_is_booked_as_failed(calling: Calling) -> None:
    scenario = scripted(rule({}, say("hello there"), fault="error-midstream"))
    async with calling(scenario) as caller:
        reply = await caller.post()
        assert reply.text.count("event: error") == 1
        assert caller.billed[0].status == "failed"
        assert caller.account.trouble == "Overloaded"


async def test_a_client_that_hangs_up_closes_the_upstream(calling: Calling) -> None:
    scenario = scripted(rule({}, say("word " * 200), fault="stall", prompt_tokens=400))
    async with calling(scenario) as caller:
        async with caller.client.stream("POST", "/v1/messages", json=caller.body()) as reply:
            await anext(reply.aiter_bytes())
        (bill,) = await caller.one.sim.book.wait_for(1)
        await caller.account.idle.wait()
        assert bill.cancelled
        assert caller.billed[0].status == "cancelled"
        assert caller.billed[0].usage.input == 400
        assert (await caller.one.engine.budget.refresh()).held_pico == 0


async def test_a_client_that_hangs_up_before_the_answer_is_booked(calling: Calling) -> None:
    async with calling(scripted(rule({}, say("late"), header_delay=60))) as caller:
        with pytest.raises(httpx.ReadTimeout):
            await caller.client.post("/v1/messages", json=caller.body(), timeout=0.3)
        await caller.account.idle.wait()
        assert caller.billed[0].status == "cancelled"


async def test_a_stalled_stream_ends_with_words(calling: Calling) -> None:
    scenario = scripted(rule({}, say("hello there"), fault="stall-comments"))
    async with calling(scenario, limits=Limits(local=0.3)) as caller:
        reply = await caller.post()
        assert "event: error" in reply.text
        assert "in the middle of an answer" in (caller.account.failure or "")
        assert caller.billed[0].status == "stalled"


async def test_sixteen_streams_at_once_are_all_booked(calling: Calling) -> None:
    scenario = scripted(rule({}, say("word " * 50), tokens_per_second=400))
    async with calling(scenario, daily_budget_usd=None) as caller:
        replies = await asyncio.gather(*(caller.post() for _ in range(16)))
        assert {reply.status_code for reply in replies} == {200}
        assert len(caller.billed) == 16
        total = sum(one.cost.pico or 0 for one in caller.billed)
        assert to_usd(total) == caller.one.sim.book.cost


async def test_requests_wait_while_only_holds_stand_in_the_way(calling: Calling) -> None:
    scenario = scripted(rule({}, say("word " * 100), tokens_per_second=400))
    async with calling(scenario, daily_budget_usd=0.003) as caller:
        first, second = await asyncio.gather(caller.post(), caller.post())
        assert (first.status_code, second.status_code) == (200, 200)
        job = await caller.one.engine.job(caller.account.job.id)
        assert job.state is JobState.RUNNING


async def test_no_body_reaches_a_log(calling: Calling, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    scenario = scripted(rule({}, say(SECRET_TEXT), chunk_chars=99))
    async with calling(scenario) as caller:
        assert SECRET_TEXT in (await caller.post()).text
        await caller.post(model="")
    assert SECRET_TEXT not in caplog.text
    assert PROVIDER_KEY not in caplog.text


NONSENSE = [
    b"", b"[]", b"{", b'{"model": 7, "messages": []}', b'{"model": "m"}', b"NaN", b"\xff\xfe",
    b'{"model": "m", "messages": 5}', b"[" * 100_000, b'{"a":' * 100_000,
    b'{"model": "a\\nb", "messages": []}', b'{"model": "%s", "messages": []}' % (b"x" * 10_000),
]  # fmt: skip


@pytest.mark.parametrize("body", NONSENSE, ids=range(len(NONSENSE)))
async def test_nonsense_is_refused_before_anything_leaves(calling: Calling, body: bytes) -> None:
    async with calling() as caller:
        reply = await caller.client.post("/v1/messages", content=body)
        assert reply.status_code == 400
        assert reply.json()["error"]["type"] == "invalid_request_error"
        assert not caller.one.sim.seen


@pytest.mark.parametrize(
    "header",
    [
        (b"x-odd", b"\xe9\xff"),
        (b"anthropic-beta", "größe".encode()),
        (b"x-claude-code-agent-id", b"\xe9"),
    ],
)
async def test_odd_bytes_in_headers_pass_and_leave_no_hold(
    calling: Calling, header: tuple[bytes, bytes]
) -> None:
    async with calling() as caller:
        own = [(b"content-type", b"application/json"), header]
        body = json.dumps(caller.body()).encode()
        reply = await caller.client.post("/v1/messages", content=body, headers=own)
        assert reply.status_code == 200
        assert dict(caller.one.sim.seen[-1].headers)[header[0].decode()] == header[1].decode(
            "latin-1"
        )
        assert (await caller.one.engine.budget.refresh()).held_pico == 0


async def test_a_query_that_cannot_be_sent_leaves_no_hold(calling: Calling) -> None:
    async with calling() as caller:
        identity = caller.account.identity
        caller.account.identity = replace(identity, base_url=f"{identity.base_url}/{'b' * 2000}")
        reply = await raw_post(caller, f"/gateway/v1/messages?{'a' * 64_000}")
        assert b" 400 " in reply.splitlines()[0]
        assert b"nothing was sent" in reply
        assert not caller.one.sim.seen
        assert caller.account.in_flight == 0


async def raw_post(caller: Caller, target: str) -> bytes:
    """The answer to a request that no client library would send."""
    url = caller.client.base_url
    reader, writer = await asyncio.open_connection(url.host, url.port)
    body = json.dumps(caller.body()).encode()
    head = (
        f"POST {target} HTTP/1.1\r\nHost: {url.netloc.decode()}\r\nConnection: close\r\n"
        f"Authorization: Bearer {caller.account.token}\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    writer.write(head.encode() + body)
    reply = await reader.read()
    writer.close()
    return reply


async def test_a_body_that_comes_after_the_end_opens_nothing(calling: Calling) -> None:
    async with calling() as caller:
        half = asyncio.Event()

        async def slowly() -> AsyncIterator[bytes]:
            body = json.dumps(caller.body()).encode()
            yield body[:20]
            half.set()
            await caller.account.closed.wait()
            yield body[20:]

        asking = asyncio.create_task(caller.client.post("/v1/messages", content=slowly()))
        await half.wait()
        await caller.one.engine.agents.metering.close(caller.account)
        assert (await asking).status_code == 401
        assert not caller.one.sim.seen
        assert caller.billed == []


async def test_what_is_under_way_is_broken_off_and_booked_when_the_job_ends(
    calling: Calling,
) -> None:
    """Somebody outside the job's processes may hold a connection open."""
    scenario = scripted(rule({}, say("word " * 200), fault="stall", prompt_tokens=400))
    async with calling(scenario) as caller:
        async with caller.client.stream("POST", "/v1/messages", json=caller.body()) as reply:
            await anext(reply.aiter_bytes())
            async with asyncio.timeout(5):
                await caller.one.engine.agents.metering.close(caller.account)
        assert caller.billed[0].status == "cancelled"
        assert caller.billed[0].usage.input == 400


@pytest.mark.parametrize(
    "path", ["/v1/models", "/v1/messages/x", "/v1//messages", "/v1/messages%2f..%2fx", "/x"]
)
@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS"])
async def test_no_other_route_leads_to_the_provider(
    calling: Calling, method: str, path: str
) -> None:
    async with calling() as caller:
        reply = await caller.client.request(method, path, json=caller.body())
        assert reply.status_code == 404
        assert reply.json()["error"]["type"] == "not_found_error"
        bare = await caller.client.request(method, path, headers={"authorization": "Bearer x"})
        assert bare.status_code == 401
        assert not caller.one.sim.seen


class Odd(httpx.AsyncBaseTransport):
    """A provider that answers as it likes."""

    def __init__(self, *answer: Any) -> None:
        self.status, self.headers, self.body = answer

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        await request.aread()
        return httpx.Response(self.status, headers=self.headers, content=self.body)


def answering(caller: Caller, *answer: Any) -> None:
    caller.one.engine.agents.clients._transport = Odd(*answer)


JSON_TYPE = (b"content-type", b"application/json")


async def test_odd_bytes_in_an_answers_headers_pass(calling: Calling) -> None:
    async with calling() as caller:
        odd = (b"x-odd", "größe ∞".encode())
        answering(caller, 429, [JSON_TYPE, odd], b'{"error": {"message": "slow"}}')
        reply = await caller.post()
        assert reply.status_code == 429
        assert odd in [(name.lower(), value) for name, value in reply.headers.raw]


async def test_an_answer_without_a_reason_to_stop_is_booked_and_passes(calling: Calling) -> None:
    usage = {"input_tokens": 1000, "output_tokens": 10}
    message = {"type": "message", "content": [{"type": "text", "text": "hi"}], "usage": usage}
    async with calling() as caller:
        answering(caller, 200, [JSON_TYPE], json.dumps(message).encode())
        reply = await caller.post(stream=False)
        assert (reply.status_code, reply.json()) == (200, message)
        (billed,) = caller.billed
        assert (billed.usage.input, billed.usage.output) == (1000, 10)
        assert (billed.status, billed.cost.source) == ("incomplete", CostSource.ESTIMATED)


MESSAGE = {
    "type": "message",
    "model": MODEL,
    "content": [{"type": "text", "text": "hi"}],
    "stop_reason": "end_turn",
    "usage": {"input_tokens": 1000, "output_tokens": 10},
}
START = {"type": "message_start", "message": {**MESSAGE, "content": [], "stop_reason": None}}
DELTA = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": MESSAGE["usage"]}
STREAM = "".join(
    f"event: {one['type']}\ndata: {json.dumps(one)}\n\n"
    for one in (START, DELTA, {"type": "message_stop"})
).encode()


@pytest.mark.parametrize("kind", [None, "text/plain", "application/octet-stream", "text/json"])
@pytest.mark.parametrize("answer", [STREAM, json.dumps(MESSAGE).encode()], ids=["events", "json"])
async def test_an_answer_is_known_by_what_it_says_whatever_it_calls_itself(
    calling: Calling, kind: str | None, answer: bytes
) -> None:
    async with calling() as caller:
        answering(caller, 200, [] if kind is None else [("content-type", kind)], answer)
        reply = await caller.post()
        assert (reply.status_code, reply.content) == (200, answer)
        (billed,) = caller.billed
        assert (billed.usage.input, billed.usage.output, billed.status) == (1000, 10, "ok")


async def test_a_stream_may_come_under_any_status_of_success(calling: Calling) -> None:
    async with calling() as caller:
        answering(caller, 201, [("content-type", "text/event-stream")], STREAM)
        assert (await caller.post()).content == STREAM
        assert caller.billed[0].status == "ok"


@pytest.mark.parametrize("body", [b"", json.dumps(MESSAGE).encode()[:60]])
async def test_a_message_that_is_not_whole_is_an_estimate(calling: Calling, body: bytes) -> None:
    async with calling() as caller:
        answering(caller, 200, [JSON_TYPE], body)
        reply = await caller.post(stream=False)
        assert reply.status_code == 502
        (billed,) = caller.billed
        assert (billed.status, billed.cost.source) == ("broken", CostSource.ESTIMATED)
        assert (await caller.one.engine.budget.refresh()).held_pico == 0


async def test_an_output_that_was_never_counted_is_an_estimate(calling: Calling) -> None:
    scenario = scripted(rule({}, say("word " * 100), usage_style="start-only"))
    async with calling(scenario) as caller:
        await caller.post()
        (billed,) = caller.billed
        assert (billed.status, billed.cost.source) == ("ok", CostSource.ESTIMATED)
        assert billed.usage.output == 125


async def test_what_an_error_says_was_used_is_booked(calling: Calling) -> None:
    async with calling() as caller:
        said = {"type": "error", "error": {"message": "no"}, "usage": MESSAGE["usage"]}
        answering(caller, 200, [JSON_TYPE], json.dumps(said).encode())
        reply = await caller.post(stream=False)
        assert (reply.status_code, reply.json()["error"]["message"]) == (400, "no")
        assert (caller.billed[0].status, caller.billed[0].usage.input) == ("failed", 1000)


class Cut(httpx.AsyncByteStream):
    """A body that breaks off, or that stalls once the caller is to leave."""

    def __init__(self, *, stall: bool = False) -> None:
        self.stall = stall

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield b'{"error": {"mess'
        if self.stall:
            await asyncio.Event().wait()
        raise httpx.ReadError("gone")


class CutRefusal(httpx.AsyncBaseTransport):
    """A provider that refuses, and does not come to the end of its words."""

    def __init__(self, status: int, body: Cut) -> None:
        self.status, self.body = status, body

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        await request.aread()
        return httpx.Response(self.status, headers=[JSON_TYPE], stream=self.body)


@pytest.mark.parametrize("status", [400, 401, 429, 529])
async def test_a_refusal_costs_nothing_though_its_words_break_off(
    calling: Calling, status: int
) -> None:
    async with calling() as caller:
        caller.one.engine.agents.clients._transport = CutRefusal(status, Cut())
        reply = await caller.post()
        assert (reply.status_code, reply.json()["type"]) == (status, "error")
        assert str(status) in reply.json()["error"]["message"]
        assert caller.billed == []
        spend = await caller.one.engine.budget.refresh()
        assert (spend.held_pico, spend.spent_pico) == (0, 0)


async def test_a_refusal_costs_nothing_though_the_agent_leaves_before_its_end(
    calling: Calling,
) -> None:
    async with calling() as caller:
        caller.one.engine.agents.clients._transport = CutRefusal(429, Cut(stall=True))
        with pytest.raises(httpx.ReadTimeout):
            await caller.client.post("/v1/messages", json=caller.body(), timeout=0.3)
        await caller.account.idle.wait()
        assert caller.billed == []
        assert (await caller.one.engine.budget.refresh()).held_pico == 0


async def test_a_status_that_there_is_not_is_told_as_a_failure_on_the_way(calling: Calling) -> None:
    async with calling() as caller:
        answering(caller, 600, [JSON_TYPE], b'{"error": {"message": "odd"}}')
        reply = await caller.post()
        assert (reply.status_code, reply.json()["error"]["message"]) == (502, "odd")


@pytest.mark.parametrize("body", [b"<html>hello</html>", b"[" * 50_000, b"[]", b'{"ok": true}'])
async def test_a_count_that_is_none_is_estimated(calling: Calling, body: bytes) -> None:
    async with calling() as caller:
        answering(caller, 200, [(b"content-type", b"text/html")], body)
        reply = await caller.post("/v1/messages/count_tokens")
        assert reply.json()["input_tokens"] > 1
