"""What comes back in words: first lines, shares, pages, money."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers_tui.engine.jobs.job import Job, JobKind, JobState, Sent
from workers_tui.engine.money import Cost, CostSource
from workers_tui.engine.usage import Usage
from workers_tui.server import replies

JOB = Job(
    id="k3f9a",
    kind=JobKind.CALL,
    state=JobState.DONE,
    task="t",
    created_at=datetime(2026, 11, 29, tzinfo=UTC),
    tier="fast",
    model="deepseek/deepseek-v4-flash",
    ms=812,
    usage=Usage(1200, 30),
    cost=Cost(123_000_000, CostSource.REPORTED),
    result_path=Path("results/k3f9a.txt"),
)


def test_the_first_line_is_the_contracts() -> None:
    assert replies.first_line(JOB) == (
        "[fast/deepseek/deepseek-v4-flash in=1200 out=30 $0.000123 (reported) 812ms job=k3f9a]"
    )


@pytest.mark.parametrize(
    ("cost", "said"),
    [
        (Cost(0, CostSource.REPORTED), "$0.0 (reported)"),
        (Cost(10**12, CostSource.ESTIMATED), "$1.0 (estimated)"),
        (Cost(12_300_000, CostSource.REPORTED), "$0.0000123 (reported)"),
        (Cost(None, CostSource.PENDING), "$? (pending)"),
        (Cost(None, CostSource.UNKNOWN), "$? (unknown)"),
        (None, "$0 (nothing sent)"),
    ],
)
def test_unknown_money_is_never_zero(cost: Cost | None, said: str) -> None:
    assert replies.money(cost) == said


def test_a_cut_answer_says_so() -> None:
    reply = replies.call_reply(replace(JOB, truncated=True), "half", 100)
    assert reply.text.endswith("limit: the answer is not complete; raise max_tokens]")


def test_what_was_written_is_counted_as_it_lies_in_the_file() -> None:
    fenced = "```python\nx = 1\ny = 2\n```"
    reply = replies.call_reply(replace(JOB, written="out.py"), fenced, 100)
    assert reply.text.split("\n")[1:] == ["wrote out.py (2 lines)", "x = 1", "y = 2"]


def test_a_file_that_did_not_go_whole_is_named() -> None:
    sent = (Sent("a.log", 1, 9, 100, "00", "cut after line 9"), Sent("b.log", 1, 9, 100, "00"))
    reply = replies.call_reply(replace(JOB, sent=sent), "text", 100)
    assert reply.text.split("\n")[1:] == ["text", "[a.log: cut after line 9]"]


def test_a_failure_is_one_line() -> None:
    job = replace(JOB, state=JobState.FAILED, error="it broke\nin two")
    reply = replies.call_reply(job, "", 100)
    assert reply.error
    assert reply.text == "job k3f9a failed: it broke in two; $0.000123 (reported) spent"


@given(st.integers(0, 10_000), st.lists(st.integers(0, 5_000), min_size=1, max_size=100))
def test_shares_never_exceed_the_limit_and_waste_nothing(limit: int, lengths: list[int]) -> None:
    shares = replies.share(limit, lengths)
    assert sum(shares) <= limit
    assert all(share <= length for share, length in zip(shares, lengths, strict=True))
    if sum(lengths) <= limit:
        assert shares == lengths
    else:
        assert sum(shares) > limit - len(lengths)


def test_a_full_batch_fits_the_client() -> None:
    reply = replies.batch_reply([(JOB, "x" * 10_000)] * 100, 40_000)
    assert len(reply.text) < 50_000
    assert reply.text.count("go on with delegate_result") == 100


def test_a_running_job_shows_what_there_is() -> None:
    job = replace(JOB, state=JobState.RUNNING, cost=None, ms=None)
    assert "still running; 7 characters so far" in replies.page_reply(job, "so far.", 0).text


def test_a_page_beyond_the_end_is_empty() -> None:
    assert replies.page_reply(JOB, "abc", 10).text.endswith("job=k3f9a]\n")
