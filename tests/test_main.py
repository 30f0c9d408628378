"""The front door: small commands go to small programs, everything else to the command line."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from workers_tui import __version__
from workers_tui.__main__ import leading_options, run

HEAVY = {"click", "textual", "mcp", "httpx", "pydantic", "asyncio"}


def python(
    *arguments: str, stdin: bytes = b"", **environ: str
) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, *arguments],
        input=stdin,
        capture_output=True,
        check=False,
        timeout=60,
        env={"PATH": os.defpath, **environ},
    )


def loaded_by(tmp_path: Path, *arguments: str) -> set[str]:
    """Top-level modules in memory when a command has ended."""
    done = python(
        "-X",
        "importtime",
        "-m",
        "workers_tui",
        *arguments,
        stdin=b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n',
        WORKERS_HOME=str(tmp_path),
    )
    lines = done.stderr.decode().splitlines()
    names = [line.rpartition("|")[2].strip() for line in lines if line.startswith("import time:")]
    return {name.split(".")[0] for name in names}


def test_version_is_printed_alone() -> None:
    done = python("-m", "workers_tui", "--version")
    assert done.stdout.decode() == f"workers-tui {__version__}\n"
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("arguments", ["--version", "hook --help"])
def test_a_full_output_is_said_in_a_line_and_a_closed_one_is_no_defect(arguments: str) -> None:
    shell = f"{sys.executable} -m workers_tui {arguments}"
    full = subprocess.run(
        ["/bin/sh", "-c", f"{shell} >/dev/full"], capture_output=True, check=False, timeout=60
    )
    assert full.returncode == 1
    assert full.stderr.decode().splitlines() == [
        "workers-tui: the output cannot be used: No space left on device"
    ]
    closed = subprocess.run(
        ["/bin/sh", "-c", f"{shell} >&-"], capture_output=True, check=False, timeout=60
    )
    assert b"Traceback" not in closed.stderr


@pytest.mark.parametrize("arguments", [("--version",), ("mcp",), ("hook", "PreToolUse")])
def test_small_commands_load_nothing_heavy(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    assert not loaded_by(tmp_path, *arguments) & HEAVY


def test_the_options_before_a_command_reach_it(tmp_path: Path) -> None:
    place = tmp_path / "place"
    place.mkdir()
    (place / "models.json").write_text('{"tiers": {"mine": {"model": "m", "use": "mine"}}}')
    for form in (["--home", str(place)], [f"--home={place}"]):
        done = python(
            "-m",
            "workers_tui",
            *form,
            "mcp",
            stdin=b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n',
        )
        assert b"auto, mine (mine)" in done.stdout


def test_options_and_command_are_told_apart() -> None:
    options, rest = leading_options(["--home", "/h", "--port=5", "mcp", "--home", "x"])
    assert options == {"--home": "/h", "--port": "5"}
    assert rest == ["mcp", "--home", "x"]
    assert leading_options(["--demo", "mcp"]) == ({}, ["--demo", "mcp"])
    assert leading_options(["--home"]) == ({}, ["--home"])
    assert leading_options([]) == ({}, [])


@pytest.mark.parametrize("command", ["mcp", "hook"])
def test_help_of_small_commands_is_the_command_lines(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([command, "--help"]) == 0
    assert command in capsys.readouterr().out


def test_wrong_use_is_one_line_and_exit_code_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["no-such-command"]) == 2
    said = capsys.readouterr().err
    assert "no-such-command" in said
    assert "Traceback" not in said
