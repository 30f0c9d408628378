"""The tool list: short, and the same wherever it is said."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.server.conftest import Connect
from tests.server.fake_engine import FakeEngine

from workers_tui.forwarder import tool_list
from workers_tui.home.assets import asset
from workers_tui.server import schemas

EVERY = {
    "delegate",
    "delegate_batch",
    "worker_stats",
    "delegate_start",
    "delegate_followup",
    "delegate_status",
    "delegate_result",
    "delegate_cancel",
    "delegate_list",
    "worker_models",
}


def shipped_tiers() -> list[tuple[str, str]]:
    tiers = json.loads(asset("models.json").read_text())["tiers"]
    return [(name, tier.get("use", "")) for name, tier in tiers.items()]


def test_the_forwarders_file_is_the_generated_one() -> None:
    assert Path(tool_list.FILE).read_text(encoding="utf-8") == schemas.generated()


@pytest.mark.parametrize("mode", schemas.MODES)
def test_the_whole_list_stays_under_1500_tokens(mode: str) -> None:
    tools = tool_list.fill(schemas.tool_list(mode), shipped_tiers())
    # Three characters a token is less than any tokenizer gets out of JSON like this.
    assert len(json.dumps(tools, separators=(",", ":"))) / 3 < 1500


def test_every_tool_is_there_and_off_hides_the_delegating_ones() -> None:
    assert {tool["name"] for tool in schemas.tool_list("auto")} == EVERY
    assert {tool["name"] for tool in schemas.tool_list("off")} == EVERY - schemas.DELEGATING


def test_only_tools_that_change_nothing_are_called_read_only() -> None:
    marked = {
        tool["name"]
        for tool in schemas.tool_list("auto")
        if tool.get("annotations", {}).get("readOnlyHint")
    }
    assert marked == {
        "delegate_status",
        "delegate_result",
        "delegate_list",
        "worker_stats",
        "worker_models",
    }


def test_no_text_is_longer_than_clients_show() -> None:
    for mode in schemas.MODES:
        assert len(schemas.INSTRUCTIONS[mode]) < 2048
        assert all(len(tool["description"]) < 2048 for tool in schemas.tool_list(mode))


def test_a_tier_with_a_hostile_name_stays_a_text() -> None:
    (tool,) = [
        tool
        for tool in tool_list.fill(schemas.tool_list("auto"), [('a"b\\', "x\ny" * 100)])
        if tool["name"] == "delegate"
    ]
    said: Any = tool["inputSchema"]["properties"]["tier"]["description"]
    assert said.startswith('auto, a"b\\ (x')
    assert len(said) < 100


@pytest.mark.parametrize("era", ["legacy", "2026-07-28"])
async def test_the_server_says_the_list_of_the_file(
    connect: Connect, engine: FakeEngine, era: str
) -> None:
    async with connect(era) as client:
        listed = await client.list_tools()
    tiers = [(name, tier.use) for name, tier in engine.config.settings.tiers.items()]
    expected = tool_list.fill(tool_list.load()["tools"]["auto"], tiers)
    said = [tool.model_dump(by_alias=True, exclude_none=True) for tool in listed.tools]
    assert said == expected
