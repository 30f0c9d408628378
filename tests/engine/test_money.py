"""Money is exact and never rounded down."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers_tui.engine.money import PER_USD, from_usd, json_usd, said, to_usd


def test_fifty_tenths_of_a_cent_are_five_cents() -> None:
    assert from_usd(0.001) * 50 == from_usd("0.05")


def test_a_part_of_a_pico_dollar_is_rounded_up() -> None:
    assert from_usd("0.0000000000001") == 1


@given(st.integers(min_value=-(10**18), max_value=10**18))
def test_usd_and_back_is_the_same(pico: int) -> None:
    assert from_usd(to_usd(pico)) == pico


@given(st.integers(min_value=0, max_value=1000 * PER_USD))
def test_the_json_number_means_the_same_amount(pico: int) -> None:
    assert from_usd(Decimal(str(json_usd(pico)))) == pico


@pytest.mark.parametrize("bad", ["", "one", "nan", "inf", float("nan"), "1e999999"])
def test_what_is_no_amount_is_refused(bad: str | float) -> None:
    with pytest.raises(ValueError, match="not an amount"):
        from_usd(bad)


@pytest.mark.parametrize(
    ("usd", "words"),
    [
        (0.0, "$0.00"),
        (0.0000123, "$0.0000123"),
        (0.00004, "$0.00004"),
        (0.5, "$0.50"),
        (3.0, "$3.00"),
    ],
)
def test_a_tiny_sum_is_said_with_its_digits(usd: float, words: str) -> None:
    assert said(usd) == words
