"""What is held for a call: an upper bound, an estimate, or nothing."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from workers_tui.engine.calls.bounds import Weight, bound
from workers_tui.engine.errors import BudgetRefused
from workers_tui.engine.money import from_usd
from workers_tui.engine.pricing.price import FREE, Price, Rates
from workers_tui.engine.settings.providers import Provider
from workers_tui.engine.settings.settings import Settings

ROUTER = Provider("openrouter", "https://o.test", "openrouter", None, False, False)
PLAN = Provider("plan", "https://p.test", "openai", None, True, False)
WEIGHT = Weight(prompt_bytes=4_000_000, messages=2, output_cap=1_000_000, params={})
PRICE = Price(Decimal(1), Decimal(2))
DEAR = Price(Decimal(3), Decimal(1))


def settings(**more: Any) -> Settings:
    return Settings.model_validate({"daily_budget_usd": 10, **more})


def test_strict_holds_a_token_a_byte_with_a_quarter_on_top() -> None:
    found = bound(settings(), ROUTER, [("m", PRICE)], WEIGHT)
    tokens = 4_000_000 + 64 + 32
    assert found.hold_pico == from_usd((Decimal(tokens) / 10**6 + 2) * Decimal("1.25"))
    assert found.estimate_pico == from_usd(3)
    assert found.highest == Rates(Decimal("1.25"), Decimal("2.5"))


def test_fallbacks_are_held_at_the_dearest() -> None:
    one = bound(settings(), ROUTER, [("m", PRICE)], WEIGHT)
    two = bound(settings(), ROUTER, [("m", PRICE), ("n", DEAR)], WEIGHT)
    assert two.hold_pico > one.hold_pico
    assert two.highest == Rates(Decimal("3.75"), Decimal("2.5"))


def test_what_the_tier_sends_along_weighs_too() -> None:
    heavy = Weight(4_000_000, 2, 1_000_000, {"tools": ["x" * 1000]})
    assert heavy.most_tokens > WEIGHT.most_tokens + 1000


def test_a_long_prompt_is_held_at_its_surcharge() -> None:
    long = Price(Decimal(1), Decimal(2), steps=(Rates(Decimal(5), Decimal(9), above=100_000),))
    assert bound(settings(), ROUTER, [("m", long)], WEIGHT).highest == Rates(
        Decimal("6.25"), Decimal("11.25")
    )


def test_soft_holds_an_estimate_and_sends_no_highest_price() -> None:
    found = bound(settings(budget_mode="soft"), ROUTER, [("m", PRICE)], WEIGHT)
    assert (found.hold_pico, found.estimate_pico, found.highest) == (from_usd(3), from_usd(3), None)


def test_soft_takes_an_unknown_price_as_the_charge_for_unknown() -> None:
    soft = settings(budget_mode="soft", unknown_charge_usd=0.2)
    assert bound(soft, ROUTER, [("m", None)], WEIGHT).hold_pico == from_usd("0.2")


def test_strict_refuses_an_unknown_price_of_a_fallback_too() -> None:
    with pytest.raises(BudgetRefused, match=r"n at openrouter .*`prices`.*`budget_mode: soft`"):
        bound(settings(), ROUTER, [("m", PRICE), ("n", None)], WEIGHT)


def test_a_flat_rate_a_free_model_and_no_cap_hold_nothing() -> None:
    assert bound(settings(), PLAN, [("m", None)], WEIGHT).hold_pico == 0
    assert bound(settings(), ROUTER, [("m", FREE)], WEIGHT).hold_pico == 0
    uncapped = settings(daily_budget_usd=None)
    assert bound(uncapped, ROUTER, [("m", PRICE)], WEIGHT).hold_pico == 0
    assert bound(uncapped, ROUTER, [("m", PRICE)], WEIGHT).estimate_pico == from_usd(3)
