"""`workers-tui worker`: keys never as arguments, words for what is wrong."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from click.testing import CliRunner

from workers_tui.cli.worker import worker
from workers_tui.engine.agents.identity_check import Checked, Finding, IdentityCheck
from workers_tui.engine.errors import ConfigError, WorkersError, WorkFailed, WrongUse
from workers_tui.simulator.simulator import Simulator

KEY = "sk-or-v1-" + "0123456789abcdef" * 4


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CLAUDE_WORKERS_ROOT", str(tmp_path / "workers"))
    return tmp_path / "workers"


def run(*arguments: str, stdin: str | None = None) -> str:
    result = CliRunner().invoke(worker, arguments, input=stdin)
    if isinstance(result.exception, WorkersError):
        raise result.exception
    return result.output


def test_a_worker_from_preset_to_removal(root: Path) -> None:
    assert "zai" in run("presets")
    assert "set-key glm" in run("create", "glm", "--preset", "zai")
    assert "not finalized: `workers-tui worker set-key glm` gives it a key" in run("list")
    run("set-key", "glm", stdin=f"{KEY}\n")
    shown = run("list")
    assert "untried: `workers-tui worker finalize glm` tries it" in shown
    assert "ready" not in shown
    assert KEY not in shown
    assert "deleted" in run("remove", "glm", "--yes")
    assert not (root / "glm").exists()
    assert "no workers yet" in run("list")


def test_a_key_as_an_argument_is_refused_and_not_repeated(root: Path) -> None:
    run("create", "zai")
    for arguments in ((KEY,), (f"--key={KEY}",)):
        said = run("set-key", "zai", *arguments)
        assert "standard input" in said
        assert KEY not in said
    assert KEY not in (root / "zai" / "settings.json").read_text()


def test_half_a_paste_is_refused(root: Path) -> None:
    run("create", "zai")
    with pytest.raises(WrongUse, match="line break"):
        run("set-key", "zai", stdin="sk-one-half\nsk-other-half\n")


def test_without_a_standard_input_no_key_is_read(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("create", "zai")
    monkeypatch.setattr("sys.stdin", None)
    with pytest.raises(WrongUse, match="neither a terminal nor a standard input"):
        worker.main(["set-key", "zai"], standalone_mode=False)
    assert KEY not in (root / "zai" / "settings.json").read_text()


def test_nothing_is_removed_where_nobody_can_be_asked(root: Path) -> None:
    run("create", "zai")
    with pytest.raises(WrongUse, match="--yes"):
        run("remove", "zai", stdin="y\n")
    assert (root / "zai").exists()


def test_finalize_tells_what_is_wrong_and_fails(root: Path) -> None:
    run("create", "mine", "--preset", "custom", "--base-url", "http://127.0.0.1:9", "--sonnet", "m")
    run("set-key", "mine", stdin=KEY)
    with pytest.raises(WorkFailed):
        run("finalize", "mine")
    result = CliRunner().invoke(worker, ["finalize", "mine"])
    assert "FAIL http://127.0.0.1:9 cannot be reached" in result.output


def test_an_unknown_preset_names_those_there_are(root: Path) -> None:
    with pytest.raises(WrongUse, match="zai, kimi"):
        run("create", "x", "--preset", "nobody")


async def test_a_local_worker_names_the_models_that_are_there(root: Path) -> None:
    async with Simulator() as sim:
        arguments = ("create", "local", "--preset", "ollama", "--base-url", sim.anthropic_url)
        with pytest.raises(ConfigError, match="deepseek/deepseek-v4-flash"):
            await asyncio.to_thread(run, *arguments)
        said = await asyncio.to_thread(run, *arguments, "--sonnet", "qwen/qwen3.8-flash")
        assert "finalize local" in said
        assert "local is ready" in await asyncio.to_thread(run, "finalize", "local")
        assert run("list").rstrip().endswith(" ready")
        await asyncio.to_thread(run, "set-key", "local", stdin=KEY)
        assert "untried" in run("list"), "it was another key that was tried"


def test_finalize_without_a_key_says_so_once(root: Path) -> None:
    run("create", "glm", "--preset", "zai")
    with pytest.raises(WorkFailed, match=r"cannot be used yet: not finalized: .*set-key"):
        run("finalize", "glm")
    assert CliRunner().invoke(worker, ["finalize", "glm"]).output == ""


def test_what_failed_is_not_called_ready(root: Path) -> None:
    run("create", "mine", "--preset", "custom", "--base-url", "http://127.0.0.1:9", "--sonnet", "m")
    run("set-key", "mine", stdin=KEY)
    with pytest.raises(WorkFailed):
        run("finalize", "mine")
    shown = run("list")
    assert "failed when last tried: http://127.0.0.1:9 cannot be reached" in shown
    assert "ready" not in shown
    assert KEY not in (root / "mine" / "finalized.json").read_text()


def test_without_a_running_ollama_that_is_said(root: Path) -> None:
    with pytest.raises(ConfigError, match="does not run"):
        run("create", "local", "--preset", "ollama", "--base-url", "http://127.0.0.1:9")


def test_what_a_provider_said_is_not_obeyed_by_the_terminal(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def hostile(_: IdentityCheck) -> Checked:
        return Checked((Finding(False, "400: \x1b]0;mine\x07 and\na second line"),))

    monkeypatch.setattr(IdentityCheck, "run", hostile)
    run("create", "mine", "--preset", "custom", "--base-url", "http://127.0.0.1:9", "--sonnet", "m")
    run("set-key", "mine", stdin=KEY)
    tried = CliRunner().invoke(worker, ["finalize", "mine"]).output
    for shown in (tried, run("list")):
        assert "␛]0;mine␇ and␊a second line\n" in shown
        assert "\x1b" not in shown
