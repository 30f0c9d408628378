"""What an agent may be given, held against the settings."""

from __future__ import annotations

import pytest

from workers_tui.engine.agents.agent_request import MODES, mode_for, tools_for, turns_for
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
