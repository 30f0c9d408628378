"""The command group itself: unknown commands, help, encodings."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import click
import pytest

from workers_tui import __version__
from workers_tui.cli.main import COMMANDS, ELSEWHERE, load, main
from workers_tui.engine.errors import WorkFailed
from workers_tui.home.places import Home


def test_an_unknown_command_is_one_line_and_exit_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["deleget"]) == 2
    assert capsys.readouterr().err == (
        "workers-tui: there is no command 'deleget'; see: workers-tui --help\n"
    )


@pytest.mark.parametrize("name", [*COMMANDS, *ELSEWHERE])
def test_every_command_explains_itself(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([name, "--help"]) == 0
    assert "Usage: workers-tui" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("group", "verbs"),
    [
        ("worker", "create finalize list presets remove set-key"),
        ("key", "list remove rotate-local set"),
    ],
)
def test_a_group_without_its_verb_shows_them_all_in_full(
    group: str, verbs: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([group]) == 0
    said = capsys.readouterr()
    assert said.err == ""
    listed = said.out.partition("Commands:\n")[2].splitlines()
    assert [line.split()[0] for line in listed] == verbs.split()
    assert all(line.endswith(".") and not line.endswith("...") for line in listed)


@pytest.mark.parametrize(
    ("given", "command"),
    [
        (["budget", "5"], "workers-tui budget"),
        (["budget", "set"], "workers-tui budget set"),
        (["jobs", "--limit", "many"], "workers-tui jobs"),
        (["--port", "99999999"], "workers-tui"),
        (["jobs", "--stat\x1b[2Je"], "workers-tui jobs"),
        (["jobs", "--stat"], "workers-tui jobs"),
    ],
)
def test_wrong_use_is_one_line_that_says_where_help_is(
    given: list[str], command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(given) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.endswith((f"; see: {command} --help", f"? See: {command} --help"))
    assert line.isprintable()


def test_help_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    shown = capsys.readouterr().out
    assert [name for name in (*COMMANDS, *ELSEWHERE) if f"\n  {name}" not in shown] == []


@pytest.mark.parametrize(("name", "line"), COMMANDS.items())
def test_the_list_says_what_the_command_says(name: str, line: str) -> None:
    assert load(name).get_short_help_str(200) == line


def test_the_version_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert __version__ in capsys.readouterr().out


def test_output_survives_a_cp1252_pipe() -> None:
    run = subprocess.run(
        [sys.executable, "-m", "workers_tui", "--help"],
        capture_output=True,
        env={"PYTHONIOENCODING": "cp1252", "PATH": "/usr/bin", "HOME": "/nonexistent"},
        check=False,
        timeout=60,
    )
    assert run.returncode == 0
    assert b"Traceback" not in run.stderr


def test_a_defect_of_our_own_is_one_line_and_in_the_log(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    def broken(_name: str) -> click.Command:
        raise RuntimeError("it should\nnot be")

    monkeypatch.setattr("workers_tui.cli.main.load", broken)
    assert main(["stats"]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("workers-tui: ended by an error of its own (RuntimeError: it should not")
    assert caplog.records[-1].exc_info is not None


DEFECT = """
import sys
from workers_tui.cli import main, savings
def broken(*_, **__):
    raise RuntimeError("it should not be")
savings.find_sources = broken
sys.exit(main.main(["savings"]))
"""


def test_a_command_that_had_no_log_yet_gets_one_for_a_defect(home: Home) -> None:
    done = subprocess.run(
        [sys.executable, "-c", DEFECT],
        env={**os.environ, "WORKERS_HOME": str(home.state)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line.startswith("workers-tui: ended by an error of its own (RuntimeError: it should not")
    assert "Traceback" in home.log.read_text()


def test_the_words_of_an_error_are_not_obeyed_by_the_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def hostile(_name: str) -> click.Command:
        raise WorkFailed("it has: \x1b[2Jmodel\nand more")

    monkeypatch.setattr("workers_tui.cli.main.load", hostile)
    assert main(["stats"]) == 1
    assert capsys.readouterr().err == "workers-tui: it has: ␛[2Jmodel␊and more\n"


def test_a_demo_is_not_mixed_up_with_a_command_that_costs(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["--demo", "run", "a task"]) == 2
    assert capsys.readouterr().err == (
        "workers-tui: --demo is a screen of its own: leave out 'run'\n"
    )


@pytest.mark.parametrize("given", [["worker", "presets"], ["worker"], ["--help"], ["--version"]])
def test_a_reader_that_has_read_enough_is_no_failure(given: list[str]) -> None:
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-m", "workers_tui", *given]
    done = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, timeout=60, check=False)
    os.close(write)
    assert (done.returncode, done.stderr) == (0, b"")


def test_without_a_terminal_the_dashboard_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("os.isatty", lambda _: False)
    assert main([]) == 2
    assert "`workers-tui serve`" in capsys.readouterr().err


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device")
@pytest.mark.parametrize("command", ["stats", "savings --csv", "simulate --port 0", "--version"])
def test_output_that_cannot_be_written_is_one_line(tmp_path: Path, command: str) -> None:
    with Path("/dev/full").open("wb") as full:
        run = subprocess.run(
            [sys.executable, "-m", "workers_tui", "--home", tmp_path / "w", *command.split()],
            stdout=full,
            stderr=subprocess.PIPE,
            env={"PATH": "/usr/bin", "HOME": str(tmp_path)},
            check=False,
            timeout=60,
        )
    assert run.returncode == 1
    assert run.stderr == b"workers-tui: the output cannot be used: No space left on device\n"


def test_a_directory_that_cannot_be_made_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def read_only(path: Path, **_: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system", str(path))

    monkeypatch.setenv("CLAUDE_WORKERS_ROOT", "/nowhere/workers")
    monkeypatch.setattr(Path, "mkdir", read_only)
    assert main(["worker", "create", "glm", "--preset", "zai"]) == 1
    said = capsys.readouterr().err
    assert said == "workers-tui: /nowhere/workers cannot be used: Read-only file system\n"


@pytest.mark.parametrize("command", ["doctor", "run x", "connect --dry-run"])
def test_a_current_directory_that_is_gone_is_said_in_a_line(tmp_path: Path, command: str) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    done = subprocess.run(
        ["/bin/sh", "-c", f"rmdir {gone}; exec {sys.executable} -P -m workers_tui {command}"],
        cwd=gone, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        "workers-tui: the current directory is gone; change to another one"
    ]


@pytest.mark.parametrize("command", ["stats", "worker list", "savings"])
def test_a_user_without_a_home_directory_is_told_in_a_line(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def nobody(_: int) -> None:
        raise KeyError("uid not found")

    for name in ("HOME", "WORKERS_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("pwd.getpwuid", nobody)
    assert main(command.split()) == 1
    assert capsys.readouterr().err == (
        "workers-tui: this user has no home directory: set HOME to one\n"
    )


@pytest.mark.parametrize("command", ["jobs", "hook opt-out 0a1b2c3d"])
@pytest.mark.parametrize("mask", ["000", "777"])
def test_any_umask_leaves_the_home_to_the_user_alone(
    tmp_path: Path, mask: str, command: str
) -> None:
    home = tmp_path / "home"
    shell = f"umask {mask}; exec {sys.executable} -m workers_tui --home {home} {command}"
    subprocess.run(["/bin/sh", "-c", shell], check=True, capture_output=True, timeout=60)
    for path in (home, *home.rglob("*")):
        wanted = 0o700 if path.is_dir() else 0o600
        assert path.stat().st_mode & 0o777 == wanted, path


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_closed_stream_is_no_defect(tmp_path: Path, closed: str) -> None:
    log, home = tmp_path / "log", tmp_path / "home"
    shell = f"{sys.executable} -m workers_tui --home {home} doctor {closed}"
    subprocess.run(
        ["/bin/sh", "-c", shell],
        check=False,
        stdout=log.open("w"),
        stderr=log.open("a"),
        timeout=60,
    )
    assert "error of its own" not in log.read_text()
    assert "Traceback" not in log.read_text()
    written = home / "log"
    assert not written.is_file() or "a defect of our own" not in written.read_text()
