"""Files that a shell command prints whole."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.hooks.kit import run, shell

from workers_tui.hooks.large_read import large_read
from workers_tui.hooks.shell_reads import printed_files


@pytest.mark.parametrize(
    ("command", "files"),
    [
        ("cat a", ["/w/a"]),
        ("cat -n 'a b' c", ["/w/a b", "/w/c"]),
        ("cat a\\ b", ["/w/a b"]),
        ('cd sub && cat "x y"', ["/w/sub/x y"]),
        ("ls; less /abs/f", ["/abs/f"]),
        ("more a & wait", ["/w/a"]),
        ("cat a | head", []),
        ("cat a > b", []),
        ("cat < a", ["/w/a"]),
        ("less <a", ["/w/a"]),
        ("cat a < b", ["/w/a"]),
        ("cat <<EOF\nless a\nEOF", []),
        ("cat <<< a", []),
        ("cat <(less a)", []),
        ("cat a 2>/dev/null", ["/w/a"]),
        ("cat a 2> /dev/null; ls", ["/w/a"]),
        ("cat a 2>&1", ["/w/a"]),
        ("cat a 2>&1 | tail", []),
        ("cat a 2>/dev/null | wc -l", []),
        ("cat a >/dev/null", []),
        ("cat a 2>errors", []),
        ("cat a >> b", []),
        ("cat a &> b", []),
        ("sudo cat a", ["/w/a"]),
        ("sudo -u x cat a", []),
        ("LC_ALL=C cat a", ["/w/a"]),
        ("env A=1 B= less a", ["/w/a"]),
        ("time command cat a", ["/w/a"]),
        ("/bin/cat a", ["/w/a"]),
        ("\\cat a", ["/w/a"]),
        ("cat \\\n  a \\\n b", ["/w/a", "/w/b"]),
        ("cat -- a # and b", ["/w/a"]),
        ("cd sub; cat a", ["/w/sub/a"]),
        ("cd - && cat a", []),
        ("pushd && cat a", []),
        ("cat 'a'\"b\"c", ["/w/abc"]),
        ("for f in a b; do cat $f; done", []),
        ("echo cat a", []),
        ("grep -n cat a", []),
        ("git log -- cat", []),
        ("cat $(ls)", []),
        ("cat `ls`", []),
        ("cat $FILE", []),
        ("less +100 a", []),
        ("head -n 5 a", []),
        ("concat a", []),
        ("cat 'unclosed", []),
        ("sed -n 1,5p a", []),
        ("cat", []),
        ("", []),
        ("cat a\ncat b", ["/w/a", "/w/b"]),
        ("cd sub\ncat a", ["/w/sub/a"]),
    ],
)
def test_which_files_a_shell_command_prints_whole(command: str, files: list[str]) -> None:
    assert printed_files(command, "/w", powershell=False) == files


@pytest.mark.parametrize(
    ("command", "files"),
    [
        ("Get-Content a", ["/w/a"]),
        ("gc -Path 'a b' -Raw", ["/w/a b"]),
        ("type a\\b", ["/w/a\\b"]),
        ("Get-Content a -Encoding utf8", ["/w/a"]),
        ("Get-Content a -TotalCount 5", []),
        ("gc a -Tail 5", []),
        ("Get-Content a | Select-String x", []),
        ("Get-Content $x", []),
        ("Set-Location sub; gc a", ["/w/sub/a"]),
        ("Get-Content a > b", []),
        ("GET-CONTENT A", ["/w/A"]),
        ("more a", ["/w/a"]),
    ],
)
def test_which_files_a_powershell_command_prints_whole(command: str, files: list[str]) -> None:
    assert printed_files(command, "/w", powershell=True) == files


def test_shell_reads_are_denied_like_reads(project: Path, environ: dict[str, str]) -> None:
    assert run("large-read", shell(project, "cat big.log"), environ) is not None
    assert run("large-read", shell(project, "gc big.log", "PowerShell"), environ) is not None
    assert run("large-read", shell(project, "cat *.log"), environ) is not None
    assert run("large-read", shell(project, "cat small.py"), environ) is None
    assert run("large-read", shell(project, "cat big.log | wc -l"), environ) is None


def test_several_files_count_together(project: Path, environ: dict[str, str]) -> None:
    for name in ("a", "b"):
        (project / name).write_text("x" * 30_000)
    answer = large_read(shell(project, "cat a b"), environ)
    assert answer is not None
    assert 'files=["a", "b"]' in answer["hookSpecificOutput"]["permissionDecisionReason"]


def test_a_long_script_is_not_read(project: Path) -> None:
    command = f"cat big.log{' ' * 20_000}"
    assert printed_files(command[:100], str(project), powershell=False)
    assert printed_files(command, str(project), powershell=False) == []


def test_a_pattern_for_everything_is_cut_short(tmp_path: Path) -> None:
    for number in range(1_200):
        (tmp_path / f"{number}.log").touch()
    assert len(printed_files("cat *.log", str(tmp_path), powershell=False)) == 1_000
