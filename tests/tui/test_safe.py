"""Text of strangers: never a control sequence, always as wide as its column."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from workers_tui.tui import safe

HOSTILE = "\x1b]0;title\x07\x1b[2J\x9b31mred\x1b]52;c;aGk=\x07\u202edrawkcab\u2066"


@given(st.text())
def test_nothing_that_a_terminal_obeys_is_left(text: str) -> None:
    left = safe.clean(text)
    assert all(char == "\n" or unicodedata.category(char) not in {"Cc", "Cs"} for char in left)


@given(st.text(), st.integers(1, 60))
def test_a_cell_is_exactly_as_wide_as_its_column(text: str, width: int) -> None:
    said = safe.one_line(text)
    assert cell_len(safe.fit(said, width)) == width
    assert cell_len(safe.fit_right(said, width)) == width


@given(st.text(alphabet=st.sampled_from("ab 漢字😀é\n"), max_size=300), st.integers(2, 30))
def test_wrapped_rows_fit_and_lose_nothing_but_blanks(text: str, width: int) -> None:
    for line in safe.clean(text).split("\n"):
        rows = safe.wrap(line, width)
        assert all(cell_len(row) <= width for row in rows)
        assert "".join(rows).replace(" ", "") == line.replace(" ", "")


def test_escape_sequences_are_shown_as_text() -> None:
    left = safe.clean(HOSTILE)
    assert "\x1b" not in left
    assert "\x9b" not in left
    assert "␛[2J" in left
    assert "\u202e" not in left


def test_joined_emoji_flags_and_skin_tones_come_apart_into_widths_all_terminals_share() -> None:
    family = "👩\u200d👩\u200d👧"
    assert safe.clean(family) == "👩👩👧"
    assert safe.clean("👍🏽") == "👍"
    assert safe.clean("🇩🇪") == "DE"


def test_line_ends_of_every_kind() -> None:
    assert safe.clean("a\r\nb\rc\u2028d\td").split("\n") == ["a", "b", "c", "d    d"]


def test_lone_surrogates_are_replaced() -> None:
    assert safe.clean("a\ud800b") == "a\ufffdb"


@pytest.mark.parametrize(
    ("text", "width", "said"),
    [("short", 8, "short   "), ("too long", 5, "too…"), ("漢字漢字", 5, "漢字…"), ("ab", 0, "")],
)
def test_fit(text: str, width: int, said: str) -> None:
    assert safe.fit(text, width).rstrip() == said.rstrip()
