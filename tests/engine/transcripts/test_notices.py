"""The savings in one line."""

from __future__ import annotations

import pytest

from workers_tui.engine.money import from_usd
from workers_tui.engine.transcripts.notices import all_time_line, session_line
from workers_tui.engine.transcripts.savings import Figures


def test_nothing_delegated_is_nothing_said() -> None:
    assert all_time_line(Figures()) == ""
    assert session_line(Figures(sessions=1, jobs=1, all_fresh=100), []) == ""


@pytest.mark.parametrize(
    ("workers", "names"),
    [
        ([("glm", 35_000)], "glm 35k"),
        ([("glm", 30_000), ("fast", 5_000)], "glm 30k, fast 5.0k"),
        ([("glm", 20_000), ("fast", 9_000), ("a", 4_000), ("b", 2_000)], "glm 20k, fast 9.0k, +2"),
        ([("glm", 30_000)], "glm 30k, others 5.0k"),
        ([("\x1b]0;x\x07\n" + "m" * 90, 35_000)], "?]0;x??" + "m" * 17 + " 35k"),
    ],
)
def test_a_session_says_who_did_how_much(workers: list[tuple[str, int]], names: str) -> None:
    found = Figures(worker_fresh=35_000, all_fresh=158_000, sessions=1, jobs=len(workers))
    assert session_line(found, workers) == (
        f"workers handled 22 % of this session's tokens ({names} vs Claude 123k)"
    )


def test_a_loss_is_said_as_one() -> None:
    lost = Figures(
        worker_fresh=10, all_fresh=40, sessions=1, jobs=1, net_low_pico=from_usd("-0.5"),
        net_high_pico=from_usd("-0.25"),
    )  # fmt: skip
    assert all_time_line(lost) == (
        "workers, so far: workers handled 25 % of the tokens, net -$0.50 to -$0.25"
    )
