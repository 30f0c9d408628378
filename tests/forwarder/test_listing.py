"""The tool list that the client sees: at once, and then as the server has it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.forwarder.conftest import Forward, Serve, set_tiers_of_server
from tests.server.fake_engine import FakeEngine

from workers_tui.engine.board import Key, Topic
from workers_tui.engine.settings.settings import Settings, Tier
from workers_tui.forwarder.listing import Listing
from workers_tui.home.places import Home


def at(home: Home) -> dict[str, str]:
    """The environment of a client that has this home."""
    return {"WORKERS_HOME": str(home.config)}


def names(tools: list[dict[str, Any]]) -> set[str]:
    return {tool["name"] for tool in tools}


def tier_text(tools: list[dict[str, Any]]) -> str:
    (delegate,) = [tool for tool in tools if tool["name"] == "delegate"]
    return str(delegate["inputSchema"]["properties"]["tier"]["description"])


@pytest.mark.parametrize(
    ("models", "environ", "mode"),
    [
        ({}, {}, "auto"),
        ({"delegation": "ondemand"}, {}, "ondemand"),
        ({"delegation": "ondemand"}, {"WORKERS_DELEGATION": "auto"}, "ondemand"),
        ({"delegation": "auto"}, {"MODEL_ORCHESTRATION_DELEGATION": "0"}, "off"),
        ({"delegation": ["off"]}, {}, "auto"),
    ],
)
def test_the_strictest_mode_of_file_and_environment_counts(
    home: Home, models: dict[str, Any], environ: dict[str, str], mode: str
) -> None:
    home.models_json.write_text(json.dumps(models))
    tools = Listing({}, environ | at(home)).tools()
    assert ("delegate" in names(tools)) == (mode != "off")
    if mode != "off":
        only = next(one for one in tools if one["name"] == "delegate")["description"]
        assert only.startswith("Only when") == (mode == "ondemand")


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "null", '{"tiers": 5}', '{"tiers": {"a": 1}}', "[" * 100_000]
)
def test_settings_that_mean_nothing_still_give_a_list(home: Home, text: str) -> None:
    home.models_json.write_text(text)
    assert len(Listing({}, at(home)).tools()) == 10


def test_before_the_first_start_the_shipped_tiers_are_named(home: Home) -> None:
    assert "fast (" in tier_text(Listing({}, at(home)).tools())


def test_another_config_file_is_read(home: Home) -> None:
    other = home.state / "other.json"
    other.write_text('{"tiers": {"mine": {"model": "m"}}}')
    assert tier_text(Listing({"--config": str(other)}, at(home)).tools()) == "auto, mine"


async def test_the_list_is_the_servers_before_and_after_connecting(
    forward: Forward, serve: Serve, home: Home
) -> None:
    set_tiers_of_server(home)
    client = await forward()
    before = (await client.ask(1, "tools/list"))["result"]
    await serve()
    await client.greet()
    await client.call(2, "worker_stats")
    after = (await client.ask(3, "tools/list"))["result"]
    assert before == after
    assert not [one for one in client.seen if "list_changed" in str(one.get("method"))]


async def test_a_server_with_other_settings_is_announced(
    forward: Forward, serve: Serve, home: Home
) -> None:
    home.models_json.write_text(json.dumps({"tiers": {"only": {"model": "m"}}}))
    client = await forward()
    assert tier_text((await client.ask(1, "tools/list"))["result"]["tools"]) == "auto, only"
    await serve()
    await client.greet()
    await client.notice("notifications/tools/list_changed")
    listed = (await client.ask(2, "tools/list"))["result"]["tools"]
    assert tier_text(listed) == "auto, fast (summaries), code (code)"


async def test_a_change_of_mode_reaches_the_client(
    forward: Forward, serve: Serve, engine: FakeEngine, home: Home
) -> None:
    set_tiers_of_server(home)
    await serve()
    client = await forward()
    await client.greet()
    assert "delegate" in names((await client.ask(1, "tools/list"))["result"]["tools"])
    await client.call(2, "worker_stats")
    seen = len(client.seen)
    engine.config.settings = Settings(tiers={"fast": Tier(model="m")}, delegation="off")
    engine.board.put(Key(Topic.CONFIG), "changed")
    await client.notice("notifications/tools/list_changed", seen)
    assert "delegate" not in names((await client.ask(3, "tools/list"))["result"]["tools"])
    refused = await client.call(4, "delegate", {"task": "t"})
    assert "delegation is off" in refused["result"]["content"][0]["text"]


async def test_a_session_that_is_off_stays_off_whatever_the_server_says(
    forward: Forward, serve: Serve
) -> None:
    await serve()
    client = await forward(WORKERS_DELEGATION="off")
    hello = await client.greet()
    assert "turned delegation off" in hello["result"]["instructions"]
    refused = await client.call(1, "delegate", {"task": "t"})
    assert refused["result"]["isError"]
    assert "delegate" not in names((await client.ask(2, "tools/list"))["result"]["tools"])
