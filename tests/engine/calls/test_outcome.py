"""What an answer is worth, and code fences around it."""

from __future__ import annotations

import json
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers_tui.engine.calls.answer import Answer, Reading
from workers_tui.engine.calls.outcome import broken_cost, cost_of, guessed_usage, unfenced
from workers_tui.engine.money import Cost, CostSource, from_usd
from workers_tui.engine.pricing.price import FREE, Price
from workers_tui.engine.settings.providers import Provider
from workers_tui.engine.usage import Usage

ROUTER = Provider("openrouter", "https://o.test", "openrouter", None, False, False)
OTHER = Provider("other", "https://x.test", "openai", None, False, False)
PRICE = Price(Decimal(1), Decimal(1))


def answer(text: str = "x" * 40, **more: object) -> Answer:
    reading = Reading()
    reading.feed(json.dumps({"choices": [{"delta": {"content": text}}], **more}).encode())
    return reading.answer()


def test_only_names_that_can_be_shown_are_taken_from_an_answer() -> None:
    for name in ("a\nb", "\x1b[31mred", "-flag", "m" * 300):
        assert (answer(model=name).model, answer(provider=name).served_by) == (None, None)
    named = answer(model="z-ai/glm", provider="Z.AI")
    assert (named.model, named.served_by) == ("z-ai/glm", "Z.AI")


def test_a_broken_answer_costs_what_went_and_came() -> None:
    cost = broken_cost(answer(), ROUTER, PRICE, 400)
    assert cost == Cost(from_usd("0.00011"), CostSource.ESTIMATED)
    assert guessed_usage(answer(), 401) == Usage(input=101, output=10)


def test_a_broken_answer_with_usage_costs_what_was_reported() -> None:
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "cost": 0.5}
    cost = broken_cost(answer(usage=usage), ROUTER, PRICE, 400)
    assert cost == Cost(from_usd("0.5"), CostSource.REPORTED)


@pytest.mark.parametrize(
    ("provider", "price", "source"),
    [
        (ROUTER, None, CostSource.PENDING),
        (OTHER, None, CostSource.UNKNOWN),
        (OTHER, FREE, CostSource.ESTIMATED),
    ],
)
def test_without_usage_or_price(
    provider: Provider, price: Price | None, source: CostSource
) -> None:
    cost = cost_of(answer(id="gen-1"), provider, price)
    assert cost.source is source
    assert cost.pico == (0 if price is FREE else None)


@pytest.mark.parametrize(
    ("text", "inside"),
    [
        ("```python\na = 1\n```", "a = 1\n"),
        ("\n```\na\n\nb\n```\n\n", "a\n\nb\n"),
        ("~~~\nx\n~~~", "x\n"),
        ("````md\n```py\nx\n```\n````", "```py\nx\n```\n"),
        ("```\n```", "\n"),
        ("```diff\r\n+a\r\n```\r\n", "+a\r\n"),
    ],
)
def test_one_fence_around_everything_goes(text: str, inside: str) -> None:
    assert unfenced(text) == inside


@pytest.mark.parametrize(
    "text",
    [
        "plain\n",
        "before\n```\nx\n```",
        "```\nx\n```\nafter",
        "```\na\n```\nbetween\n```\nb\n```",
        "```\nnever closed",
        "``` inline ```",
        "",
    ],
)
def test_any_other_fence_stays(text: str) -> None:
    assert unfenced(text) == text


@given(st.text(st.characters(exclude_characters="`~\r"), max_size=50))
def test_what_was_fenced_comes_back(text: str) -> None:
    assert unfenced(f"```\n{text}\n```") == f"{text}\n"
