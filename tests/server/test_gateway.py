"""The gateway: what passes, what is refused, what is booked when things break."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
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


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b'{"model": 7}'])
async def test_nonsense_is_refused_before_anything_leaves(calling: Calling, body: bytes) -> None:
    async with calling() as caller:
        reply = await caller.client.post("/v1/messages", content=body)
        assert reply.status_code == 400
        assert not caller.one.sim.seen
