"""The round trip of `finalize` tells in words what is wrong."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from workers_tui.engine.agents.identity import Identity
from workers_tui.engine.agents.identity_check import Checked, IdentityCheck
from workers_tui.simulator.scenario import Behaviour, Rule, Scenario
from workers_tui.simulator.simulator import Simulator

KEY = "sk-or-v1-" + "0123456789abcdef" * 4
MODELS = {"SONNET": "z-ai/glm-5.3", "HAIKU": "z-ai/glm-5.3-flash"}


async def check(scenario: Scenario, url: str = "", **changes: object) -> Checked:
    async with Simulator(scenario) as sim:
        base = Identity("one", Path("/nowhere"), url or sim.anthropic_url, KEY, models=MODELS)
        return await IdentityCheck(replace(base, **changes)).run()  # type: ignore[arg-type]


def words(checked: Checked) -> str:
    return "\n".join(one.text for one in checked.findings)


async def test_a_good_worker_passes_with_every_model() -> None:
    checked = await check(Scenario(keys=(KEY,)))
    assert checked.ok
    assert [one.ok for one in checked.findings] == [True, True, True]
    assert "z-ai/glm-5.3-flash answers" in words(checked)


async def test_half_a_key_is_suspected() -> None:
    checked = await check(Scenario(keys=(KEY,)), key=KEY[:40])
    assert not checked.ok
    assert "40 characters instead of 73: half a key?" in words(checked)


@pytest.mark.parametrize("count", ["404"])
async def test_a_missing_count_tokens_is_only_a_note(count: str) -> None:
    checked = await check(Scenario(count_tokens=count))
    assert checked.ok
    assert "count_tokens is not there (404)" in words(checked)


async def test_an_unknown_model_is_named_with_those_there_are() -> None:
    scenario = Scenario(rules=(Rule(Behaviour(fault="unknown-model"), {"model": "wrong"}),))
    checked = await check(scenario, models={"SONNET": "wrong"})
    assert not checked.ok
    assert "model wrong was refused, 400" in words(checked)
    assert "there are: deepseek/deepseek-v4-flash" in words(checked)


async def test_a_wrong_address_is_told() -> None:
    async with Simulator() as sim:
        gone = sim.anthropic_url
    checked = await check(Scenario(), url=gone)
    assert "cannot be reached" in words(checked)
    async with Simulator() as sim:
        wrong = await check(Scenario(), url=f"{sim.root}/nothing/here")
    assert "there is no Messages API" in words(wrong)


async def test_a_page_with_status_200_is_no_answer() -> None:
    checked = await check(Scenario(rules=(Rule(Behaviour(fault="html-200")),)))
    assert not checked.ok
    assert "text/html" in words(checked)


@pytest.mark.parametrize(
    ("body", "ok", "said"),
    [
        ("[" * 100_000, False, "is it the right one?"),
        ('{"type": "message", "content": [], "usage": "much"}', True, "tells no usage"),
    ],
)
async def test_an_answer_that_makes_no_sense_is_told(body: str, ok: bool, said: str) -> None:
    strange = httpx.MockTransport(lambda _: httpx.Response(200, text=body))
    identity = Identity("one", Path("/nowhere"), "https://api.example.com", KEY, models=MODELS)
    checked = await IdentityCheck(identity, strange).run()
    assert checked.ok == ok
    assert said in words(checked)


async def test_a_provider_without_usage_is_a_note() -> None:
    checked = await check(Scenario(default=Behaviour(usage_style="none")))
    assert checked.ok
    assert "cost will be unknown" in words(checked)


async def test_another_served_model_is_shown() -> None:
    checked = await check(Scenario(default=Behaviour(served="other/model")))
    assert "answers, served as other/model" in words(checked)


async def test_a_problem_on_disk_needs_no_request() -> None:
    checked = await check(Scenario(), problem="it has no key")
    assert words(checked) == "it has no key"
