"""The savings in one line."""

from __future__ import annotations

import pytest

from workers_tui.engine.money import from_usd
from workers_tui.engine.transcripts.notices import line
from workers_tui.engine.transcripts.number_words import count, money, signed
from workers_tui.engine.transcripts.savings import Figures


@pytest.mark.parametrize(
    ("number", "words"),
    [(840, "840"), (1200, "1.2k"), (363_000, "363k"), (1_200_000, "1.2M"), (-1500, "-1.5k")],
)
def test_tokens_in_words(number: int, words: str) -> None:
    assert count(number) == words


@pytest.mark.parametrize(
    ("usd", "words"),
    [("1.07", "+$1.07"), ("0.0004", "+$0.0004"), ("-2", "-$2.00"), ("0", "+$0.00")],
)
def test_dollars_with_their_sign(usd: str, words: str) -> None:
    assert signed(from_usd(usd)) == words


def test_an_unknown_amount_is_a_question_mark() -> None:
    assert (money(None), signed(None)) == ("?", "?")


def test_nothing_delegated_is_nothing_said() -> None:
    assert line("this session", Figures()) == ""


def test_a_loss_is_said_as_one() -> None:
    lost = Figures(
        worker_fresh=10, all_fresh=40, sessions=1, jobs=1, net_low_pico=from_usd("-0.5"),
        net_high_pico=from_usd("-0.25"),
    )  # fmt: skip
    assert line("this session", lost) == (
        "workers, this session: workers did 25 % of the work, net -$0.50 to -$0.25"
    )
