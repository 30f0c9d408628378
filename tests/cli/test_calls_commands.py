"""run, jobs, stats, budget, key, reconcile and import, as the shell's user meets them."""

from __future__ import annotations

import io
import json
import stat
import sys
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from tests.cli.sim_kit import simulator

from workers_tui.cli import safe
from workers_tui.cli.budget import amount
from workers_tui.cli.main import main
from workers_tui.cli.table import cells
from workers_tui.cli.words import usd
from workers_tui.engine.errors import WrongUse
from workers_tui.home.places import Home
from workers_tui.simulator.scenario import scenario_of
from workers_tui.simulator.simulator import Simulator

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def sim() -> Iterator[Simulator]:
    """A provider on loopback."""
    with simulator() as running:
        yield running


@pytest.fixture
def run(
    home: Home,
    tmp_path: Path,
    sim: Simulator,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Run:
    """Runs a command in a directory of its own: exit code, stdout, stderr."""
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    monkeypatch.setenv("WORKERS_HOME", str(home.state))
    monkeypatch.setenv("OPENROUTER_BASE_URL", sim.url)
    monkeypatch.setenv("OPENROUTER_API_KEY", "sk-or-v1-good")

    def command(*argv: str, stdin: bytes | None = None) -> tuple[int, str, str]:
        if stdin is not None:
            monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        code = main(list(argv))
        out, err = capsys.readouterr()
        return code, out, err

    return command


def good(found: tuple[int, str, str]) -> str:
    """What a command printed that went well."""
    code, out, err = found
    assert code == 0, err
    return out


def parsed(found: tuple[int, str, str]) -> Any:
    return json.loads(good(found))


def test_run_prints_the_answer_alone_and_its_facts_beside(run: Run) -> None:
    code, out, err = run("run", "say [[sim: text=done]]")
    assert (code, out) == (0, "done\n")
    assert err.startswith("[fast/deepseek/deepseek-v4-flash in=")
    assert "(reported)" in err


def test_run_as_json_is_the_contract(run: Run) -> None:
    Path("a.txt").write_text("x\n")
    found = parsed(run("run", "sum [[sim: text=done]]", "--file", "a.txt", "--json"))
    assert found["schema"] == 1
    job = found["job"]
    assert (job["state"], job["text"], job["tier"]) == ("done", "done", "fast")
    assert job["tier_reason"].startswith("fast, because ")
    assert job["cost_source"] == "reported"
    assert {"id", "kind", "waiting_for", "worker", "started_at", "ms", "result_path"} <= set(job)


@pytest.mark.parametrize(
    ("argv", "code", "said"),
    [
        (["run", " "], 2, "the task is empty"),
        (["run", "x", "--tier", "fats"], 2, "there is no tier 'fats'"),
        (["run", "x", "--file", "none.txt"], 2, "no such file"),
        (["run", "x", "--file", "../../out.txt"], 3, "outside"),
        (["run", "x", "--write-to", ".git/hooks/x"], 3, "not written by a worker"),
        (["run", "x", "--max-tokens", "0"], 2, "0"),
        (["run", "[[sim: fault=500]]"], 1, "500"),
        (["run", "[[sim: fault=moderation-403]]"], 1, "403"),
        (["run", "[[sim: fault=html-200]]"], 1, "a web page"),
        (["jobs", "show", "zzzzz"], 2, "there is no job zzzzz"),
        (["jobs", "cancel", "zzzzz"], 2, "there is no job zzzzz"),
        (["jobs", "--state", "gone"], 2, "there is no state 'gone'"),
        (["budget", "set", "much"], 2, "is no amount"),
        (["budget", "set", "1e999999999"], 2, "between 0 and 1,000,000 dollars"),
        (["budget", "set", "-1"], 2, "a cap of -1 makes no sense"),
        (["key", "set", ""], 2, "'' is no name of a provider"),
        (["key", "set", "a\x1b[2Jb"], 2, "is no name of a provider"),
        (["key", "remove", "nobody"], 2, "no key is kept"),
        (["import", "none.jsonl"], 2, "there is no file"),
        (["--config", "none.json", "stats"], 2, "is not there"),
    ],
)
def test_what_goes_wrong_is_one_line_and_the_right_code(
    run: Run, argv: list[str], code: int, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workers_tui.engine.calls.attempts.FIRST_BACKOFF", 0.001)
    found, _, err = run(*argv)
    assert found == code, err
    assert said in err
    assert len(err.splitlines()) == 1
    assert "Traceback" not in err


def test_a_missing_key_is_named(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENROUTER_API_KEY")
    monkeypatch.delenv("OPENROUTER_BASE_URL")
    code, _, err = run("run", "x")
    assert code == 1
    assert "key set openrouter" in err


def test_broken_settings_name_the_line(run: Run, home: Home) -> None:
    home.models_json.write_text('{\n "tiers": {\n')
    code, _, err = run("run", "x")
    assert code == 2
    assert "models.json line 3" in err
    assert len(err.splitlines()) == 1


@pytest.mark.parametrize("command", [("stats",), ("budget", "show")])
def test_broken_settings_leave_the_cap_unknown_and_not_open(
    run: Run, home: Home, command: tuple[str, ...]
) -> None:
    home.models_json.write_text('{\n "tiers": {\n')
    code, out, err = run(*command)
    assert code == 0
    assert "the cap is not known" in out
    assert "no cap" not in out
    assert "models.json line 3" in err


def test_no_room_under_the_cap_is_refused(run: Run) -> None:
    good(run("budget", "set", "0.000001"))
    code, _, err = run("run", "x")
    assert code == 3
    assert "no room under the daily cap" in err


def test_what_came_before_a_failure_is_kept(run: Run) -> None:
    code, out, err = run("run", "[[sim: fault=cut, text=one two three four five six]]")
    assert (code, out) == (1, "")
    job_id = parsed(run("jobs", "--json"))["jobs"][0]["id"]
    assert job_id in err
    found = parsed(run("jobs", "show", job_id, "--json"))["job"]
    assert found["text"]
    assert found["cost_source"] in {"estimated", "reconciled"}


def test_run_reads_the_task_from_a_pipe_whatever_its_bytes(run: Run) -> None:
    assert good(run("run", "-", stdin=b"say \xff\xfe [[sim: text=ok]]")) == "ok\n"


def test_run_writes_a_file(run: Run) -> None:
    out = good(run("run", "[[sim: text=new]]", "--write-to", "out/x.txt"))
    assert Path("out/x.txt").read_text() == "new"
    assert "out/x.txt" in out


def test_jobs_are_newest_first_and_shown_in_words(run: Run) -> None:
    for text in ("older", "newer"):
        good(run("run", f"{text} [[sim: text={text}]]"))
    rows = good(run("jobs")).splitlines()
    assert [row.rsplit("  ", 1)[1].split()[0] for row in rows] == ["newer", "older"]
    listed = parsed(run("jobs", "--json", "--limit", "1"))["jobs"]
    assert len(listed) == 1
    assert parsed(run("jobs", "--json", "--state", "failed"))["jobs"] == []
    shown = good(run("jobs", "show", listed[0]["id"]))
    assert "newer" in shown
    assert "reported" in shown


def test_columns_are_straight_whatever_names_stand_in_them(run: Run, home: Home) -> None:
    long, wide = "a tier with a long name", "日本語の仕事"
    tiers = {name: {"model": "deepseek/deepseek-v4-flash"} for name in (long, wide)}
    home.models_json.write_text(json.dumps({"tiers": tiers}))
    for name in tiers:
        good(run("run", f"task [[sim: text={name}]]", "--tier", name))
        good(run("key", "set", name, stdin=b"sk-or-v1-good"))
    jobs = good(run("jobs")).splitlines()
    assert len({cells(row[: row.index("task")]) for row in jobs}) == 1
    keys = [row for row in good(run("key", "list")).splitlines() if "kept;" in row]
    assert len({cells(row[: row.index("kept;")]) for row in keys}) == 1
    table = good(run("stats")).splitlines()[3:]
    assert len(table) == 5
    assert len({cells(row) for row in table}) == 1


@pytest.mark.parametrize("what", ["a directory", "a loop"])
def test_what_stands_where_a_file_of_ours_belongs_is_said_in_a_line(
    run: Run, home: Home, what: str
) -> None:
    if what == "a directory":
        home.token.mkdir(parents=True)
    else:
        home.token.symlink_to(home.token)
    code, _, err = run("key", "rotate-local")
    assert code == 1
    assert err.startswith(f"workers-tui: {home.token} cannot be used: ")
    assert "error of its own" not in err


def test_an_ended_job_cannot_be_cancelled(run: Run) -> None:
    good(run("run", "[[sim: text=x]]"))
    job = parsed(run("jobs", "--json"))["jobs"][0]["id"]
    code, _, err = run("jobs", "cancel", job)
    assert code == 2
    assert "has ended already: done" in err


def test_stats_are_the_contract(run: Run) -> None:
    good(run("run", "x [[sim: text=done]]"))
    found = parsed(run("stats", "--json"))
    assert found["schema"] == 1
    assert {"day", "timezone", "resets_at", "budget_usd", "today", "all_time", "tiers"} <= set(
        found
    )
    today = found["today"]
    assert today["calls"] == 1
    assert today["cost_usd"] == today["reported_usd"] > 0
    assert today["held_usd"] == 0
    assert today["free_usd"] == pytest.approx(3 - today["cost_usd"])
    assert found["tiers"]["fast"]["all_time"]["calls"] == 1
    assert found["tiers"]["code"]["today"]["calls"] == 0
    assert found["ledger"] == {"path": found["ledger"]["path"], "rows": 1, "bad_rows": 0}
    assert "fast" in good(run("stats"))
    assert parsed(run("budget", "show", "--json"))["calls"] == 1


def test_the_cap_is_set_and_taken_away(run: Run, home: Home) -> None:
    assert "is $2.5" in good(run("budget", "set", "2.50"))
    assert good(run("budget")) == "spent $0.00, held $0.00, free $2.50 of $2.50\n"
    assert json.loads(home.models_json.read_text())["daily_budget_usd"] == 2.5
    assert "there is no cap" in good(run("budget", "set", "none"))
    assert json.loads(home.models_json.read_text())["daily_budget_usd"] is None
    assert parsed(run("budget", "show", "--json"))["free_usd"] is None
    assert "there is no cap" in good(run("budget", "show"))


def test_keys_come_from_a_pipe_and_are_never_shown(
    run: Run, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENROUTER_API_KEY")
    out = good(run("key", "set", "openrouter", stdin=b"sk-or-v1-secret\n"))
    assert json.loads(home.keys_json.read_text()) == {"openrouter": "sk-or-v1-secret"}
    assert stat.S_IMODE(home.keys_json.stat().st_mode) == 0o600
    listed = good(run("key", "list"))
    assert "openrouter" in listed
    assert "kept" in listed
    assert "secret" not in out + listed
    assert good(run("run", "[[sim: text=x]]")) == "x\n"
    good(run("key", "remove", "openrouter"))
    assert "missing" in good(run("key", "list")) or "none needed" in good(run("key", "list"))


@pytest.mark.parametrize("typed", [b"", b"\n", b"half\na key\n", b"\xff\xfe"])
def test_what_is_no_key_is_refused(run: Run, home: Home, typed: bytes) -> None:
    code, _, err = run("key", "set", "openrouter", stdin=typed)
    assert code == 2
    assert "key" in err
    assert not home.keys_json.exists()


@pytest.mark.parametrize("argument", ["sk-or-v1-secret", "--key=sk-or-v1-secret"])
def test_a_key_is_no_argument_and_not_repeated(run: Run, home: Home, argument: str) -> None:
    code, out, err = run("key", "set", "openrouter", argument, stdin=b"sk-or-v1-other")
    assert code == 2
    assert "standard input" in err
    assert "secret" not in out + err
    assert not home.keys_json.exists()


HOSTILE = "a\x1b]0;owned\x07b\x1b[2Jc\x9b31m\td\nnext"


@pytest.fixture
def hostile() -> Iterator[Simulator]:
    """A worker that tries to drive the terminal, under a name that does so, too."""
    how = {"text": HOSTILE, "served": "evil\x1b[31m/model\nx"}
    with simulator(scenario_of({"default": how})) as sim:
        yield sim


def test_an_answer_goes_as_it_is_into_a_pipe_and_is_not_obeyed_by_a_terminal(
    run: Run, hostile: Simulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENROUTER_BASE_URL", hostile.url)
    code, out, err = run("run", "x")
    assert (code, out) == (0, HOSTILE + "\n")
    assert err.count("\n") == 1
    assert "\x1b" not in err
    monkeypatch.setattr(safe, "is_terminal", lambda: True)
    job = parsed(run("jobs", "--json"))["jobs"][0]["id"]
    for command in (("run", "x"), ("jobs", "show", job)):
        code, out, err = run(*command)
        assert code == 0
        assert {"\x1b", "\x07", "\x9b"}.isdisjoint(out + err)
        assert "a␛]0;owned␇b␛[2Jc" in out
        assert "\td\nnext\n" in out


def test_reconcile_tells_the_drift(run: Run) -> None:
    good(run("run", "[[sim: text=x, fault=no-usage]]"))
    out = good(run("reconcile"))
    assert out.startswith("1 call of open cost: 1 settled")
    assert "drift $0.00" in out
    assert parsed(run("jobs", "--json"))["jobs"][0]["cost_source"] == "reconciled"


def test_an_older_ledger_is_taken_in_once(run: Run) -> None:
    old = {"ts": "2026-11-01T10:00:00Z", "tier": "fast", "model": "m", "in": 5, "out": 6,
           "cost": 0.25, "ms": 9, "task": "old"}  # fmt: skip
    Path("old.jsonl").write_text(json.dumps(old) + "\n{torn")
    said = "1 call taken in; left out as without sense: 1 line\n"
    assert good(run("import", "old.jsonl")) == said
    assert good(run("import", "old.jsonl")).startswith("0 ")
    assert parsed(run("stats", "--json"))["all_time"]["cost_usd"] == 0.25


@pytest.mark.parametrize(
    ("said", "usd_"),
    [("2.5", Decimal("2.5")), ("$3", Decimal(3)), ("0", Decimal(0)), ("NONE", None)],
)
def test_amounts(said: str, usd_: Decimal | None) -> None:
    assert amount(said) == usd_


@pytest.mark.parametrize("said", ["", "nan", "inf", "1,5", "-0.01"])
def test_what_is_no_amount(said: str) -> None:
    with pytest.raises(WrongUse):
        amount(said)


def test_dollars_in_words() -> None:
    assert [usd(pico) for pico in (0, 10**12, 34_335_000, -5 * 10**11, None)] == [
        "$0.00",
        "$1.00",
        "$0.000034",
        "-$0.50",
        "$?",
    ]
