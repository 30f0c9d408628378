"""The Messages side: events, tools, usage in every style, and the book."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from httpx_sse import EventSource

from workers_tui.simulator.scenario import CHAT_ONLY, Behaviour, Rule, Scenario, scenario_of
from workers_tui.simulator.simulator import Simulator

HEADERS = {"x-api-key": "k", "x-claude-code-session-id": "s1"}


def body(content: Any = "hello", **more: Any) -> dict[str, Any]:
    messages = [{"role": "user", "content": content}]
    return {
        "model": "z-ai/glm-5.3",
        "max_tokens": 999,
        "messages": messages,
        "stream": True,
        **more,
    }


async def events(sim: Simulator, raw: dict[str, Any]) -> list[dict[str, Any]]:
    async with (
        httpx.AsyncClient(headers=HEADERS, trust_env=False) as client,
        client.stream("POST", f"{sim.anthropic_url}/v1/messages?beta=true", json=raw) as reply,
    ):
        return [event.json() async for event in EventSource(reply).aiter_sse()]


async def test_a_tool_is_called_and_its_result_answered() -> None:
    scenario = scenario_of(
        {
            "rules": [
                {"when": {"answers": "Read"}, "behaviour": {"text": "it says: 42"}},
                {
                    "when": {"user": "read", "tool": "Read"},
                    "behaviour": {"content": [{"tool": "Read", "input": {"file_path": "/a"}}]},
                },
            ]
        }
    )
    async with Simulator(scenario) as sim:
        first = await events(sim, body("read /a", tools=[{"name": "Read"}]))
        block = next(e["content_block"] for e in first if e["type"] == "content_block_start")
        answer = {"type": "tool_result", "tool_use_id": block["id"], "content": "42"}
        turns = [
            {"role": "user", "content": "read /a"},
            {"role": "assistant", "content": [{**block, "input": {"file_path": "/a"}}]},
            {"role": "user", "content": [answer]},
        ]
        second = await events(sim, body(messages=turns))
    assert first[-2]["delta"]["stop_reason"] == "tool_use"
    said = "".join(e["delta"]["text"] for e in second if e["type"] == "content_block_delta")
    assert said == "it says: 42"


async def test_later_requests_of_a_session_read_the_cache() -> None:
    async with Simulator() as sim:
        await events(sim, body())
        await events(sim, body())
        first, second = sim.book.all()
    assert (first.cached, second.cached) == (0, second.prompt - 1)
    assert second.session == "s1"
    assert second.cost < first.cost


@pytest.mark.parametrize(
    ("style", "start", "end"),
    [
        ("full", True, True),
        ("start-zero", False, True),
        ("output-only", True, False),
        ("start-only", True, None),
        ("none", None, None),
    ],
)
async def test_usage_comes_in_every_style(style: str, start: bool | None, end: bool | None) -> None:
    async with Simulator(Scenario(default=Behaviour(usage_style=style))) as sim:
        found = await events(sim, body())
    first = found[0]["message"].get("usage")
    last = found[-2].get("usage")
    assert (None if first is None else first["input_tokens"] > 0) is start
    assert (None if last is None else "input_tokens" in last) is end


async def test_errors_wear_anthropics_envelope() -> None:
    rule = Rule(Behaviour(fault="529"))
    async with Simulator(Scenario(rules=(rule,))) as sim, httpx.AsyncClient() as client:
        reply = await client.post(f"{sim.url}/messages", json=body(), headers=HEADERS)
        error = reply.json()
    assert (reply.status_code, error["error"]["type"]) == (529, "overloaded_error")


async def test_count_tokens_may_be_missing() -> None:
    async with Simulator(Scenario(count_tokens="404")) as sim, httpx.AsyncClient() as client:
        url = f"{sim.url}/messages/count_tokens"
        reply = await client.post(url, json=body(), headers=HEADERS)
        head = await client.head(sim.anthropic_url)
    assert (reply.status_code, head.status_code) == (404, 200)


async def test_max_tokens_cut_the_answer() -> None:
    async with Simulator(Scenario(default=Behaviour(text="x" * 100))) as sim:
        found = await events(sim, body(max_tokens=5))
        (bill,) = sim.book.all()
    assert found[-2]["delta"]["stop_reason"] == "max_tokens"
    assert bill.completion == 5


async def test_what_a_rule_caught_can_be_said() -> None:
    content = [{"tool": "Read", "input": {"file_path": "<<path>>"}}]
    raw = {"rules": [{"when": {"user": r"read (?P<path>\S+)"}, "behaviour": {"content": content}}]}
    async with Simulator(scenario_of(raw)) as sim:
        found = await events(sim, body('read /a"b'))
    said = "".join(e["delta"]["partial_json"] for e in found if e["type"] == "content_block_delta")
    assert said == '{"file_path": "/a\\"b"}'


@pytest.mark.parametrize("fault", sorted(CHAT_ONLY))
async def test_a_fault_that_it_does_not_have_is_refused(fault: str) -> None:
    async with (
        Simulator(Scenario(default=Behaviour(fault=fault))) as sim,
        httpx.AsyncClient(headers=HEADERS, trust_env=False) as client,
    ):
        reply = await client.post(f"{sim.anthropic_url}/v1/messages", json=body())
    assert reply.status_code == 400
    assert fault in reply.json()["error"]["message"]


@pytest.mark.parametrize(
    "raw",
    [
        b"[" * 100_000, b"5", b'{"model": "m", "messages": 5}', b"\xff",
        b'{"model": "m", "messages": [{"role": "user", "content": 7}], "max_tokens": [1]}',
        b'{"model": "m", "messages": [{"role": "user", "content": []}], "tools": 5}',
    ],
    ids=range(6),
)  # fmt: skip
async def test_nonsense_is_answered(raw: bytes) -> None:
    async with Simulator() as sim, httpx.AsyncClient(headers=HEADERS, trust_env=False) as client:
        reply = await client.post(f"{sim.anthropic_url}/v1/messages", content=raw)
    assert reply.status_code in {200, 400}
    assert reply.json()["type"] in {"message", "error"}
