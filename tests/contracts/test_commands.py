"""Contract 4.1: every command, its exit code, and one line on standard error."""

from __future__ import annotations

import csv
import json
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.contracts.program import KEY, Program
from tests.contracts.transcripts import transcript
from tests.contracts.upstream import Provider

COMMANDS = (
    "serve", "run", "connect", "worker", "key", "login", "stats", "jobs", "savings", "budget",
    "reconcile", "smoke", "doctor", "simulate", "import", "mcp", "hook",
)  # fmt: skip
FIRST_LINE = re.compile(
    r"\[fast/deepseek/deepseek-v4-flash in=\d+ out=\d+ \$\d+\.\d+ \(reported\) \d+ms job=\w{5}\]"
)


def test_help_names_every_command(program: Program) -> None:
    ran = program.good("--help")
    named = {line.split()[0] for line in ran.out.splitlines() if line.startswith("  ")}
    assert set(COMMANDS) <= named
    assert ran.err == ""


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(program: Program, command: str) -> None:
    ran = program.good(command, "--help")
    assert ran.out.startswith(f"Usage: workers-tui {command}")


def test_the_options_of_the_dashboard_are_those_of_the_contract(program: Program) -> None:
    said = program.good("--help").out
    for option in ("--config", "--home", "--host", "--port", "--project", "--demo", "--version"):
        assert option in said


def test_the_version_is_one_line_for_scripts() -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "workers_tui", "--version"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert re.fullmatch(r"workers-tui \d+\.\d+\.\d+\S*\n", ran.stdout)


@pytest.mark.parametrize(
    "arguments",
    [
        ("nonsense",),
        ("--nonsense",),
        ("run",),
        ("run", "task", "--max-tokens", "0"),
        ("run", "task", "--max-tokens", "many"),
        ("stats", "--nonsense"),
        ("jobs", "--state", "asleep"),
        ("jobs", "--limit", "0"),
        ("jobs", "show"),
        ("jobs", "show", "zzzzz"),
        ("jobs", "cancel", "zzzzz"),
        ("budget", "set", "much"),
        (),
        ("budget", "set", "nan"),
        ("budget", "set", "1e400"),
        ("budget", "set", "999999999999999999999"),
        ("run", "task", "--max-tokens", "99999999999999999999"),
        ("budget", "set", "--", "-1"),
        ("serve", "--port", "70000"),
        ("serve", "--project", "/nonexistent"),
        ("--project", "/nonexistent", "stats"),
        ("--config", "/nonexistent/models.json", "stats"),
        ("import", "/nonexistent.jsonl"),
        ("simulate", "--scenario", "/nonexistent.json"),
        ("savings", "--by", "moon"),
        ("savings", "--claude-dir", "/nonexistent"),
        ("savings", "--workers-root", "/nonexistent"),
        ("savings", "--since", "someday"),
        ("worker", "nonsense"),
        ("key", "set"),
    ],
    ids=" ".join,
)
def test_wrong_use_is_one_line_and_exit_code_2(
    program: Program, arguments: tuple[str, ...]
) -> None:
    ran = program.run(*arguments)
    assert ran.code == 2, ran
    assert ran.error.startswith("workers-tui: ")
    assert ran.out == ""


def test_run_prints_the_answer_and_its_facts_beside(program: Program) -> None:
    ran = program.good("run", "[[sim: text=the answer]]", "--tier", "fast")
    assert ran.out == "the answer\n"
    assert FIRST_LINE.match(ran.error)


def test_run_reads_the_task_from_a_pipe(program: Program) -> None:
    assert program.good("run", "-", stdin=b"[[sim: text=from a pipe]]").out == "from a pipe\n"


def test_run_sends_files_below_this_directory(program: Program, provider: Provider) -> None:
    program.file("src/debug.log", "the disk is full\n")
    program.good("run", "Summarise runs-files [[sim: text=x]]", "--file", "src/debug.log")
    (seen,) = provider.calls("runs-files")
    assert "the disk is full" in json.dumps(seen.body)


def test_run_writes_the_answer_into_a_file(program: Program) -> None:
    program.settings()
    ran = program.good(
        "run", "[[sim: text=def f(): ...]]", "--write-to", "made/f.py", "--tier", "code"
    )
    assert ran.out.startswith("wrote ")
    assert (program.project / "made/f.py").read_text().rstrip("\n") == "def f(): ..."


def test_run_sends_the_output_limit_it_was_given(program: Program, provider: Provider) -> None:
    program.good("run", "limit-of-77 [[sim: text=x]]", "--max-tokens", "77")
    (seen,) = provider.calls("limit-of-77")
    assert 77 in {seen.body.get("max_tokens"), seen.body.get("max_completion_tokens")}


def test_a_failed_call_is_exit_code_1(program: Program) -> None:
    ran = program.run("run", "[[sim: fault=403]]")
    assert ran.code == 1
    assert ran.out == ""
    assert "openrouter said 403: Access is not allowed in your region" in ran.error


def test_a_refused_call_is_exit_code_3(program: Program) -> None:
    program.settings(daily_budget_usd=0.000001)
    ran = program.run("run", "task")
    assert ran.code == 3
    assert ran.out == ""
    assert "cap" in ran.error


def test_an_interrupted_call_is_exit_code_130(program: Program, provider: Provider) -> None:
    running = program.start("run", "interrupt-me [[sim: tokens_per_second=2]]")
    provider.wait_for_call("interrupt-me")
    running.signal(signal.SIGINT)
    ran = running.wait()
    assert ran.code == 130
    assert "interrupted" in ran.error
    (job,) = program.good("jobs", "--json").json["jobs"]
    assert job["state"] == "cancelled"
    assert program.stats()["today"]["held_usd"] == 0


def test_jobs_lists_newest_first_and_by_state(program: Program) -> None:
    for number in range(3):
        program.good("run", f"[[sim: text={number}]] number {number}")
    program.run("run", "[[sim: fault=403]] number 3")
    listed = program.good("jobs", "--json").json["jobs"]
    assert [job["task"][-1] for job in listed] == ["3", "2", "1", "0"]
    done = program.good("jobs", "--json", "--state", "done", "--limit", "2").json["jobs"]
    assert [job["task"][-1] for job in done] == ["2", "1"]
    assert len(program.good("jobs").out.splitlines()) == 4
    shown = program.good("jobs", "show", done[0]["id"])
    assert "number 2" in shown.out
    assert shown.out.endswith("\n2\n")


def test_cancel_ends_another_process_job(program: Program, provider: Provider) -> None:
    running = program.start("run", "cancel-other [[sim: tokens_per_second=2]]")
    provider.wait_for_call("cancel-other")
    (job,) = program.good("jobs", "--json", "--state", "running").json["jobs"]
    program.good("jobs", "cancel", job["id"])
    ran = running.wait()
    assert ran.code == 130
    assert "cancelled" in ran.error
    again = program.run("jobs", "cancel", job["id"])
    assert again.code == 2
    assert "ended" in again.error


def test_the_cap_is_set_and_shown(program: Program) -> None:
    program.settings()
    assert program.good("budget", "set", "2.50").out.startswith("the cap was $3.00, is $2.50\n")
    assert json.loads(program.models_json.read_text())["daily_budget_usd"] == 2.5
    assert program.good("budget", "show", "--json").json == program.stats()["today"]
    assert "$2.50" in program.good("budget", "show").out
    program.good("budget", "set", "none")
    assert json.loads(program.models_json.read_text())["daily_budget_usd"] is None
    assert "no cap" in program.good("budget", "show").out


def test_keys_come_from_stdin_and_are_never_shown(program: Program) -> None:
    program.environ.pop("OPENROUTER_API_KEY")
    assert "missing" not in program.good("key", "list").err
    program.good("key", "set", "openrouter", stdin=f"{KEY}\n".encode())
    listed = program.good("key", "list")
    assert "openrouter" in listed.out
    assert KEY not in listed.out + listed.err
    assert program.good("run", "[[sim: text=paid]]").out == "paid\n"
    program.good("key", "remove", "openrouter")
    assert KEY not in (program.home / "keys.json").read_text()


@pytest.mark.parametrize("wrong", [b"", b"\n", b"key with blanks inside\n", b"\xff\xfe\n"])
def test_what_cannot_be_a_key_is_not_kept(program: Program, wrong: bytes) -> None:
    ran = program.run("key", "set", "openrouter", stdin=wrong)
    assert ran.code == 2, ran
    assert ran.error
    assert not (program.home / "keys.json").exists()


def test_a_key_is_no_argument(program: Program) -> None:
    assert program.run("key", "set", "openrouter", KEY).code == 2


def test_the_local_token_is_made_new_on_request(program: Program) -> None:
    with program.serving() as serving:
        before = serving.token
    program.good("key", "rotate-local")
    assert program.token != before
    with program.serving() as serving:
        assert serving.token == program.token != before


def test_an_older_ledger_is_taken_in_once(program: Program) -> None:
    row = {
        "ts": "2026-01-02T03:04:05Z",
        "model": "m",
        "in": 10,
        "out": 2,
        "cost": 0.5,
        "tier": "fast",
    }
    file = program.file("old.jsonl", json.dumps(row) + "\n" + '{"torn": ')
    said = program.good("import", str(file)).out
    assert said == "1 call taken in; left out as without sense: 1 line\n"
    program.good("import", str(file))
    assert program.stats()["all_time"]["cost_usd"] == 0.5
    assert program.stats()["today"]["cost_usd"] == 0


def test_reconcile_prints_the_drift(program: Program) -> None:
    said = program.good("reconcile").out
    assert "0 calls of open cost" in said
    assert "openrouter:" in said


@pytest.mark.parametrize("said", [b"", b"{", b"\xff\xfe\x00", b"[]", b'{"session_id": 7}'])
@pytest.mark.parametrize("event", ["session-start", "large-read", "after-dispatch", "nonsense", ""])
def test_a_hook_always_exits_with_0(program: Program, said: bytes, event: str) -> None:
    ran = program.run("hook", event, stdin=said)
    assert ran.code == 0
    assert "Traceback" not in ran.err


def test_simulate_says_where_it_listens(program: Program, tmp_path: Path) -> None:
    scenario = tmp_path / "scenario.json"
    scenario.write_text('{"rules": [{"behaviour": {"text": "by the rule"}}]}')
    running = program.start("simulate", "--scenario", str(scenario))
    line = running.line()
    assert re.fullmatch(r"listening on http://127\.0\.0\.1:\d+/api/v1", line)
    url = line.removeprefix("listening on ")
    assert program.good("run", "task", OPENROUTER_BASE_URL=url).out == "by the rule\n"
    running.signal(signal.SIGTERM)
    assert running.wait().code == 0


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130), (signal.SIGHUP, 0)]
)
def test_serve_leaves_in_good_order(program: Program, number: signal.Signals, code: int) -> None:
    with program.serving() as serving:
        serving.process.signal(number)
        ran = serving.process.wait()
    assert (ran.code, ran.out, ran.err) == (code, "", "")
    assert not (program.home / "server.json").exists()


def test_serve_takes_its_options_after_the_command(program: Program) -> None:
    with program.serving("--host", "127.0.0.1", "--project", str(program.project)) as serving:
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/mcp", serving.url)


def test_a_reader_who_leaves_early_is_no_error(program: Program) -> None:
    for number in range(2):
        program.good("run", f"[[sim: text={number}]]")
    shell = f"{sys.executable} -m workers_tui jobs --json | head -c 5"
    ran = subprocess.run(
        ["/bin/sh", "-c", shell], env=program.environ, capture_output=True, text=True, check=True
    )
    assert ran.stderr == ""


@pytest.mark.parametrize("command", [("stats",), ("jobs",), ("savings",), ("budget", "show")])
def test_a_cp1252_pipe_breaks_no_statistics(program: Program, command: tuple[str, ...]) -> None:
    program.settings(tiers={"schnell✓": {"model": "deepseek/deepseek-v4-flash"}})
    program.good("run", "Größe 目 ✓ [[sim: text=ok]]")
    program.good(*command, PYTHONIOENCODING="cp1252")


def test_dry_run_of_connect_changes_nothing(program: Program) -> None:
    before = sorted(path for path in program.root.rglob("*") if path.is_file())
    program.good("connect", "--dry-run", "--scope", "project")
    after = sorted(path for path in program.root.rglob("*") if path.is_file())
    assert [path for path in after if path.parent != program.home] == before


def test_smoke_is_a_line_each_and_fails_by_its_exit_code(
    program: Program, own_provider: Provider
) -> None:
    program.settings()
    good = program.good("smoke")
    lines = good.out.splitlines()
    assert [line.split()[0] for line in lines] == ["ok"] * len(lines)
    for name in ("tools", "fast", "code", "batch", "sandbox"):
        assert name in good.out
    own_provider.change(default={"fault": "403"})
    bad = program.run("smoke", OPENROUTER_BASE_URL=own_provider.url)
    assert bad.code == 1
    assert "Access is not allowed" in bad.out
    assert "Traceback" not in bad.err


def test_doctor_says_what_is_wrong_and_how_to_mend_it(program: Program) -> None:
    program.home.mkdir(mode=0o700)
    program.models_json.write_text("{")
    said = program.run("doctor", "--json").json
    wrong = [check for check in said["checks"] if not check["ok"]]
    (config,) = [check for check in wrong if "models.json" in check["detail"]]
    assert config["fix"]
    ran = program.run("doctor")
    assert config["detail"] in ran.out
    assert "Traceback" not in ran.err


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_can_complete(program: Program, shell: str) -> None:
    said = program.good(_WORKERS_TUI_COMPLETE=f"{shell}_source").out
    assert "workers-tui" in said
    found = program.good(
        _WORKERS_TUI_COMPLETE="bash_complete", COMP_WORDS="workers-tui bud", COMP_CWORD="1"
    )
    assert "budget" in found.out


def test_savings_as_a_table_and_explained(program: Program) -> None:
    transcript(program.root / "user/.claude", "a", output=10)
    rows = list(csv.reader(program.good("savings", "--csv", "--by", "session").out.splitlines()))
    assert len({len(row) for row in rows}) == 1
    assert "fresh_tokens" in rows[0]
    assert "session-a" in {cell for row in rows for cell in row}
    assert len(program.good("savings", "--explain").out) > len(program.good("savings").out)


def test_nothing_is_coloured_in_a_pipe(program: Program) -> None:
    program.good("run", "[[sim: text=x]]")
    for command in ("stats", "jobs", "savings", "doctor"):
        assert "\x1b" not in program.run(command).out
