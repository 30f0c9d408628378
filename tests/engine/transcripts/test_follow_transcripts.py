"""From an appended line to the board: the follower as the engine runs it."""

from __future__ import annotations

import asyncio
import json
import shutil
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from tests.engine.follow_kit import Following, done_job, messages
from tests.engine.transcript_kit import Tree, line, usage

from workers_tui.engine.jobs.job import JobKind, JobState
from workers_tui.engine.money import Cost, CostSource, from_usd
from workers_tui.engine.settings.config import ConfigFile
from workers_tui.engine.spending.schema import STORE_MIGRATIONS
from workers_tui.engine.store import store_file
from workers_tui.engine.store.store import Store
from workers_tui.engine.transcripts import index, index_build
from workers_tui.engine.transcripts.index import FileNews
from workers_tui.engine.transcripts.savings_view import SavingsView
from workers_tui.engine.transcripts.transcript_files import TranscriptFile
from workers_tui.engine.transcripts.transcripts import Reader
from workers_tui.engine.usage import Usage
from workers_tui.home.notices import read_notices
from workers_tui.home.places import Home

ASK: dict[str, Any] = {
    "type": "tool_use",
    "id": "toolu_1",
    "name": "mcp__workers__delegate",
    "input": {"task": "sum up", "files": ["a.log"]},
}
READ: dict[str, Any] = {
    "type": "tool_use",
    "id": "toolu_2",
    "name": "Read",
    "input": {"file_path": "/home/dev/project/a.log"},
}


async def test_what_is_there_is_on_the_board_at_start(start: Callable[..., Following]) -> None:
    view = await start().ready()
    assert messages(view) == 1
    assert view.models[0][0] == "claude-opus-4-8"


async def test_appended_lines_and_new_files_show_without_asking(
    start: Callable[..., Following], tree: Tree
) -> None:
    following = start()
    await following.ready()
    tree.add(line("m2", "r2"), name="old")
    await following.until(lambda view: messages(view) == 2)
    now = datetime.now(UTC).isoformat()
    tree.write(line("m3", "r3", timestamp=now), name="new", project="-home-dev-other")
    view = await following.until(lambda view: messages(view) == 3)
    assert view.today.manager.sums.messages == 1
    assert view.days[-1].manager_fresh == 115


async def test_own_prices_count_as_soon_as_they_are_saved(
    start: Callable[..., Following], tree: Tree, home: Home
) -> None:
    tree.write(line("m2", "r2", model="nobody-9"), name="odd")
    following = start()
    config = await ConfigFile.open(home, following.board, following.events)
    view = await following.ready()
    assert view.all_time.manager.unpriced == ("nobody-9",)
    listed = view.all_time.manager.cost_pico

    async def save(text: str) -> None:
        home.models_json.write_text(text)
        await config.refresh()

    prices = {"nobody-9": {"input": 1000, "output": 1000}}
    tiers = {"tiers": {"fast": {"model": "m"}}}
    await save(json.dumps({**tiers, "prices": prices}))
    view = await following.until(lambda view: not view.all_time.manager.unpriced)
    assert view.all_time.manager.cost_pico > listed
    await save('{"prices": {')
    tree.add(line("m3", "r3"), name="old")
    view = await following.until(lambda view: messages(view) == 3)
    assert not view.all_time.manager.unpriced, "a broken file took back what was in force"
    await save(json.dumps(tiers))
    await following.until(lambda view: view.all_time.manager.unpriced == ("nobody-9",))


async def test_what_is_written_before_the_watches_stand_shows_too(
    start: Callable[..., Following], tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def deaf(*_: object, **__: object) -> AsyncIterator[set[tuple[int, str]]]:
        await asyncio.Event().wait()
        yield set()

    monkeypatch.setattr("watchfiles.awatch", deaf)
    following = start()
    await following.ready()
    tree.add(line("m2", "r2"), name="old")
    await following.until(lambda view: messages(view) == 2)


async def test_a_directory_that_comes_later_is_found(
    home: Home, tmp_path: Path, start: Callable[..., Following], tree: Tree
) -> None:
    shutil.rmtree(tree.root)
    following = start()
    assert messages(await following.ready()) == 0
    tree.write(line())
    await following.until(lambda view: messages(view) == 1)


async def test_a_second_directory_that_comes_later_or_anew_is_heard_too(
    home: Home, tree: Tree, tmp_path: Path
) -> None:
    store = await Store.open(home.store_db, STORE_MIGRATIONS)
    second = Tree(tmp_path / "second")
    following = Following(home, store, {}, tree, second)
    await following.ready()
    second.write(line("m2", "r2"))
    await following.until(lambda view: messages(view) == 2)
    shutil.rmtree(second.root)
    second.write(line("m3", "r3"))
    await following.until(lambda view: messages(view) == 3)
    second.add(line("m4", "r4"))
    await following.until(lambda view: messages(view) == 4)
    await following.close()
    await store.close()


async def test_deleting_everything_changes_nothing(
    start: Callable[..., Following], tree: Tree
) -> None:
    following = start()
    await following.ready()
    shutil.rmtree(tree.root / "projects" / "-home-dev-project")
    tree.write(line("m2", "r2"), project="-other")
    await following.until(lambda view: messages(view) == 2)


async def test_a_job_joins_the_session_that_asked_and_the_hooks_hear_of_it(
    start: Callable[..., Following], tree: Tree, home: Home
) -> None:
    following = start()
    await following.ready()
    await following.jobs.create(done_job())
    tree.add(
        line("m2", "r2", content=[ASK], sessionId="s9", timestamp=datetime.now(UTC).isoformat())
    )
    view = await following.until(lambda view: view.sessions == 1)
    assert view.session_id == "s9"
    assert view.kept_out_tokens == 8_500
    assert view.percent == pytest.approx(100 * 10_500 / (10_500 + 115))
    assert view.net_low_pico is not None
    assert view.net_low_pico > 0
    async with asyncio.timeout(10):
        while not read_notices(home).line("s9"):  # noqa: ASYNC110 - the file is all that hooks see
            await asyncio.sleep(0)
    assert read_notices(home).line("s9") == (
        "workers handled 99 % of this session's tokens (workers 10k vs Claude 115)"
    )
    assert read_notices(home).all_time == (
        "workers, so far: workers handled 99 % of the tokens, "
        "8.5k tokens kept out of Claude's context, net +.0033 to +$0.04"
    )


async def test_silenced_savings_write_no_notice(
    start: Callable[..., Following], tree: Tree, home: Home
) -> None:
    following = start(WORKERS_SAVINGS="off")
    await following.ready()
    await following.jobs.create(done_job())
    await following.until(lambda view: view.all_time.figures.jobs == 1)
    assert not home.notices_json.exists()


async def test_a_delegated_file_that_claude_reads_itself_is_warned_about(
    start: Callable[..., Following], tree: Tree
) -> None:
    following = start()
    await following.ready()
    job = await following.jobs.create(done_job())
    later = datetime.now(UTC).replace(year=2990).isoformat()
    tree.add(
        line("m2", "r2", content=[ASK], timestamp=datetime.now(UTC).isoformat()),
        line("m3", "r3", content=[READ], timestamp=later),
    )
    view = await following.until(lambda view: view.all_time.figures.read_again == 1)
    assert view.kept_out_tokens == 0
    assert [one.job.id for one in view.lost_money] == [job.id]
    told = [event for event in following.events.since(0) if event.job == job.id]
    assert "a.log" in told[0].text


async def test_api_errors_are_told(start: Callable[..., Following], tree: Tree) -> None:
    following = start()
    await following.ready()
    tree.add(line("m2", isApiErrorMessage=True), line("m3", "r3"))
    await following.until(lambda view: messages(view) == 2)
    assert any("API error" in event.text for event in following.events.since(0))


async def test_the_report_is_the_commands(start: Callable[..., Following]) -> None:
    following = start()
    await following.ready()
    report = await following.follower.report(by="model")
    assert report["manager"]["messages"] == 1
    assert [group["key"] for group in report["by"]] == ["claude-opus-4-8"]


async def test_what_another_process_read_first_shows_here_too(
    start: Callable[..., Following], tree: Tree, home: Home, tmp_path: Path
) -> None:
    following = start()
    await following.ready()
    elsewhere = Tree(tmp_path / "elsewhere").write(line("m2", "r2"))
    news = FileNews(TranscriptFile(str(elsewhere), "p", "s", 0, 0, 0, 0), None,
                    Reader().read(str(elsewhere), "s"))  # fmt: skip

    def take() -> None:
        with closing(store_file.connect(home.index_db, durable=False)) as conn:
            (source,) = conn.execute(
                "SELECT id FROM source WHERE root = ?", (str(tree.root),)
            ).fetchone()
            conn.execute("BEGIN IMMEDIATE")
            index.apply(conn, source, [news])
            conn.execute("COMMIT")

    await asyncio.to_thread(take)
    await following.until(lambda view: messages(view) == 2)


async def test_a_copied_directory_is_never_shown_twice(
    home: Home, tree: Tree, tmp_path: Path
) -> None:
    store = await Store.open(home.store_db, STORE_MIGRATIONS)
    second = Tree(tmp_path / "second")
    second.path("old").parent.mkdir(exist_ok=True)
    following = Following(home, store, {}, tree, second)
    await following.ready()
    shutil.copytree(tree.root / "projects", second.root / "projects", dirs_exist_ok=True)
    second.add(line("m2", "r2"), name="old")
    seen = set[int]()

    def all_there(view: SavingsView) -> bool:
        seen.add(messages(view))
        return view.all_time.manager.sums.output == 10

    await following.until(all_there)
    assert seen <= {1, 2}
    await following.close()
    await store.close()


async def test_a_read_is_warned_about_though_no_delegation_comes_with_it(
    start: Callable[..., Following], tree: Tree
) -> None:
    following = start()
    await following.ready()
    await following.jobs.create(done_job())
    tree.add(line("m2", "r2", content=[ASK], timestamp=datetime.now(UTC).isoformat()))
    await following.until(lambda view: view.sessions == 1)
    later = datetime.now(UTC).replace(year=2990).isoformat()
    tree.add(line("m3", "r3", content=[READ], timestamp=later))
    await following.until(lambda view: view.all_time.figures.read_again == 1)


async def test_the_session_shown_is_the_one_that_delegated_last(
    start: Callable[..., Following],
) -> None:
    following = start()
    await following.ready()
    for number, session in enumerate(("s1", "s2", "s1")):
        at = datetime.now(UTC) + timedelta(seconds=number)
        await following.jobs.create(replace(done_job(), session=session, created_at=at))
    view = await following.until(lambda view: view.all_time.figures.jobs == 3)
    assert view.session_id == "s1"


async def test_each_tier_and_agent_worker_has_its_sums(start: Callable[..., Following]) -> None:
    following = start()
    await following.ready()
    job = done_job()
    unpaid = Cost(None, CostSource.UNKNOWN)
    for change in (
        {"tier": "fast"},
        {"tier": "fast", "cost": unpaid},
        {"tier": None, "worker": "glm", "kind": JobKind.AGENT},
        {"tier": "code", "usage": Usage(), "cost": None},
    ):
        await following.jobs.create(replace(job, **change))
    view = await following.until(lambda view: view.all_time.figures.jobs == 4)
    assert job.cost is not None
    assert {name: sums[:2] for name, sums in view.doers} == {
        "fast": (2, 2 * job.usage.fresh),
        "glm": (1, job.usage.fresh),
    }
    fast = dict(view.doers)["fast"]
    assert (fast.worker_pico, fast.unknown_costs) == (job.cost.pico, 1)


async def test_work_by_hand_counts_today_and_by_day_as_it_does_in_all(
    start: Callable[..., Following], tree: Tree, tmp_path: Path
) -> None:
    now = datetime.now(UTC)
    before, stamp = (now - timedelta(days=3)).isoformat(), now.isoformat()
    tree.write(line("m2", "r2", timestamp=before), line("m3", "r3", timestamp=stamp), name="old")
    hand = Tree(tmp_path / "workers" / "zai")
    hand.write(
        line("w1", "r1", counts=usage(100), sessionId="w", timestamp=before),
        line("w2", "r2", counts=usage(200), sessionId="w", timestamp=stamp),
        name="w",
    )
    view = await start(CLAUDE_WORKERS_ROOT=str(hand.root.parent)).ready()
    ever, today = view.all_time.figures, view.today.figures
    assert (ever.worker_fresh, ever.all_fresh, ever.sessions) == (520, 750, 1)
    assert (today.worker_fresh, today.all_fresh, today.sessions) == (310, 425, 1)
    assert view.shown is today
    assert [(one.manager_fresh, one.worker_fresh) for one in view.days] == [(115, 210), (115, 310)]


async def test_a_job_that_changes_is_counted_as_it_is_now(start: Callable[..., Following]) -> None:
    following = start()
    await following.ready()
    job = await following.jobs.create(replace(done_job(), session="s1", state=JobState.RUNNING))
    await following.until(lambda view: view.all_time.figures.jobs == 1)
    read = Usage(input=20_000, output=500)
    await following.jobs.change(job.id, usage=read, state=JobState.DONE, ended_at=job.created_at)
    view = await following.until(lambda view: view.kept_out_tokens == 17_500)
    assert view.all_time.figures.worker_fresh == 20_500
    assert view.all_time.figures.jobs == 1


async def test_a_job_tried_at_the_dashboard_is_no_loss(start: Callable[..., Following]) -> None:
    following = start()
    await following.ready()
    dear = Cost(from_usd(Decimal(9)), CostSource.REPORTED)
    lost = replace(done_job(), session="s1", cost=dear)
    await following.jobs.create(replace(lost, client="dashboard", files=(), sent=()))
    real = await following.jobs.create(lost)
    view = await following.until(lambda view: view.all_time.figures.jobs == 2)
    assert [one.job.id for one in view.lost_money] == [real.id]


@pytest.mark.parametrize("program", [sys.executable, "/bin/false"])
async def test_a_long_way_to_go_is_told_and_ends_at_the_same_figures(
    start: Callable[..., Following], tree: Tree, monkeypatch: pytest.MonkeyPatch, program: str
) -> None:
    monkeypatch.setattr(index_build, "WORTH_A_PROGRAM", 1)
    monkeypatch.setattr(sys, "executable", program)
    tree.write(*(line(f"m{n}", f"r{n}") for n in range(2, 12)), name="long")
    following = start()
    assert messages(await following.ready()) == 11
    told = [event.text for event in following.events.since(0)]
    assert told[0].startswith("reading ")
    assert any(text.startswith("100 %") for text in told) == (program != "/bin/false")
    tree.add(line("m99", "r99"), name="long")
    await following.until(lambda view: messages(view) == 12)
