"""The chat side: shapes of answers and errors, and a bill for every one."""

from __future__ import annotations

from collections.abc import AsyncIterator
from decimal import Decimal
from typing import Any

import httpx
import pytest
from httpx_sse import EventSource

from workers_tui.simulator.scenario import Behaviour, Rule, Scenario
from workers_tui.simulator.simulator import Simulator

MODEL = "deepseek/deepseek-v4-flash"


@pytest.fixture
async def sim() -> AsyncIterator[Simulator]:
    async with Simulator() as one:
        yield one


@pytest.fixture
async def client() -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(headers={"authorization": "Bearer k"}, trust_env=False) as one:
        yield one


def body(task: str = "Summarise", model: str = MODEL, **more: Any) -> dict[str, Any]:
    return {
        "model": model,
        "stream": True,
        "messages": [{"role": "user", "content": task}],
        **more,
    }


async def events(client: httpx.AsyncClient, sim: Simulator, **ask: Any) -> list[dict[str, Any]]:
    async with client.stream("POST", f"{sim.url}/chat/completions", json=body(**ask)) as reply:
        found = [event async for event in EventSource(reply).aiter_sse()]
    return [event.json() for event in found if event.data != "[DONE]"]


def text(chunks: list[dict[str, Any]]) -> str:
    return "".join(c["delta"]["content"] for one in chunks for c in one["choices"])


async def test_the_last_chunk_carries_the_usage_that_the_book_holds(
    client: httpx.AsyncClient, sim: Simulator
) -> None:
    usage = (await events(client, sim))[-1]["usage"]
    (bill,) = sim.book.all()
    assert (usage["prompt_tokens"], usage["completion_tokens"]) == (bill.prompt, bill.completion)
    assert Decimal(str(usage["cost"])) == bill.cost
    assert bill.cost == (bill.prompt * Decimal("0.105") + bill.completion * Decimal("0.21")) / 10**6


@pytest.mark.parametrize(
    "how",
    [
        "split=1",
        "line_end=\r\n",
        "data_lines=true",
        "comments=2,comment_every=1",
        "comments=2,comment_every=1,comment_blank=false",
        "raw_unicode=false",
    ],
)
async def test_the_text_is_the_same_in_every_form(
    client: httpx.AsyncClient, sim: Simulator, how: str
) -> None:
    said = "ein\u2028zwei drei \N{SNOWMAN} vier"
    chunks = await events(client, sim, task=f"[[sim: text={said},chunk_chars=3,{how}]]")
    assert text(chunks) == said


async def test_max_tokens_end_the_answer(client: httpx.AsyncClient, sim: Simulator) -> None:
    chunks = await events(client, sim, task="[[sim: text=" + "x" * 400 + "]]", max_tokens=20)
    assert chunks[-2]["choices"][0]["finish_reason"] == "length"
    assert sim.book.all()[0].completion == 20


async def test_a_hang_up_is_billed_for_what_was_sent(
    client: httpx.AsyncClient, sim: Simulator
) -> None:
    task = "[[sim: text=" + "x" * 400 + ",fault=stall,at=0.5,chunk_chars=4]]"
    async with client.stream("POST", f"{sim.url}/chat/completions", json=body(task=task)) as reply:
        generation = reply.headers["x-generation-id"]
        source = EventSource(reply).aiter_sse()
        for _ in range(50):
            await anext(source)
    (bill,) = await sim.book.wait_for(1)
    assert (bill.id, bill.cancelled, bill.completion) == (generation, True, 50)


async def test_generation_is_unknown_at_first(client: httpx.AsyncClient, sim: Simulator) -> None:
    await events(client, sim)
    (bill,) = sim.book.all()
    first = await client.get(f"{sim.url}/generation", params={"id": bill.id})
    second = await client.get(f"{sim.url}/generation", params={"id": bill.id})
    assert first.status_code == 404
    assert Decimal(str(second.json()["data"]["total_cost"])) == bill.cost


@pytest.mark.parametrize(
    ("fault", "status"),
    [("401", 401), ("raw-429", 429), ("html-502", 502), ("html-200", 200), ("privacy-404", 404)],
)
async def test_errors_before_the_stream_are_not_billed(
    client: httpx.AsyncClient, sim: Simulator, fault: str, status: int
) -> None:
    reply = await client.post(f"{sim.url}/chat/completions", json=body(model=f"sim/{fault}"))
    assert reply.status_code == status
    assert sim.book.all() == []


async def test_an_error_in_midstream_costs_nothing(
    client: httpx.AsyncClient, sim: Simulator
) -> None:
    chunks = await events(client, sim, model=f"{MODEL}#error-midstream")
    assert chunks[-1]["error"]["code"] == 502
    assert sim.book.all()[0].cost == 0


async def test_a_cut_breaks_the_connection(client: httpx.AsyncClient, sim: Simulator) -> None:
    with pytest.raises(httpx.RemoteProtocolError):
        await events(client, sim, model=f"{MODEL}#cut")
    assert sim.book.all()[0].cancelled


async def test_a_rule_can_speak_twice_and_then_be_silent(client: httpx.AsyncClient) -> None:
    rules = (Rule(Behaviour(fault="503", retry_after="7"), {"model": "flash"}, times=2),)
    async with Simulator(Scenario(rules=rules)) as sim:
        url = f"{sim.url}/chat/completions"
        replies = [await client.post(url, json=body()) for _ in range(3)]
    assert [one.status_code for one in replies] == [503, 503, 200]
    assert replies[0].headers["retry-after"] == "7"


async def test_the_next_model_of_the_list_answers_when_the_first_fails(
    client: httpx.AsyncClient, sim: Simulator
) -> None:
    await events(
        client, sim, model=f"{MODEL}#503", models=[f"{MODEL}#503", "qwen/qwen3-coder-next"]
    )
    assert sim.book.all()[0].model == "qwen/qwen3-coder-next"


async def test_a_limit_ends_with_payment_required(client: httpx.AsyncClient) -> None:
    async with Simulator(Scenario(limit=Decimal("0.00001"))) as sim:
        await events(client, sim)
        reply = await client.post(f"{sim.url}/chat/completions", json=body())
        key = (await client.get(f"{sim.url}/key")).json()["data"]
    assert reply.status_code == 402
    assert key["limit_remaining"] == 0


async def test_no_key_and_a_strange_key_are_401() -> None:
    async with Simulator(Scenario(keys=("right",))) as sim, httpx.AsyncClient() as client:
        url = f"{sim.url}/chat/completions"
        bare = await client.post(url, json=body())
        wrong = await client.post(url, json=body(), headers={"authorization": "Bearer wrong"})
        right = await client.post(url, json=body(), headers={"authorization": "Bearer right"})
    assert [bare.status_code, wrong.status_code, right.status_code] == [401, 401, 200]


async def test_it_serves_as_an_asgi_application() -> None:
    sim = Simulator()
    transport = httpx.ASGITransport(app=sim.app)
    async with httpx.AsyncClient(transport=transport, base_url="http://sim") as client:
        models = (await client.get("/api/v1/models")).json()["data"]
    assert models[0]["pricing"]["prompt"] == "0.000000105"
