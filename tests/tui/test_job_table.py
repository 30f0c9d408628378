"""The order of the jobs: stable, settling, the same whatever way it came about."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st
from tests.tui.fakes import NOON, make_job

from workers_tui.engine.jobs.job import Job, JobState
from workers_tui.tui.job_table import JobTable


def test_running_jobs_stand_above_ended_ones() -> None:
    table = JobTable()
    table.put(make_job("done1", JobState.DONE, ended_at=NOON - timedelta(minutes=2)), 0)
    table.put(make_job("done2", JobState.DONE, ended_at=NOON - timedelta(minutes=1)), 0)
    table.put(make_job("late", started_at=NOON), 0)
    table.put(make_job("early", started_at=NOON - timedelta(minutes=5)), 0)
    assert table.rows == ["early", "late", "done2", "done1"]


def test_a_job_that_ends_keeps_its_place_for_a_moment() -> None:
    table = JobTable()
    first = make_job("first", started_at=NOON - timedelta(minutes=1))
    table.put(first, 0)
    table.put(make_job("second", started_at=NOON), 0)
    table.put(replace(first, state=JobState.DONE, ended_at=NOON, ms=5), now=10)
    assert table.rows == ["first", "second"]
    assert not table.settle(11)
    assert table.settle(12.5)
    assert table.rows == ["second", "first"]


def test_a_new_value_of_the_same_state_moves_nothing() -> None:
    table = JobTable()
    job = make_job("one")
    table.put(job, 0)
    assert not table.put(replace(job, turns=3), 1)


def test_a_filter_hides_and_shows_again() -> None:
    table = JobTable()
    table.put(make_job("fast1", tier="fast"), 0)
    table.put(make_job("code1", tier="code"), 0)
    table.filter(lambda job: job.tier == "code")
    assert table.rows == ["code1"]
    table.filter(None)
    assert len(table.rows) == 2


def test_a_dropped_job_is_gone() -> None:
    table = JobTable()
    table.put(make_job("gone", JobState.DONE), 0)
    table.put(make_job("there"), 0)
    table.drop("gone")
    table.drop("never")
    assert table.rows == ["there"]
    assert table.index("gone") is None


@given(
    st.lists(
        st.tuples(st.integers(0, 9), st.sampled_from(list(JobState)), st.integers(0, 600)),
        max_size=60,
    )
)
def test_after_settling_the_order_is_that_of_a_fresh_table(
    changes: list[tuple[int, JobState, int]],
) -> None:
    table = JobTable()
    last: dict[str, Job] = {}
    for number, state, second in changes:
        job_id = f"j{number}"
        if job_id in last and last[job_id].state.ended:
            continue
        moment = NOON + timedelta(seconds=second)
        job = make_job(job_id, state, started_at=moment, ended_at=moment if state.ended else None)
        last[job_id] = job
        table.put(job, second)
    table.settle(10_000)
    fresh = JobTable()
    for job in last.values():
        fresh.put(job, 0)
    assert table.rows == fresh.rows
    assert sorted(table.rows) == sorted(last)
    assert all(table.index(job_id) == row for row, job_id in enumerate(table.rows))
