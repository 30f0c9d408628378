"""Numbers in words: how many of what, and the same words as on the screen."""

from __future__ import annotations

import pytest

from workers_tui.engine.money import from_usd
from workers_tui.engine.transcripts.number_words import count, money, plural, signed, size


@pytest.mark.parametrize(
    ("number", "noun", "said"),
    [
        (0, "job", "0 jobs"),
        (1, "session", "1 session"),
        (1200, "request", "1,200 requests"),
        (1, "web search", "1 web search"),
        (2, "web search", "2 web searches"),
    ],
)
def test_a_number_stands_with_its_noun(number: int, noun: str, said: str) -> None:
    assert plural(number, noun) == said


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (840, "840"),
        (1000, "1.0k"),
        (1200, "1.2k"),
        (10_500, "10k"),
        (35_000, "35k"),
        (363_000, "363k"),
        (999_600, "1.0M"),
        (1_200_000, "1.2M"),
        (-1500, "-1.5k"),
    ],
)
def test_tokens_in_words(number: int, said: str) -> None:
    assert count(number) == said


@pytest.mark.parametrize(
    ("number", "said"),
    [(0, "0 B"), (840, "840 B"), (310_000, "310 KB"), (1_073_741_824, "1.1 GB")],
)
def test_bytes_in_words(number: int, said: str) -> None:
    assert size(number) == said


@pytest.mark.parametrize(
    ("usd", "said"),
    [
        ("1.07", "+$1.07"),
        ("0.0415", "+$0.04"),
        ("0.0004", "+.0004"),
        ("0.00000001", "+.0001"),
        ("-2", "-$2.00"),
        ("0", "+$0.00"),
        ("1234.5", "+$1,234.50"),
    ],
)
def test_dollars_with_their_sign(usd: str, said: str) -> None:
    assert signed(from_usd(usd)) == said


def test_an_unknown_amount_is_a_question_mark() -> None:
    assert (money(None), signed(None)) == ("?", "?")
