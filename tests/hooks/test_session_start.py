"""What a session is told, what the user sees, and where the state is looked for."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.hooks.kit import GATE, SESSION, context, run, start

from workers_tui.home.gate import Gate, write_gate
from workers_tui.home.notices import Notices, write_notices
from workers_tui.home.places import Home, find_home
from workers_tui.home.where import config_dir, state_dir
from workers_tui.hooks.session_start import session_start
from workers_tui.hooks.state import State


def test_a_session_starts_with_the_rules_the_tiers_and_the_savings(
    project: Path, environ: dict[str, str], home: Home
) -> None:
    write_notices(home, Notices("all time: saved $12"))
    answer = run("session-start", start(project), environ)
    text = context(answer)
    for part in (
        "mcp__workers__delegate",
        "fast: summaries",
        "zai",
        "Sonnet",
        "Haiku",
        "any language",
    ):
        assert part in text
    assert answer is not None
    assert answer["systemMessage"] == "all time: saved $12"
    assert "saved" not in text, "the savings are for the user's eyes"


def test_without_a_worker_only_subagents_are_named(
    project: Path, environ: dict[str, str], home: Home
) -> None:
    write_gate(home, Gate())
    text = context(session_start(start(project), environ))
    assert "subagents only" in text
    assert "mcp__" not in text


def test_a_key_that_came_since_an_engine_looked_counts(
    project: Path, environ: dict[str, str], home: Home
) -> None:
    write_gate(home, Gate())
    with_key = {**environ, "OPENROUTER_API_KEY": "sk-x"}
    assert "mcp__workers__delegate;" in context(session_start(start(project), with_key))
    home.keys_json.write_text('{"openrouter": "sk-x"}')
    os.utime(home.keys_json, (4e9, 4e9))
    assert "mcp__workers__delegate;" in context(session_start(start(project), environ))
    home.gate_json.unlink()
    assert "mcp__workers__delegate;" in context(session_start(start(project), environ))
    home.keys_json.unlink()
    assert "subagents only" in context(session_start(start(project), environ))


def test_on_demand_says_so_and_off_is_silent(
    project: Path, environ: dict[str, str], home: Home
) -> None:
    text = context(session_start(start(project), {**environ, "WORKERS_DELEGATION": "ondemand"}))
    assert "only when the user asks" in text
    assert session_start(start(project), {**environ, "WORKERS_DELEGATION": "off"}) is None
    write_gate(home, Gate(mode="off", tiers=GATE.tiers))
    assert session_start(start(project), {**environ, "WORKERS_DELEGATION": "auto"}) is None


def test_the_plugin_names_its_own_tools_and_its_skill(
    project: Path, environ: dict[str, str]
) -> None:
    text = context(session_start(start(project), {**environ, "CLAUDE_PLUGIN_ROOT": "/p"}))
    assert "mcp__plugin_workers_workers__delegate" in text
    assert "workers:delegating" in text


def test_after_a_dispatch_the_user_sees_one_line(
    project: Path, environ: dict[str, str], home: Home
) -> None:
    line = "workers handled 22 % of this session's tokens (glm 35k vs Claude 123k)"
    write_notices(home, Notices(sessions={SESSION: line}))
    asked = {"session_id": SESSION, "hook_event_name": "PostToolUse", "tool_name": "x"}
    assert run("after-dispatch", asked, environ) == {"systemMessage": line}
    assert run("after-dispatch", {**asked, "session_id": "another-one"}, environ) is None
    for name in ("WORKERS_SAVINGS", "MODEL_ORCHESTRATION_SAVINGS"):
        assert run("after-dispatch", asked, {**environ, name: "Off"}) is None


def test_the_headers_helper_prints_the_token(environ: dict[str, str], home: Home) -> None:
    assert run("headers", b"", environ) == {}
    home.token.write_text("abc-DEF_123\n")
    assert run("headers", b"", environ) == {"Authorization": "Bearer abc-DEF_123"}
    home.token.write_text('a"b')
    assert run("headers", b"", environ) == {}


def places() -> Iterator[dict[str, str]]:
    yield {}
    yield {"XDG_STATE_HOME": "/x/state"}
    yield {"XDG_CONFIG_HOME": "/x/config"}
    yield {"XDG_STATE_HOME": "state", "XDG_CONFIG_HOME": "./config"}
    yield {"WORKERS_HOME": "/x/flat"}
    yield {"WORKERS_HOME": "~/flat"}
    yield {"WORKERS_HOME": "relative"}


@pytest.mark.parametrize("environ", places())
@pytest.mark.parametrize("platform", ["linux", "darwin", "win32"])
def test_the_state_is_looked_for_where_the_engine_keeps_it(
    environ: dict[str, str], platform: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", platform)
    assert state_dir(environ) == str(find_home(environ).state)
    assert config_dir(environ) == str(find_home(environ).config)


@pytest.mark.parametrize(
    "text",
    ["", "[]", '{"tiers": 7, "workers": {}, "mode": 3, "large_read_bytes": "x", "resets_at": "x"}'],
)
def test_a_gate_that_makes_no_sense_opens_everything(
    environ: dict[str, str], home: Home, text: str
) -> None:
    home.gate_json.write_text(text)
    state = State(environ)
    assert (state.tiers, state.workers, state.cap_reached) == ([], [], False)
    assert state.large_read_bytes == 51_200
    assert state.mode == "auto"
