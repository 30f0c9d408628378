"""docs/examples agree with what `connect` writes and with what the engine reads."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from workers_tui.engine.settings.settings import parse
from workers_tui.home.claude_settings import (
    HOOKS,
    PERMISSIONS,
    is_our_command,
    is_our_server,
    with_rules,
    without_hooks,
    without_permissions,
)
from workers_tui.home.json_surgery import JsonText

EXAMPLES = Path(__file__).resolve().parents[2] / "docs" / "examples"


def text(name: str) -> str:
    return (EXAMPLES / name).read_text(encoding="utf-8")


def load(name: str) -> Any:
    return json.loads(text(name))


def test_the_rules_are_the_block_that_connect_writes() -> None:
    assert text("CLAUDE.md") == with_rules("")


def test_the_settings_are_what_connect_writes_and_removes() -> None:
    settings = load("settings.json")
    assert settings["permissions"]["allow"] == list(PERMISSIONS)
    assert list(settings["hooks"]) == [hook.event for hook in HOOKS]
    for hook in HOOKS:
        (group,) = settings["hooks"][hook.event]
        assert group["matcher"] == hook.matcher
        assert group["hooks"][0]["timeout"] == hook.timeout
        assert group["hooks"][0]["command"] == f"workers-tui hook {hook.run}"
        assert is_our_command(group["hooks"][0]["command"])
    assert without_permissions(without_hooks(JsonText(text("settings.json")))).value == {}


@pytest.mark.parametrize("name", ["mcp.json", "mcp-http.json"])
def test_the_servers_are_recognized_as_ours_and_never_deferred(name: str) -> None:
    server = load(name)["mcpServers"]["workers"]
    assert is_our_server(server)
    assert server["alwaysLoad"] is True


@pytest.mark.parametrize("name", sorted(path.name for path in EXAMPLES.glob("models-*.json")))
def test_the_settings_of_the_engine_load_without_a_warning(name: str) -> None:
    settings, warnings = parse(text(name), EXAMPLES / name)
    assert warnings == ()
    for tier in settings.tiers.values():
        assert tier.provider is None or tier.provider in settings.providers


def test_every_example_is_explained() -> None:
    explained = text("README.md")
    for path in EXAMPLES.iterdir():
        assert path.name == "README.md" or f"({path.name})" in explained
