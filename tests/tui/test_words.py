"""The number language."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal

import pytest

from workers_tui.engine.money import Cost, CostSource, from_usd
from workers_tui.tui import words


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (0, "0"),
        (840, "840"),
        (999, "999"),
        (1_000, "1.0k"),
        (1_234, "1.2k"),
        (9_949, "9.9k"),
        (9_950, "10k"),
        (363_000, "363k"),
        (999_499, "999k"),
        (999_500, "1.0M"),
        (1_200_000, "1.2M"),
        (-1_500, "-1.5k"),
    ],
)
def test_counts(number: int, said: str) -> None:
    assert words.count(number) == said


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0.4, "0s"), (6, "6s"), (72, "1m12"), (7_500, "2h05"), (90_000, "1d01"), (-3, "0s")],
)
def test_durations(seconds: float, said: str) -> None:
    assert words.duration(seconds) == said


@pytest.mark.parametrize(
    ("ms", "said"),
    [(0, "0s"), (1, "1s"), (840, "1s"), (1_499, "1s"), (5_600, "6s"), (59_600, "1m00")],
)
def test_what_something_took(ms: int, said: str) -> None:
    assert words.took(ms) == said


@pytest.mark.parametrize(
    ("usd", "said"),
    [
        ("0", "$0.00"),
        ("1.07", "$1.07"),
        ("0.12", "$0.12"),
        ("0.01", "$0.01"),
        ("0.0004", ".0004"),
        ("0.00996", ".0100"),
        ("0.00001", ".0001"),
        ("-0.00001", "-.0001"),
        ("1234.5", "$1,234.50"),
        ("-0.2", "-$0.20"),
    ],
)
def test_money(usd: str, said: str) -> None:
    assert words.money(from_usd(usd)) == said


@pytest.mark.parametrize(
    ("usd", "said"),
    [("0", ".0000"), ("0.019", ".0190"), ("0.41", ".4100"), ("1.07", "1.07"), ("1500", "1500")],
)
def test_money_in_a_column(usd: str, said: str) -> None:
    assert words.money_cell(from_usd(usd)) == said


def test_costs_say_how_well_they_are_known() -> None:
    pico = from_usd("0.0004")
    assert words.cost(None) == words.NOTHING
    assert words.cost(Cost(pico, CostSource.REPORTED)) == ".0004"
    assert words.cost(Cost(pico, CostSource.RECONCILED)) == ".0004"
    assert words.cost(Cost(pico, CostSource.ESTIMATED)) == "~.0004"
    assert words.cost(Cost(None, CostSource.PENDING)) == "…"
    assert words.cost(Cost(None, CostSource.UNKNOWN)) == "?"


def test_a_confirmed_zero_is_not_unknown() -> None:
    assert words.cost(Cost(0, CostSource.REPORTED), cell=True) == ".0000"


@pytest.mark.parametrize(
    ("price", "said"),
    [("0.11", ".11"), ("0.8", ".80"), ("1.5", "1.5"), ("15", "15"), ("0.075", ".075"), ("0", "0")],
)
def test_prices(price: str, said: str) -> None:
    assert words.price(Decimal(price)) == said


def test_a_free_model_and_an_unknown_price() -> None:
    assert words.prices(Decimal(0), Decimal(0)) == "free"
    assert words.prices(None, None) == "?"


def test_a_moment_of_another_day_names_the_day() -> None:
    now = datetime(2026, 11, 29, 12, tzinfo=UTC)
    assert words.moment(now, now) == now.astimezone().strftime("%H:%M:%S")
    assert "27 Nov" in words.moment(datetime(2026, 11, 27, 12, tzinfo=UTC), now)
    assert "2025" in words.moment(datetime(2025, 11, 27, 12, tzinfo=UTC), now)


def test_sizes() -> None:
    assert [words.size(n) for n in (840, 310_000, 3_100_000)] == ["840 B", "310 KB", "3.1 MB"]
