"""Columns are straight in the cells of a terminal, not in characters."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers_tui.cli.table import aligned, cells

TEXTS = {
    "plain": 5,
    "日本語": 6,
    "e\u0301te\u0301": 3,
    "❤\ufe0f": 2,
    "\uff21\u200d": 2,
    "مرحبا": 5,
}


@pytest.mark.parametrize(("text", "wide"), TEXTS.items())
def test_a_character_takes_the_cells_that_a_terminal_gives_it(text: str, wide: int) -> None:
    assert cells(text) == wide


def test_names_are_filled_up_on_the_right_and_numbers_on_the_left() -> None:
    rows = [("name", "calls", "why"), ("日本", "7", "x"), ("long name", "1,200", "")]
    assert aligned(rows, right={1}) == [
        "name       calls  why",
        "日本           7  x",
        "long name  1,200",
    ]


def test_no_row_is_no_line() -> None:
    assert aligned([]) == []


words = st.text("aé日\u0301 ", max_size=6)


@given(rows=st.lists(st.tuples(words, words, st.just("|")), min_size=1))
def test_the_last_column_begins_in_one_cell_whatever_stands_before_it(
    rows: list[tuple[str, str, str]],
) -> None:
    assert len({cells(line) for line in aligned(rows)}) == 1
