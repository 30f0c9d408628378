"""Live text: wrapping on is the same as wrapping anew, and the tail is bounded."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tests.tui.conftest import Open, lines_of

from workers_tui.tui import safe
from workers_tui.tui.panes import output
from workers_tui.tui.panes.output import Output

TEXT = st.text(alphabet=st.sampled_from("ab  漢😀é\n-"), max_size=120)


@given(st.lists(TEXT, max_size=8), st.integers(3, 20))
def test_wrapping_on_is_the_same_as_wrapping_anew(pieces: list[str], width: int) -> None:
    line, start, rows = "", 0, [""]
    for piece in pieces:
        line += piece.replace("\n", " ")
        more, begins = safe.wrap_on(line[start:], width)
        rows[-1:] = more
        start += begins
    assert rows == safe.wrap(line, width)


async def test_pieces_give_the_rows_of_the_whole_and_only_the_end_is_kept(desk: Open) -> None:
    async with desk() as d:
        pane = d.app.screen.query_one(Output)
        pieces = [
            "Words that wrap ",
            "at the right edge of the pane " * 9,
            "\n\nand lines",
            "\nend",
        ]
        pane.show_text(pieces[0], growing=True)
        for piece in pieces[1:]:
            pane.add_text(piece)
        grown = lines_of(pane)
        pane.show_text("".join(pieces), growing=True)
        assert lines_of(pane) == grown
        pane.show_text("x", growing=True)
        for _ in range(40):
            pane.add_text("a line of text\n" * 1_000)
        assert pane.row_count * 15 <= output.KEPT * 3 // 2
        assert "a line of text" in lines_of(pane)


async def test_why_there_is_no_text_is_said_whole_at_every_width(desk: Open) -> None:
    why = "openrouter cannot be reached at 127.0.0.1:9; is it running, is the address right?"
    async with desk() as d:
        pane = d.app.screen.query_one(Output)
        pane.explain([((f" {why}", ""),)])
        for width in (124, 72, 90):
            await d.pilot.resize_terminal(width, 34)
            await d.settled()
            assert " ".join(lines_of(pane).split()) == why
