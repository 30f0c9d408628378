"""`workers-tui savings` as a program: JSON by contract, tables, CSV, explanation."""

from __future__ import annotations

import asyncio
import csv
import io
import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from tests.engine.transcript_kit import Tree, line, make_tree, of_truth, usage

from workers_tui.engine.board import Board
from workers_tui.engine.clock import SystemClock
from workers_tui.engine.jobs.job import Job, JobKind, JobState, Sent
from workers_tui.engine.jobs.jobs import Jobs
from workers_tui.engine.money import Cost, CostSource, from_usd
from workers_tui.engine.spending import ledger_rows
from workers_tui.engine.spending.entry import Entry
from workers_tui.engine.spending.schema import STORE_MIGRATIONS
from workers_tui.engine.store.store import Store
from workers_tui.engine.transcripts.savings_report import BY
from workers_tui.engine.usage import Usage
from workers_tui.home.places import Home, find_home

T = {
    "messages": "messages",
    "input": "input_tokens",
    "output": "output_tokens",
    "cache_creation": "cache_creation_input_tokens",
    "cache_creation_1h": "cache_creation_1h",
    "cache_read": "cache_read_input_tokens",
}


class Program:
    """Runs the command with a home of its own."""

    def __init__(self, tmp_path: Path) -> None:
        self.root = tmp_path / "claude"
        self.workers = tmp_path / "claude-workers"
        self.environ = {
            **os.environ,
            "WORKERS_HOME": str(tmp_path / "home"),
            "CLAUDE_CONFIG_DIR": str(self.root),
            "CLAUDE_WORKERS_ROOT": str(self.workers),
            "TZ": "UTC",
        }

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "workers_tui", "savings", *arguments]
        return subprocess.run(
            command, env=self.environ, capture_output=True, text=True, timeout=60, check=False
        )

    def text(self, *arguments: str) -> str:
        done = self.run(*arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def json(self, *arguments: str) -> Any:
        return json.loads(self.text("--json", *arguments))


@pytest.fixture
def program(tmp_path: Path) -> Program:
    return Program(tmp_path)


def ours(row: dict[str, Any]) -> dict[str, int]:
    return {name: row[mine] for mine, name in T.items()}


def test_json_equals_the_truth_on_every_axis_cold_and_warm(program: Program) -> None:
    truth = make_tree(program.root, seed=11)
    for arguments in ((), (), ("--no-index",)):
        found = program.json(*arguments)
        assert ours(found["manager"]) == of_truth(truth["total"])
        assert found["files"]["count"] == truth["counts"]["files"]
        by_model = {row["model"]: ours(row) for row in found["models"]}
        assert by_model == {key: of_truth(row) for key, row in truth["by_model"].items()}
        for axis in ("day", "project", "model"):
            groups = program.json("--by", axis, *arguments)["by"]
            assert {row["key"]: ours(row) for row in groups} == {
                key: of_truth(row) for key, row in truth[f"by_{axis}"].items()
            }
    shutil.rmtree(program.root)
    assert ours(program.json()["manager"]) == of_truth(truth["total"])


def test_json_has_the_shape_of_the_contract(program: Program) -> None:
    Tree(program.root).write(line())
    Tree(program.workers / "zai").write(line(model="glm-5", counts=usage(5)))
    found = program.json()
    assert found["schema"] == 1
    assert set(found) == {
        "schema", "manager", "workers", "delegated", "models", "by", "savings", "files", "prices",
    }  # fmt: skip
    assert set(found["savings"]) >= {
        "worker_fresh_tokens", "all_fresh_tokens", "percent", "sessions", "kept_out_tokens",
        "net_usd_low", "net_usd_high",
    }  # fmt: skip
    assert set(found["manager"]) >= {*T, "fresh_tokens", "cost_usd", "unknown_price_models"}
    assert found["workers"]["zai"]["messages"] == 1
    assert found["manager"]["cost_usd"] == pytest.approx(0.0013)
    assert found["prices"]["source"] == "genai-prices"


def test_a_model_without_a_price_is_named(program: Program) -> None:
    Tree(program.root).write(line(model="nobody-9"))
    assert program.json()["manager"]["unknown_price_models"] == ["nobody-9"]
    assert "nobody-9" in program.text()


def test_since_and_by_narrow_the_answer(program: Program) -> None:
    first, second = "2026-06-10T12:00:00Z", "2026-06-12T12:00:00Z"
    Tree(program.root).write(line(timestamp=first), line("m2", timestamp=second))
    assert [row["key"] for row in program.json()["by"]] == ["2026-06-10", "2026-06-12"]
    assert program.json("--since", "2026-06-11")["manager"]["messages"] == 1
    assert program.json("--since", "20260611", "--no-index")["manager"]["messages"] == 1
    assert program.json("--by", "session")["by"][0]["key"] == "s1"
    project = program.json("--by", "project")["by"][0]
    assert (project["key"], project["path"]) == ("-home-dev-project", "/home/dev/project")


def test_csv_is_the_groups(program: Program) -> None:
    Tree(program.root).write(line())
    (row,) = csv.DictReader(io.StringIO(program.text("--csv", "--by", "model")))
    assert (row["key"], row["output"]) == ("claude-opus-4-8", "5")


def test_the_table_and_the_explanation_say_what_bends_the_figures(program: Program) -> None:
    searched = usage(server_tool_use={"web_search_requests": 2}, speed="fast")
    Tree(program.root).write(line(counts=searched, stop=None), b"junk\n")
    table = program.text()
    for part in ("2 web searches", "1 message in fast mode", "Broken off", "counted: 1 line."):
        assert part in table
    assert "counted once" in program.text("--explain")
    assert "Nothing was delegated yet" in table


def test_names_out_of_transcripts_are_never_executed_by_the_terminal(program: Program) -> None:
    evil: dict[str, Any] = {
        "model": "evil\x1b[31m\nname",
        "sessionId": "s\x1b]0;x\x07",
        "cwd": "/home/\x1b[2J",
    }
    Tree(program.root).write(line(**evil))
    told = [program.text(shape, "--by", axis) for shape in ("--csv", "--explain") for axis in BY]
    for text in (*told, *(program.text("--by", axis) for axis in BY)):
        assert all(one.isprintable() or one == "\n" for one in text)
    assert "evil?[31m?name" in program.text()


def test_a_long_name_leaves_room_for_the_figures(program: Program) -> None:
    Tree(program.root).write(line(model="m" * 5000 + "-end", sessionId="s" * 5000))
    for axis in ("model", "session"):
        table = program.text("--by", axis)
        assert max(map(len, table.splitlines())) < 140
        assert "…mmm" in table
        assert "m-end" in table
    assert program.json("--by", "session")["by"][0]["key"] == "s" * 5000


def test_several_directories_may_be_named(program: Program, tmp_path: Path) -> None:
    trees = [Tree(tmp_path / name) for name in ("one", "two")]
    for number, tree in enumerate(trees):
        tree.write(line(f"m{number}"))
    arguments = [part for tree in trees for part in ("--claude-dir", str(tree.root))]
    assert program.json(*arguments)["manager"]["messages"] == 2
    assert program.json(*arguments[:2])["manager"]["messages"] == 1


def test_a_named_directory_may_be_gone_but_must_have_been(program: Program, tmp_path: Path) -> None:
    tree = Tree(tmp_path / "one")
    tree.write(line())
    assert program.json("--claude-dir", str(tree.root))["manager"]["messages"] == 1
    shutil.rmtree(tree.root)
    assert program.json("--claude-dir", str(tree.root))["manager"]["messages"] == 1
    assert program.run("--claude-dir", str(tmp_path / "never")).returncode == 2


def test_wrong_use_is_one_line(program: Program) -> None:
    done = program.run("--since", "yesterday")
    assert done.returncode == 2
    assert len(done.stderr.strip().splitlines()) == 1
    assert "2026-06-30" in done.stderr


async def book_a_job(home: Home, cost: Cost | None = None, output: int = 500, **more: Any) -> None:
    """A finished call of session s1, as the engine books it."""
    store = await Store.open(home.store_db, STORE_MIGRATIONS)
    jobs = Jobs(store, Board(), SystemClock(), "engine", home.results)
    cost = cost or Cost(from_usd("0.001"), CostSource.REPORTED)
    read = Usage(input=10_000, output=output)
    sent = (Sent("a.log", 1, 100, 36_000, ""),)
    made = Job("", JobKind.CALL, JobState.DONE, "sum up", datetime.now(UTC), session="s1",
               usage=read, cost=cost, attempts=1, bytes_out=40_000, sent=sent)  # fmt: skip
    job = await jobs.create(replace(made, **more))
    day = datetime.now(UTC).date()
    entry = Entry(job.id, job.id, JobKind.CALL, "fast", "m", "p", read, cost, 5, "sum up", "ok",
                  session="s1", at=datetime.now(UTC))  # fmt: skip
    await store.write(lambda conn: ledger_rows.add(conn, entry, day, 0, ZoneInfo("UTC")))
    await store.close()


def test_what_was_delegated_is_set_against_what_claude_did(program: Program) -> None:
    Tree(program.root).write(line(timestamp=datetime.now(UTC).isoformat()))
    asyncio.run(book_a_job(find_home({"WORKERS_HOME": program.environ["WORKERS_HOME"]})))
    for arguments in ((), ("--since", "2026-01-01"), ("--by", "session")):
        found = program.json(*arguments)
        told = found["savings"]
        assert (told["worker_fresh_tokens"], told["all_fresh_tokens"]) == (10_500, 10_615)
        assert (told["sessions"], told["kept_out_tokens"]) == (1, 8_500)
        assert told["net_usd_high"] == pytest.approx(8_500 * 5e-6 - 0.001)
        delegated = found["delegated"]
        assert (delegated["calls"], delegated["in"], delegated["cost_usd"]) == (1, 10_000, 0.001)
    assert "Workers did 99 % of the work over 1 session that delegated" in program.text()


def test_figures_name_what_is_unknown_pending_and_estimated_in_them(program: Program) -> None:
    Tree(program.root).write(line(timestamp=datetime.now(UTC).isoformat()))
    home = find_home({"WORKERS_HOME": program.environ["WORKERS_HOME"]})
    known = Cost(from_usd("0.25"), CostSource.ESTIMATED)
    for cost in (known, Cost(None, CostSource.UNKNOWN), Cost(None, CostSource.PENDING)):
        asyncio.run(book_a_job(home, cost))
    table, counts = program.text(), program.text("--explain")
    request = (
        "3 requests to workers: 30k in, 1.5k out, $0.25 + 1 pending + 1 unknown, "
        "of which ~$0.25 is estimated."
    )
    assert request in table
    assert request in counts
    assert "Net -$0.24 to -$0.12 less 2 unknown; the formula" in table
    assert "Kept out: 27,000 tokens of files - 1,500 that came back = 25,500" in counts
    assert "Workers' share: 31,500 / (31,500 + Claude's 115) in 1 session, 3 jobs" in counts
    assert (
        "Net: $0.01 to $0.13 for what was kept out - $0.25 for workers "
        "= -$0.24 to -$0.12 less 2 unknown"
    ) in counts
    assert program.json()["delegated"]["estimated_usd"] == 0.25


def test_more_that_came_back_than_was_kept_out_is_said_so(program: Program) -> None:
    Tree(program.root).write(line(timestamp=datetime.now(UTC).isoformat()))
    home = find_home({"WORKERS_HOME": program.environ["WORKERS_HOME"]})
    asyncio.run(book_a_job(home, output=12_000))
    assert "3.0k tokens more came into Claude's context than were kept out of it." in program.text()


def test_without_a_price_for_claude_the_net_is_unknown(program: Program) -> None:
    Tree(program.root).write(line(model="nobody-9", timestamp=datetime.now(UTC).isoformat()))
    asyncio.run(book_a_job(find_home({"WORKERS_HOME": program.environ["WORKERS_HOME"]})))
    for arguments in ((), ("--explain",)):
        assert "?: Claude's model has no price" in program.text(*arguments)


def test_without_any_transcript_it_is_said_what_is_missing(program: Program) -> None:
    asyncio.run(
        book_a_job(find_home({"WORKERS_HOME": program.environ["WORKERS_HOME"]}), session=None)
    )
    said = program.text()
    assert "No session of Claude Code is known to have delegated" in said
    assert "Net ?: no transcript says what Claude would have cost; the formula" in said
    assert " 0 of 0 " not in said


def test_tables_without_a_row_are_a_sentence(program: Program) -> None:
    assert program.text().splitlines() == [
        "Claude Code's transcripts hold no message yet.",
        "",
        "Nothing was delegated yet: there is no saving to show.",
    ]
    Tree(program.root).write(line())
    assert program.text("--since", "2026-06-11").splitlines() == [
        "From 2026-06-11 on.",
        "",
        "Claude Code's transcripts hold no message from this day on.",
        "",
        "Nothing was delegated from this day on: there is no saving to show.",
    ]


def test_a_directory_that_is_none_of_claude_codes_is_not_counted_in_silence(
    program: Program, tmp_path: Path
) -> None:
    tree = Tree(tmp_path / "one")
    tree.write(line())
    wrong = program.run("--claude-dir", str(tree.path().parent), "--json")
    assert json.loads(wrong.stdout)["manager"]["messages"] == 0
    assert wrong.stderr.startswith(f"note: {tree.path().parent} has no `projects` in it")
    for right in (tree.root, tree.root / "projects"):
        done = program.run("--claude-dir", str(right), "--json")
        assert (json.loads(done.stdout)["manager"]["messages"], done.stderr) == (1, "")


@pytest.mark.parametrize("shapes", [("--json", "--csv"), ("--csv", "--explain")])
def test_two_shapes_of_one_answer_are_wrong_use(program: Program, shapes: tuple[str, ...]) -> None:
    done = program.run(*shapes)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"workers-tui: {' and '.join(shapes)} are shapes of one answer")


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ('{"prices": {"nobody-9": {"input": NaN, "output": 1}}}', "do not count: nobody-9"),
        ('{"prices": {"nobody-9": {"input": -5, "output": 1}}}', "do not count: nobody-9"),
        ('{"prices": 5}', "prices are no object"),
        ('{"prices": {', "no JSON that can be read"),
    ],
)
def test_own_prices_that_cannot_count_are_said(program: Program, settings: str, said: str) -> None:
    Tree(program.root).write(line(model="nobody-9"))
    home = find_home({"WORKERS_HOME": program.environ["WORKERS_HOME"]})
    home.config.mkdir()
    home.models_json.write_text(settings)
    for how in ((), ("--no-index",)):
        found = program.json(*how)
        assert (found["manager"]["cost_usd"], len(found["files"]["unreadable"])) == (0, 1)
        table = program.text(*how)
        assert f"Could not be read: {home.models_json}: " in table
        assert said in table


def test_settings_that_were_named_must_be_there(program: Program, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "workers_tui", "--config", str(tmp_path / "no"), "savings"]
    done = subprocess.run(
        command, env=program.environ, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 2
    assert done.stderr.endswith("no is not there; --config needs a models.json\n")


def test_models_are_not_told_twice(program: Program) -> None:
    Tree(program.root).write(line())
    for axis in ("model", "day"):
        assert program.text("--by", axis).count("claude-opus-4-8") == 1


@pytest.mark.parametrize("zone", ["UTC", "Pacific/Kiritimati", "Pacific/Pago_Pago"])
@pytest.mark.parametrize("since", ["0001-01-01", "1970-01-01", "9999-12-31"])
def test_any_day_can_be_the_first_that_counts(program: Program, since: str, zone: str) -> None:
    program.environ["TZ"] = zone
    asyncio.run(book_a_job(find_home({"WORKERS_HOME": program.environ["WORKERS_HOME"]})))
    found, counted = program.json("--since", since), 0 if since > "2000" else 1
    assert (found["savings"]["jobs"], found["delegated"]["calls"]) == (counted, counted)


def test_what_bends_a_workers_figures_is_named_too(program: Program) -> None:
    Tree(program.root).write(line())
    Tree(program.workers / "zai").write(line(model="nobody-9", stop=None))
    table = program.text()
    assert "Without a price, so not in the cost: nobody-9." in table
    assert "Broken off, so their output is a lower bound: 1 message." in table


def test_the_first_day_that_counts_is_said(program: Program) -> None:
    Tree(program.root).write(line())
    assert program.text("--since", "20260610").startswith("From 2026-06-10 on.")
    assert "Counted: from 2026-06-10 on" in program.text("--explain", "--since", "2026-06-10")


def test_without_the_index_it_is_told_what_was_billed_but_not_what_it_saved(
    program: Program,
) -> None:
    Tree(program.root).write(line(timestamp=datetime.now(UTC).isoformat()))
    asyncio.run(book_a_job(find_home({"WORKERS_HOME": program.environ["WORKERS_HOME"]})))
    for arguments in (("--no-index",), ("--no-index", "--explain")):
        said = program.text(*arguments)
        assert "1 request to workers: 10k in, 500 out, .0010." in said
        assert "What delegation saved is not counted with --no-index." in said
        assert "Nothing was delegated" not in said
    assert program.json("--no-index")["savings"]["counted"] is False
    assert program.json()["savings"]["counted"] is True


OLDER = {
    "workers": {
        "kimi": {
            "2026-06-09": {"input_tokens": 700, "output_tokens": 30},
            "2026-06-11": {"input_tokens": 50, "output_tokens": 7},
        }
    }
}


@pytest.mark.parametrize("more", [(), ("--since", "2026-06-10"), ("--by", "model")])
def test_with_and_without_the_index_all_but_the_saving_is_the_same(
    program: Program, more: tuple[str, ...]
) -> None:
    Tree(program.root).write(line(), line("m2", "r2", timestamp="2026-06-11T12:00:00Z"))
    Tree(program.workers / "zai").write(line("w", model="glm-5"))
    (program.workers / ".usage").mkdir()
    (program.workers / ".usage" / "ledger.json").write_text(json.dumps(OLDER))
    asyncio.run(book_a_job(find_home({"WORKERS_HOME": program.environ["WORKERS_HOME"]})))
    read_anew, indexed = program.json("--no-index", *more), program.json(*more)
    assert read_anew["workers"]["kimi"]["fresh_tokens"] == (57 if "--since" in more else 787)
    assert read_anew["delegated"]["calls"] == 1
    assert {**read_anew, "savings": None} == {**indexed, "savings": None}


def test_a_ledger_that_cannot_be_read_is_named_without_the_index(program: Program) -> None:
    Tree(program.root).write(line())
    store = find_home({"WORKERS_HOME": program.environ["WORKERS_HOME"]}).store_db
    store.parent.mkdir()
    store.write_bytes(b"no database, but long enough to be looked at" * 30)
    found = program.json("--no-index")
    assert found["manager"]["messages"] == 1
    assert str(store) in found["files"]["unreadable"][0]


def test_an_index_that_cannot_be_used_says_how_to_do_without(
    program: Program, tmp_path: Path
) -> None:
    Tree(program.root).write(line())
    (tmp_path / "home" / "index.db").mkdir(parents=True)
    done = program.run()
    assert done.returncode == 1
    assert done.stderr.strip().endswith("; or read every file anew with --no-index")
    assert program.json("--no-index")["manager"]["messages"] == 1


@pytest.mark.parametrize(
    ("model", "shown"),
    [
        ("=cmd|' /C calc'!A0", "'=cmd|' /C calc'!A0"),
        ("-2+3", "'-2+3"),
        ("@SUM(1)", "'@SUM(1)"),
        ("claude-opus-4-8", "claude-opus-4-8"),
    ],
)
def test_no_name_is_a_formula_to_a_spreadsheet(program: Program, model: str, shown: str) -> None:
    Tree(program.root).write(line(model=model))
    (row,) = csv.DictReader(io.StringIO(program.text("--csv", "--by", "model")))
    assert row["key"] == shown
    (row,) = csv.DictReader(io.StringIO(program.text("--csv", "--by", "project")))
    assert row["key"] == "-home-dev-project"


def test_csv_without_a_row_still_names_its_columns(program: Program) -> None:
    head = program.text("--csv").splitlines()
    assert len(head) == 1
    assert head[0].startswith("key,messages,input,output")


def test_a_worker_that_is_used_by_hand_joins_the_session_that_was_open(program: Program) -> None:
    Tree(program.root).write(
        line(timestamp="2026-06-10T12:00:00Z"), line("m2", timestamp="2026-06-10T13:00:00Z")
    )
    worker = Tree(program.workers / "zai")
    worker.write(line("w", sessionId="w1", timestamp="2026-06-10T12:30:00Z"), name="w1")
    worker.write(line("v", sessionId="w2", timestamp="2026-06-11T12:30:00Z"), name="w2")
    told = program.json()["savings"]
    assert (told["worker_fresh_tokens"], told["all_fresh_tokens"]) == (115, 345)
    assert (told["sessions"], told["percent"]) == (1, 33.33)


def test_work_by_hand_counts_from_the_first_day_that_counts(program: Program) -> None:
    late, early = "2026-06-10T23:59:00Z", "2026-06-11T00:01:00Z"
    Tree(program.root).write(line(timestamp=late), line("m2", "r2", timestamp=early))
    Tree(program.workers / "zai").write(
        line("w", sessionId="w1", timestamp="2026-06-10T23:59:30Z"),
        line("v", "r2", counts=usage(1000), sessionId="w1", timestamp=early),
        name="w1",
    )
    whole = program.json()["savings"]
    assert (whole["worker_fresh_tokens"], whole["all_fresh_tokens"]) == (1225, 1455)
    later = program.json("--since", "2026-06-11")["savings"]
    assert (later["worker_fresh_tokens"], later["all_fresh_tokens"]) == (1110, 1225)
    assert program.json("--since", "2026-06-12")["savings"]["sessions"] == 0


def test_an_agent_that_was_a_job_never_becomes_work_by_hand(program: Program) -> None:
    home = find_home({"WORKERS_HOME": program.environ["WORKERS_HOME"]})
    asyncio.run(book_a_job(home, kind=JobKind.AGENT, agent_session="w1"))
    tomorrow = (datetime.now(UTC) + timedelta(days=1)).isoformat()
    Tree(program.root).write(line(timestamp=tomorrow))
    worker = line("w", sessionId="w1", timestamp=tomorrow)
    Tree(program.workers / "zai").write(worker, name="w1")
    assert program.json("--since", tomorrow[:10])["savings"]["worker_fresh_tokens"] == 0


def test_a_damaged_index_is_built_anew_and_told(program: Program, tmp_path: Path) -> None:
    Tree(program.root).write(line())
    program.json()
    index = tmp_path / "home" / "index.db"
    index.write_bytes(b"SQLite format 3\0" + bytes(range(256)) * 64)
    found = program.json()
    assert found["manager"]["messages"] == 1
    assert "damaged" in found["files"]["unreadable"][0]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_without_an_index_nothing_is_written(program: Program, tmp_path: Path) -> None:
    Tree(program.root).write(line())
    tmp_path.chmod(0o500)
    try:
        assert program.json("--no-index")["manager"]["messages"] == 1
    finally:
        tmp_path.chmod(0o700)


def test_nothing_at_all_is_no_error(program: Program) -> None:
    assert program.json()["manager"]["messages"] == 0
    assert "Nothing was delegated yet" in program.text()
