"""Which tier a task gets, and the reason in words."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers_tui.engine.calls.tiers import Load, Pick, pick, size, what
from workers_tui.engine.errors import ConfigError
from workers_tui.engine.pricing.price import Price
from workers_tui.engine.settings.settings import Settings, Tier, parse
from workers_tui.home.assets import asset

SHIPPED, _ = parse(asset("models.json").read_text(), Path("models.json"))
PRICES = {
    "deepseek/deepseek-v4-flash": Price(Decimal("0.1"), Decimal("0.2")),
    "qwen/qwen3-coder-next": Price(Decimal("0.12"), Decimal("0.8")),
    "deepseek/deepseek-v4-pro": Price(Decimal("0.4"), Decimal("0.9")),
    "google/gemini-3.1-flash-lite": Price(Decimal("0.25"), Decimal("1.5")),
}


def known(tier: Tier) -> Price | None:
    return PRICES.get(tier.model)


def picked(task: str, *sizes: int, settings: Settings = SHIPPED, **more: Any) -> Pick:
    return pick(settings, Load(task, sizes, **more), known)


def settings(**tiers: Any) -> Settings:
    return parse(json.dumps({"tiers": tiers}), Path("models.json"))[0]


@pytest.mark.parametrize(
    ("task", "tier"),
    [
        ("Summarize this log", "fast"),
        ("summarise the changes in a paragraph", "fast"),
        ("Extract all host names", "fast"),
        ("List every error with its time", "fast"),
        ("Write unit tests for parse()", "code"),
        ("Implement a ring buffer class in C", "code"),
        ("Refactor the loop into a function", "code"),
        ("Give me a diff that renames x to y", "code"),
        ("Why does this deadlock?", "reason"),
        ("Debug the crash in main.c", "reason"),
        ("Review this patch: is it right?", "reason"),
        ("Second opinion on this design, please", "reason"),
        ("What is the capital of France?", "fast"),
    ],
)
def test_the_kind_of_work_decides(task: str, tier: str) -> None:
    assert picked(task, 20_000).name == tier


def test_the_reason_is_in_words() -> None:
    assert picked("Summarize this", 310_000) == Pick(
        "fast", "fast, because summary of 1 file, 310 KB"
    )
    assert picked("Write tests", 1000, 2000).reason == "code, because tests of 2 files, 3 KB"
    assert picked("Explain this").reason == "fast, because it is the cheapest"


def test_what_only_one_tier_takes_whole_goes_there() -> None:
    assert picked("Summarize this", 2_100_000) == Pick(
        "long", "long, because 1 file, 2.1 MB is too large for fast, code, reason"
    )


def test_what_nobody_takes_whole_goes_to_the_largest() -> None:
    choice = picked("Summarize this", 9_000_000)
    assert choice.name == "long"
    assert "fits nowhere whole" in choice.reason


def test_the_context_counts_with_the_answer() -> None:
    tiers = settings(
        small={"model": "s", "context": 10_000, "use": "summaries"},
        big={"model": "b", "context": 1_000_000},
    )
    assert picked("Summarize", 10_000, settings=tiers).name == "small"
    assert picked("Summarize", 100_000, settings=tiers).name == "big"
    assert picked("Summarize", 10_000, max_tokens=9000, settings=tiers).name == "big"


def test_among_equals_the_cheapest_wins_and_an_unknown_price_comes_last() -> None:
    tiers = settings(
        unknown={"model": "none", "use": "code"},
        dear={"model": "deepseek/deepseek-v4-pro", "use": "code"},
        cheap={"model": "qwen/qwen3-coder-next", "use": "code"},
    )
    assert picked("Write code", settings=tiers) == Pick(
        "cheap", "cheap, because code, cheapest of 3"
    )


def test_no_tiers_is_a_fault_of_the_settings() -> None:
    with pytest.raises(ConfigError, match="has no tiers"):
        picked("x", settings=settings())


@given(st.text(), st.lists(st.integers(0, 5_000_000), max_size=5))
def test_any_task_gets_a_tier_with_a_reason_on_one_line(task: str, sizes: list[int]) -> None:
    choice = picked(task, *sizes)
    assert choice.name in SHIPPED.tiers
    assert choice.reason.startswith(f"{choice.name}, because ")
    assert "\n" not in choice.reason
    assert choice == picked(task, *sizes)


@given(st.lists(st.integers(0, 3_000_000), min_size=1, max_size=5))
def test_no_file_is_cut_that_another_tier_takes_whole(sizes: list[int]) -> None:
    tier = SHIPPED.tiers[picked("Summarize", *sizes).name]
    assert max(sizes) <= (tier.max_file_bytes or SHIPPED.max_file_bytes)


def test_sizes_are_said_for_people() -> None:
    assert [size(count) for count in (0, 999, 1000, 310_499, 2_100_000)] == [
        "0 B",
        "999 B",
        "1 KB",
        "310 KB",
        "2.1 MB",
    ]
    assert what(Load("x", ())) == "a task without files"
