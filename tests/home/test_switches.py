"""Delegation modes and the savings switch."""

from __future__ import annotations

import pytest

from workers_tui.home.switches import delegation_mode, savings_shown


@pytest.mark.parametrize("word", ["off", "OFF", "0", "False", "no", "Disabled"])
def test_every_off_word_means_off(word: str) -> None:
    assert delegation_mode(environ={"WORKERS_DELEGATION": word}) == "off"
    assert not savings_shown({"WORKERS_SAVINGS": word})


def test_the_strictest_setting_wins() -> None:
    assert delegation_mode(["auto", "ondemand"], {}) == "ondemand"
    assert delegation_mode(["ondemand"], {"MODEL_ORCHESTRATION_DELEGATION": "off"}) == "off"


def test_nothing_said_means_auto() -> None:
    assert delegation_mode([None], {}) == "auto"
    assert savings_shown({})
