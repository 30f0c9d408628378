"""The stand-in engine has the real one's names: what the screens call is there."""

from __future__ import annotations

from inspect import getmembers, isfunction, signature

import pytest
from tests.tui.fakes import FakeAgents, FakeConfig, FakeEngine, FakeLedger, FakePrices

from workers_tui.engine.agents.agent_runs import Agents
from workers_tui.engine.engine import Engine
from workers_tui.engine.pricing.prices import PriceBook
from workers_tui.engine.settings.config import ConfigFile
from workers_tui.engine.spending.ledger import Ledger

OURS = {"put", "add_text", "put_spend", "put_server"}
"""What only tests call."""


@pytest.mark.parametrize(
    ("fake", "real"),
    [
        (FakeAgents, Agents),
        (FakeConfig, ConfigFile),
        (FakeEngine, Engine),
        (FakeLedger, Ledger),
        (FakePrices, PriceBook),
    ],
)
def test_every_verb_is_the_real_ones(fake: type, real: type) -> None:
    for name, function in getmembers(fake, isfunction):
        if name.startswith("_") or name in OURS:
            continue
        asked = signature(function).parameters
        there = signature(getattr(real, name)).parameters
        if "wanted" in asked:
            continue
        assert list(asked) == list(there)[: len(asked)], name
