"""doctor, smoke and login as programs, against the simulator on loopback."""

from __future__ import annotations

import asyncio
import json
import re
import socket
import sys
from pathlib import Path

import httpx
import pytest

from workers_tui.cli.common import Options
from workers_tui.cli.doctor import port_check, show
from workers_tui.engine.checks.check import Check
from workers_tui.home.places import Home
from workers_tui.simulator.scenario import scenario_of
from workers_tui.simulator.simulator import Simulator

pytestmark = pytest.mark.timeout(120)


class Shell:
    """Runs our program in a clean environment."""

    def __init__(self, home: Home, tmp_path: Path, provider: Simulator, **environ: str) -> None:
        self.project = tmp_path / "project"
        self.project.mkdir(exist_ok=True)
        self.environ = {
            "PATH": "/usr/bin:/bin",
            "HOME": str(tmp_path / "user"),
            "WORKERS_HOME": str(home.state),
            "OPENROUTER_BASE_URL": provider.url,
            **environ,
        }

    async def start(self, *arguments: str) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            sys.executable, "-m", "workers_tui", *arguments,
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE, env=self.environ, cwd=self.project,
        )  # fmt: skip

    async def run(self, *arguments: str) -> tuple[int, str, str]:
        process = await self.start(*arguments)
        async with asyncio.timeout(90):
            out, err = await process.communicate()
        return process.returncode or 0, out.decode(), err.decode()


async def test_doctor_prints_the_contract_and_a_fix_for_each_failure(
    home: Home, tmp_path: Path
) -> None:
    async with Simulator() as provider:
        shell = Shell(home, tmp_path, provider, OPENROUTER_API_KEY="sk-or-v1-x")
        code, out, err = await shell.run("doctor", "--json")
    value = json.loads(out)
    assert (code, err) == (1, ""), "Claude Code is not there"
    assert value["schema"] == 1
    failed = [check["name"] for check in value["checks"] if not check["ok"]]
    assert failed == ["claude", "registration"]
    for check in value["checks"]:
        assert set(check) == {"name", "ok", "detail", "fix"}
        assert check["ok"] or check["fix"]


@pytest.mark.skipif(not socket.has_ipv6, reason="this machine has none")
@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_a_free_port_is_found_at_either_loopback_address(host: str, home: Home) -> None:
    with socket.create_server((host, 0), family=family_of(host)) as taken:
        port = taken.getsockname()[1]
        held = port_check(home, Options(host=host, port=port))
        assert (held.ok, "is held by another program" in held.detail) == (True, True)
    free = port_check(home, Options(host=host, port=port))
    assert (free.ok, free.detail) == (True, f"{host}:{port} is free")


def family_of(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET


def test_what_doctor_found_is_not_obeyed_by_the_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    show([Check("local server", ok=True, detail="has: \x1b[2Jm", fix="add \x9bm")])
    said = capsys.readouterr().out
    assert "␛[2Jm" in said
    assert not {"\x1b", "\x9b"} & set(said)


async def test_doctor_goes_on_when_the_engine_cannot_start(home: Home, tmp_path: Path) -> None:
    home.store_db.mkdir()
    async with Simulator() as provider:
        code, out, _ = await Shell(home, tmp_path, provider).run("doctor")
    assert code == 1
    assert "FAIL engine" in out
    assert "ok   python" in out


async def test_smoke_tries_everything_and_prints_a_line_each(home: Home, tmp_path: Path) -> None:
    async with Simulator() as provider:
        shell = Shell(home, tmp_path, provider, OPENROUTER_API_KEY="sk-or-v1-x")
        code, out, err = await shell.run("smoke")
    assert code == 0, out + err
    lines = out.splitlines()
    assert [re.split(r"\s{2,}", line)[0] for line in lines] == ["ok"] * len(lines)
    for name in ("tools", "tier fast", "tier long", "file", "batch", "sandbox"):
        assert any(name in line for line in lines)


async def test_smoke_names_what_failed_and_exits_1(home: Home, tmp_path: Path) -> None:
    scenario = scenario_of({"rules": [{"when": {"model": "qwen"}, "behaviour": {"fault": "400"}}]})
    async with Simulator(scenario) as provider:
        shell = Shell(home, tmp_path, provider, OPENROUTER_API_KEY="sk-or-v1-x")
        code, out, _ = await shell.run("smoke")
    assert code == 1
    assert next(line for line in out.splitlines() if line.startswith("FAIL")).startswith(
        "FAIL tier code"
    )


async def test_smoke_gives_a_reason_with_each_failure(home: Home, tmp_path: Path) -> None:
    async with Simulator() as provider:
        code, out, _ = await Shell(home, tmp_path, provider).run("smoke")
    failed = [line for line in out.splitlines() if line.startswith("FAIL")]
    assert code == 1
    assert len(failed) > 2
    assert all("put in a good key" in line for line in failed), failed


async def test_login_by_browser_keeps_the_key(home: Home, tmp_path: Path) -> None:
    browser = f"{sys.executable} -c 'import sys,urllib.request as u;u.urlopen(sys.argv[1])' %s"
    async with Simulator() as provider:
        shell = Shell(home, tmp_path, provider, BROWSER=browser)
        code, out, err = await shell.run("login")
        assert code == 0, err
        kept = json.loads(home.keys_json.read_text())["openrouter"]
        assert kept in provider.account.keys
    assert kept not in out
    assert home.keys_json.stat().st_mode & 0o077 == 0


async def test_login_by_code_keeps_the_key_and_a_wrong_code_keeps_nothing(
    home: Home, tmp_path: Path
) -> None:
    async with Simulator() as provider:
        shell = Shell(home, tmp_path, provider)
        for wrong in (True, False):
            process = await shell.start("login", "--headless")
            assert process.stdout is not None
            code = "auth_wrong" if wrong else await _code(process.stdout)
            out, err = await process.communicate(code.encode() + b"\n")
            assert home.keys_json.exists() is not wrong
            assert process.returncode == (1 if wrong else 0), (out, err)
            assert (b"login again" in err) is wrong


async def test_login_without_a_code_asks_nobody(home: Home, tmp_path: Path) -> None:
    async with Simulator() as provider:
        process = await Shell(home, tmp_path, provider).start("login", "--headless")
        _, err = await process.communicate(b"")
    assert process.returncode == 2
    assert b"no code was given" in err


async def _code(out: asyncio.StreamReader) -> str:
    """What the page shows to the user."""
    while True:
        found = re.search(r"http\S+", (await out.readline()).decode())
        if found:
            break
    async with httpx.AsyncClient(trust_env=False) as client:
        page = await client.get(found[0])
    shown = re.search("<code>(.*?)</code>", page.text)
    assert shown is not None
    return shown[1]
