"""How many of what."""

from __future__ import annotations

import pytest

from workers_tui.engine.transcripts.number_words import plural


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
