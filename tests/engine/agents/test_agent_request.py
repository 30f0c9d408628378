"""What an agent may be given, held against the settings."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from workers_tui.engine.agents.agent_account import UNBOUNDED, read_head
from workers_tui.engine.agents.agent_request import (
    MODES,
    AgentRequest,
    check_model,
    check_words,
    directory_for,
    mode_for,
    tool_name,
    tools_for,
    turns_for,
)
from workers_tui.engine.errors import PolicyRefused, WrongUse
from workers_tui.engine.settings.settings import AgentRules


def test_bash_is_there_only_when_it_is_asked_for() -> None:
    assert "Bash" not in tools_for(AgentRules())
    assert "Bash" in tools_for(AgentRules(), ["Bash(git log:*)"])
    assert "Task" not in tools_for(AgentRules())


def test_a_tool_can_be_taken_away() -> None:
    assert "Write" not in tools_for(AgentRules(), (), ["Write", "Edit(x)"])
    assert "Edit" in tools_for(AgentRules(), (), ["Write", "Edit(x)"])


def test_settings_bound_the_tools() -> None:
    rules = AgentRules(tools=("Read", "Glob"))
    assert tools_for(rules) == ("Read", "Glob")
    with pytest.raises(PolicyRefused, match=r"agents\.tools"):
        tools_for(rules, ["Bash"])
    with pytest.raises(WrongUse, match="there is no tool"):
        tools_for(AgentRules(), ["Bahs"])


@pytest.mark.parametrize("mode", MODES)
def test_a_mode_beyond_the_settings_is_refused(mode: str) -> None:
    rules = AgentRules(max_permission_mode="acceptEdits")
    if MODES.index(mode) <= MODES.index("acceptEdits"):
        assert mode_for(rules, mode) == mode
    else:
        with pytest.raises(PolicyRefused, match="max_permission_mode"):
            mode_for(rules, mode)


def test_the_users_own_mode_counts_when_nothing_is_asked() -> None:
    assert mode_for(AgentRules(permission_mode="acceptEdits"), None) == "acceptEdits"
    with pytest.raises(WrongUse):
        mode_for(AgentRules(), "yolo")


def test_turns_are_bounded() -> None:
    rules = AgentRules(max_turns=5)
    assert (turns_for(rules, None), turns_for(rules, 5)) == (5, 5)
    with pytest.raises(PolicyRefused):
        turns_for(rules, 6)
    with pytest.raises(WrongUse):
        turns_for(rules, 0)


@pytest.mark.parametrize("rule", ["Bash", "Bash(git log:*)", "Bash(echo (a (b)))", "Read(//x/**)"])
def test_one_rule_of_a_known_tool_passes(rule: str) -> None:
    assert tool_name(rule) == rule.partition("(")[0]


@pytest.mark.parametrize(
    "rule",
    [
        "--dangerously-skip-permissions", "--mcp-config", "", " ", "Bash,Edit", "Bash Edit",
        "Bash(x),WebFetch", "Bash(x) Edit(y)", "Bash(x", "Bash(x))", "Bash()(", "(x)", "mcp__a__b",
        "bash", "Bash (x)", "*",
    ],
)  # fmt: skip
def test_what_could_be_a_flag_or_several_rules_is_refused(rule: str) -> None:
    with pytest.raises(WrongUse):
        tools_for(AgentRules(), [rule])
    with pytest.raises(WrongUse):
        tools_for(AgentRules(), (), [rule])


@pytest.mark.parametrize("model", ["--settings", "a\nb", "x" * 201, "\x1b[2J", "a\0b"])
def test_what_is_no_name_of_a_model_is_refused(model: str) -> None:
    with pytest.raises(WrongUse, match="no name of a model"):
        check_model(AgentRules(), model)
    assert check_model(AgentRules(), "z-ai/glm-5.3[1m]") == "z-ai/glm-5.3[1m]"


@pytest.mark.parametrize("bad", ["a\0b", "\ud800"])
def test_what_no_program_can_be_started_with_is_refused_by_name(bad: str) -> None:
    texts = ("model", "small_model", "cwd", "worker", "append_system_prompt", "permission_mode")
    for name in texts:
        with pytest.raises(WrongUse, match=f"^{name} holds a character"):
            check_words(AgentRequest("go", **{name: bad}))  # type: ignore[arg-type]
    for name in ("allowed_tools", "disallowed_tools", "add_dirs"):
        with pytest.raises(WrongUse, match=f"^{name} holds a character"):
            check_words(AgentRequest("go", **{name: ("Bash", bad)}))  # type: ignore[arg-type]
    check_words(AgentRequest(f"a prompt goes by another way {bad}", cwd="schön"))


@pytest.mark.parametrize("asked", ["~nobody-here/x", "x" * 5000, "loop", "x/" * 3000])
def test_a_directory_that_cannot_be_looked_at_is_told(tmp_path: Path, asked: str) -> None:
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(WrongUse) as caught:
        directory_for(asked, [tmp_path])
    assert len(str(caught.value)) < 6500


@pytest.mark.parametrize("most", [True, False, 0, -1, 2.5, "9", None])
def test_a_limit_that_is_no_number_bounds_nothing(most: object) -> None:
    body = {"model": "m", "messages": [], "max_tokens": most}
    assert read_head(json.dumps(body).encode(), {}).max_tokens == UNBOUNDED
    assert read_head(json.dumps({**body, "max_tokens": 9}).encode(), {}).max_tokens == 9
