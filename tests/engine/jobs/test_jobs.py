"""Jobs: what may become of one, who sees it, and how it is found again."""

from __future__ import annotations

import asyncio
import os
import sqlite3
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.engine.money_kit import NOON, Money, job, open_money

from workers_tui.engine.board import Key, Topic
from workers_tui.engine.errors import StoreUnusable, UnknownJob, WrongUse
from workers_tui.engine.jobs import job_rows
from workers_tui.engine.jobs.job import (
    AT_HAND,
    ENDED,
    NEXT,
    Job,
    JobKind,
    JobState,
    Question,
    Sent,
    WaitingFor,
)
from workers_tui.engine.money import Cost, CostSource
from workers_tui.engine.usage import Usage
from workers_tui.home.places import Home


@pytest.fixture
async def money(home: Home) -> AsyncIterator[Money]:
    async with open_money(home) as opened:
        yield opened


def shown(money: Money, job_id: str) -> Job:
    found = money.board.get(Key(Topic.JOB, job_id))
    assert isinstance(found, Job)
    return found


async def test_a_new_job_gets_a_short_id_and_a_result_path(money: Money) -> None:
    made = await money.jobs.create(job())
    assert len(made.id) == 5
    assert set(made.id).isdisjoint("oilu")
    assert made.result_path == money.home.results / f"{made.id}.txt"
    assert made.engine == "one"
    assert shown(money, made.id) == made


async def test_an_id_that_is_taken_is_never_given_twice(
    money: Money, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = iter(["aaaaa", "aaaaa", "bbbbb"])
    monkeypatch.setattr("workers_tui.engine.jobs.jobs.new_id", lambda: next(names))
    assert [(await money.jobs.create(job())).id for _ in range(2)] == ["aaaaa", "bbbbb"]


async def test_a_job_whose_asker_leaves_while_it_is_put_down_does_not_stay_queued(
    money: Money,
) -> None:
    asking = asyncio.create_task(money.jobs.create(job()))
    await asyncio.sleep(0)  # the row is on its way
    asking.cancel()
    await asyncio.gather(asking, return_exceptions=True)
    await money.store.write(lambda _conn: None)  # behind everything that was asked for before
    (left,) = await money.jobs.find()
    assert (left.state, left.error) == (JobState.CANCELLED, "cancelled before it began")


async def test_every_field_survives_the_table(money: Money) -> None:
    made = await money.jobs.create(
        job(
            kind=JobKind.AGENT,
            files=("a.py", "b.py:1-3"),
            sent=(Sent("a.py", 1, 9, 100, "00ff"),),
            question=Question("keys", ("a.py:3 AWS",), 5, 9),
            cost=Cost(5, CostSource.ESTIMATED, 9),
            usage=Usage(1, 2, 3, 4, 5, 6),
            retry_at=NOON + timedelta(seconds=3, microseconds=7),
            waiting_for=WaitingFor.RETRY,
        )
    )
    async with open_money(money.home, engine="two") as other:
        assert await other.jobs.get(made.id) == made


async def test_a_job_runs_through_its_states_and_its_times_are_filled_in(money: Money) -> None:
    made = await money.jobs.create(job())
    await money.jobs.change(made.id, state=JobState.READING)
    money.clock.move(timedelta(seconds=1))
    waits = await money.jobs.change(
        made.id, state=JobState.WAITING, waiting_for=WaitingFor.CAP, question=Question("may I?")
    )
    assert (waits.waiting_for, waits.started_at) == (WaitingFor.CAP, None)
    runs = await money.jobs.change(made.id, state=JobState.RUNNING)
    assert (runs.waiting_for, runs.question) == (None, None)
    assert runs.started_at == NOON + timedelta(seconds=1)
    money.clock.move(timedelta(milliseconds=250))
    done = await money.jobs.change(made.id, state=JobState.DONE)
    assert (done.ended_at, done.ms) == (money.clock.now(), 250)


@pytest.mark.parametrize("state", sorted(ENDED))
async def test_an_ended_job_takes_nothing_but_what_it_cost(money: Money, state: JobState) -> None:
    made = await money.jobs.create(job())
    if state is JobState.DONE:
        await money.jobs.change(made.id, state=JobState.RUNNING)
    await money.jobs.change(made.id, state=state)
    for further in JobState:
        with pytest.raises(WrongUse, match="cannot change"):
            await money.jobs.change(made.id, state=further)
    fixed = await money.jobs.change(made.id, cost=Cost(7, CostSource.RECONCILED))
    assert fixed.cost == Cost(7, CostSource.RECONCILED)


async def test_a_step_that_no_job_may_take_is_refused_and_changes_nothing(money: Money) -> None:
    made = await money.jobs.create(job())
    with pytest.raises(WrongUse, match="queued and cannot become done"):
        await money.jobs.change(made.id, state=JobState.DONE)
    assert (await money.jobs.get(made.id)).state is JobState.QUEUED


def test_every_live_state_can_end_in_every_way_that_makes_sense() -> None:
    for state, following in NEXT.items():
        assert following >= ENDED - {JobState.DONE}, state
    assert JobState.DONE in NEXT[JobState.RUNNING]
    assert set(NEXT) == set(JobState) - ENDED


async def test_what_is_only_shown_is_committed_with_the_next_change(money: Money) -> None:
    made = await money.jobs.create(job())
    await money.jobs.change(made.id, state=JobState.RUNNING)
    money.jobs.show(made.id, usage=Usage(10, 3))
    assert shown(money, made.id).usage == Usage(10, 3)
    assert await money.store.read(lambda conn: job_rows.get(conn, made.id)) != shown(money, made.id)
    assert (await money.jobs.find())[0].usage == Usage(10, 3)
    await money.jobs.change(made.id, state=JobState.DONE)
    kept = await money.store.read(lambda conn: job_rows.get(conn, made.id))
    assert kept is not None
    assert kept.usage == Usage(10, 3)


async def test_a_hundred_shown_changes_write_nothing(money: Money) -> None:
    made = await money.jobs.create(job())

    def changes(conn: object) -> int:
        return conn.total_changes  # type: ignore[attr-defined, no-any-return]

    before = await money.store.write(changes)
    for number in range(100):
        money.jobs.show(made.id, usage=Usage(number, 1))
    assert await money.store.write(changes) == before


async def test_ids_are_read_as_they_are_meant(money: Money) -> None:
    made = await money.jobs.create(job(id="a0b1c"))
    for typed in ("A0B1C", " a0b1c\n", "aOblc", "AoBiC"):
        assert await money.jobs.get(typed) == made


async def test_an_unknown_id_names_the_nearest(money: Money) -> None:
    for name in ("abcde", "abcdf", "zzzzz"):
        await money.jobs.create(job(id=name))
    with pytest.raises(UnknownJob, match=r"near it: .*abcd"):
        await money.jobs.get("abcdx")
    with pytest.raises(UnknownJob, match=r"no job qqqqq$"):
        await money.jobs.get("qqqqq")


async def test_an_endless_id_is_not_said_again_whole(money: Money) -> None:
    with pytest.raises(UnknownJob, match=r"^there is no job q{40}…$"):
        await money.jobs.get("q" * 100_000)


async def test_jobs_are_found_newest_first_by_what_they_are(money: Money) -> None:
    for number in range(6):
        made = await money.jobs.create(
            job(
                f"Übung number {number}",
                tier=("fast", "code")[number % 2],
                session=f"s{number % 3}",
                created_at=NOON + timedelta(minutes=number),
            )
        )
        if number == 4:
            await money.jobs.change(made.id, state=JobState.FAILED, error="Provider said no")
    tasks = [one.task[-1] for one in await money.jobs.find()]
    assert tasks == ["5", "4", "3", "2", "1", "0"]
    assert [one.task[-1] for one in await money.jobs.find(tier="code", limit=2)] == ["5", "3"]
    assert [one.task[-1] for one in await money.jobs.find(text="übung NUMBER 3")] == ["3"]
    assert [one.task[-1] for one in await money.jobs.find(text="said NO")] == ["4"]
    assert [one.task[-1] for one in await money.jobs.find(state=JobState.FAILED)] == ["4"]
    assert len(await money.jobs.find(state="queued")) == 5
    assert [one.task[-1] for one in await money.jobs.find(session="s1", offset=1)] == ["1"]
    since = NOON + timedelta(minutes=4)
    assert [one.task[-1] for one in await money.jobs.find(since=since)] == ["5", "4"]
    assert await money.jobs.find(text="100%_") == []
    with pytest.raises(WrongUse, match="states are"):
        await money.jobs.find(state="sleeping")


async def test_the_end_is_awaited(money: Money) -> None:
    made = await money.jobs.create(job())
    waits = [asyncio.ensure_future(money.jobs.ended(made.id)) for _ in range(3)]
    await money.jobs.change(made.id, state=JobState.RUNNING)
    assert not any(wait.done() for wait in waits)
    done = await money.jobs.change(made.id, state=JobState.DONE)
    assert await asyncio.gather(*waits) == [done] * 3
    assert await money.jobs.ended(made.id) == done


async def test_another_engine_s_job_is_seen_awaited_and_cancelled(money: Money) -> None:
    async with open_money(money.home, engine="two") as other:
        theirs = await other.jobs.create(job())
        wait = asyncio.ensure_future(money.jobs.ended(theirs.id))
        asked: asyncio.Future[tuple[str, str]] = asyncio.get_running_loop().create_future()
        other.jobs.on_cancel(lambda job_id, by: asked.set_result((job_id, by)))
        await money.jobs.ask_cancel(theirs.id, "you")
        async with asyncio.timeout(30):
            assert await asked == (theirs.id, "you")
        await other.jobs.change(theirs.id, state=JobState.CANCELLED)
        async with asyncio.timeout(30):
            assert (await wait).state is JobState.CANCELLED
        assert shown(money, theirs.id).state is JobState.CANCELLED
        await money.jobs.ask_cancel(theirs.id, "you")


async def test_our_own_job_is_cancelled_at_once(money: Money) -> None:
    made = await money.jobs.create(job())
    asked: list[tuple[str, str]] = []
    money.jobs.on_cancel(lambda *told: asked.append(told))
    await money.jobs.ask_cancel(made.id, "claude-code")
    assert asked == [(made.id, "claude-code")]


async def test_the_board_keeps_live_jobs_and_lets_old_ones_go(money: Money) -> None:
    alive = await money.jobs.create(job())
    for _ in range(AT_HAND + AT_HAND // 4):
        made = await money.jobs.create(job())
        await money.jobs.change(made.id, state=JobState.REFUSED)
    names = money.board.names(Topic.JOB)
    assert alive.id in names
    assert made.id in names
    assert len(names) <= AT_HAND * 1.2
    assert len(await money.jobs.find(limit=10_000)) == AT_HAND + AT_HAND // 4 + 1


async def test_a_start_shows_the_newest_and_every_live_job(home: Home) -> None:
    async with open_money(home) as money:
        alive = await money.jobs.create(job())
        others = [job(state=JobState.DONE, id=f"x{n:04}") for n in range(AT_HAND + 50)]
        await money.store.write(
            lambda conn: [job_rows.insert(conn, one) for one in others] and None
        )
    async with open_money(home) as money:
        names = money.board.names(Topic.JOB)
        assert names[0] == alive.id
        assert names[-1] == others[-1].id
        assert len(names) == AT_HAND + 1


async def test_halves_of_surrogate_pairs_do_not_stop_a_job(money: Money) -> None:
    made = await money.jobs.create(job("broken \ud83d text", files=("caf\udce9.py",)))
    changed = await money.jobs.change(made.id, state=JobState.FAILED, error="\udcff")
    assert (made.task, made.files) == ("broken ? text", ("caf?.py",))
    assert (await money.jobs.get(made.id)) == changed


@given(text=st.text(), path=st.text(min_size=1).filter(lambda name: "\0" not in name))
def test_any_text_goes_through_the_row_and_back(text: str, path: str) -> None:
    before = job_rows.clean(job(text, id="abcde", error=text, result_path=Path(path)))
    again = job_rows._decoder.decode(job_rows._encoder.encode(before))
    assert again == before


async def test_the_newest_jobs_are_found_without_reading_all(money: Money) -> None:
    def plan(conn: sqlite3.Connection) -> str:
        rows = conn.execute(
            "EXPLAIN QUERY PLAN SELECT doc FROM jobs WHERE state IN ('failed')"
            " ORDER BY number DESC LIMIT 100"
        )
        return " ".join(str(row[-1]) for row in rows)

    assert "jobs_state" in await money.store.read(plan)


async def test_old_results_go_when_there_is_work_again(home: Home) -> None:
    async with open_money(home) as money:
        alive = await money.jobs.create(job())
        assert alive.result_path is not None
        assert money.jobs.sweeping.task is not None
        await money.jobs.sweeping.task
        for path in (alive.result_path, home.results / "older.txt"):
            path.write_text("text")
            os.utime(path, (NOON.timestamp() - 40 * 86400,) * 2)
        money.clock.move(timedelta(hours=7))
        await money.jobs.create(job())
        await money.jobs.sweeping.task
        assert {path.name for path in home.results.iterdir()} == {alive.result_path.name}


async def test_an_end_that_a_full_disk_did_not_take_is_saved_once_there_is_room(
    money: Money, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = await money.jobs.create(job())
    money.jobs.show(made.id, usage=Usage(7, 3))
    saving = asyncio.create_task(money.jobs.save_late())

    async def full(*_: object, **__: object) -> None:
        raise StoreUnusable("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(money.store, "write", full)
        with pytest.raises(StoreUnusable):
            await money.jobs.change(made.id, state=JobState.FAILED, error="why")
        for _ in range(2):  # still full: it must not give up
            await asyncio.sleep(0)
            money.clock.move(timedelta(seconds=31))
            await asyncio.sleep(0)
    money.clock.move(timedelta(seconds=31))
    async with asyncio.timeout(5):
        await money.jobs.ended(made.id)
    saving.cancel()
    (kept,) = await money.jobs.find()
    assert (kept.state, kept.error, kept.usage) == (JobState.FAILED, "why", Usage(7, 3))


async def test_an_end_that_a_full_disk_did_not_take_is_offered_once_more_when_we_close(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_money(home) as money:
        made = await money.jobs.create(job())

        async def full(*_: object, **__: object) -> None:
            raise StoreUnusable("the disk is full")

        with monkeypatch.context() as patch:
            patch.setattr(money.store, "write", full)
            with pytest.raises(StoreUnusable):
                await money.jobs.change(made.id, state=JobState.FAILED, error="why")
    async with open_money(home) as money:
        (kept,) = await money.jobs.find()
    assert (kept.state, kept.error) == (JobState.FAILED, "why")
