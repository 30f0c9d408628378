"""Each check: when it is content, when not, and that every failure says how to mend it."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from workers_tui.engine.agents import agent_launch
from workers_tui.engine.agents.identities import Identities, preset_named
from workers_tui.engine.agents.trial import Trial
from workers_tui.engine.checks.check import Check
from workers_tui.engine.checks.doctor import check_engine, check_python, check_sandbox
from workers_tui.engine.checks.doctor_claude import check_claude
from workers_tui.engine.checks.local_servers import LocalServer
from workers_tui.engine.engine import Engine, EngineOptions
from workers_tui.home.claude_places import Scope
from workers_tui.home.claude_settings import server_entry
from workers_tui.home.connection import apply
from workers_tui.home.connection_plan import Wanted, plan_connect
from workers_tui.home.places import Home
from workers_tui.simulator.scenario import scenario_of
from workers_tui.simulator.simulator import Simulator

MODEL = "deepseek/deepseek-v4-flash"
KEY = "sk-or-v1-sim"


@asynccontextmanager
async def engine_with(
    home: Home, url: str, tmp_path: Path, key: str | None = KEY, **settings: Any
) -> AsyncIterator[Engine]:
    tiers = {"tiers": {"fast": {"model": MODEL}}}
    home.models_json.write_text(json.dumps(tiers | settings))
    environ = {"OPENROUTER_BASE_URL": url, "HOME": str(tmp_path)}
    environ |= {"OPENROUTER_API_KEY": key} if key else {}
    engine = await Engine.start(EngineOptions(home=home, environ=environ, watch=False))
    try:
        yield engine
    finally:
        await engine.close()


async def checks_of(engine: Engine, *local: LocalServer) -> dict[str, Check]:
    found = await check_engine(engine, local)
    assert all(check.fix for check in found if not check.ok), "a failure without a way out"
    assert all("\n" not in check.detail for check in found)
    return {check.name: check for check in found}


async def test_all_is_well(home: Home, tmp_path: Path) -> None:
    async with Simulator() as provider, engine_with(home, provider.url, tmp_path) as engine:
        checks = await checks_of(engine)
    assert all(check.ok for check in checks.values()), checks
    assert {
        "settings",
        "provider openrouter",
        "key openrouter",
        "tier fast",
        "sandbox",
        "store",
    } <= set(checks)
    assert "$0.105 in" in checks["tier fast"].detail
    assert check_python().ok


async def test_a_refused_key_is_named_with_its_command(home: Home, tmp_path: Path) -> None:
    scenario = scenario_of({"keys": ["another"]})
    async with Simulator(scenario) as provider, engine_with(home, provider.url, tmp_path) as engine:
        checks = await checks_of(engine)
    assert checks["key openrouter"].fix == (
        "correct OPENROUTER_API_KEY where it is set, or unset it and "
        "run `workers-tui key set openrouter`"
    )
    assert not checks["key openrouter"].ok
    assert KEY not in checks["key openrouter"].detail


async def test_a_missing_key_is_named_with_both_ways_to_get_one(home: Home, tmp_path: Path) -> None:
    url = "https://gateway.invalid/api/v1"
    async with engine_with(home, url, tmp_path, key=None) as engine:
        check = (await checks_of(engine))["key openrouter"]
    assert not check.ok
    assert check.detail == "missing"
    assert check.fix == "run `workers-tui key set openrouter` or `workers-tui login`"


@pytest.mark.parametrize("kept", [True, False])
@pytest.mark.parametrize("key", ["sk-or-schlüssel", "sk or", "sk\x7f"])
async def test_a_key_that_cannot_be_sent_is_not_called_missing(
    home: Home, tmp_path: Path, key: str, kept: bool
) -> None:
    if kept:
        home.keys_json.write_text(json.dumps({"openrouter": key}))
    url = "http://127.0.0.1:9/api/v1"
    async with engine_with(home, url, tmp_path, key=None if kept else key) as engine:
        check = (await checks_of(engine))["key openrouter"]
    assert not check.ok
    assert check.detail == "it holds blanks, line ends or special characters inside"
    assert (check.fix or "").startswith("run `" if kept else "correct OPENROUTER_API_KEY")


async def test_a_used_up_key_is_a_failure_with_its_figures(home: Home, tmp_path: Path) -> None:
    async with (
        Simulator(scenario_of({"limit": "0"})) as provider,
        engine_with(home, provider.url, tmp_path) as engine,
    ):
        checks = await checks_of(engine)
    assert not checks["key openrouter"].ok
    assert "$0.00 of $0.00 left" in checks["key openrouter"].detail


async def test_amounts_are_told_as_everywhere_else(home: Home, tmp_path: Path) -> None:
    prices = {MODEL: {"input": 0.5, "output": 1.25}}
    async with (
        Simulator(scenario_of({"limit": "2.5"})) as provider,
        engine_with(home, provider.url, tmp_path, daily_budget_usd=3.0, prices=prices) as engine,
    ):
        checks = await checks_of(engine)
    assert checks["settings"].detail.endswith("1 tier, cap $3.00 a day")
    assert "accepted, $2.50 of $2.50 left" in checks["key openrouter"].detail
    assert "$0.50 in, $1.25 out per million tokens (models.json)" in checks["tier fast"].detail


async def test_a_provider_that_is_not_there_is_named(home: Home, tmp_path: Path) -> None:
    async with engine_with(home, "http://127.0.0.1:9/api/v1", tmp_path) as engine:
        checks = await checks_of(engine)
    assert not checks["provider openrouter"].ok
    assert "start it" in str(checks["provider openrouter"].fix)


async def test_a_gateway_without_figures_of_its_key_is_one_that_answers(
    home: Home, tmp_path: Path
) -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        return httpx.Response(404, json={"error": {"message": "no such page"}})

    home.models_json.write_text(json.dumps({"tiers": {"fast": {"model": MODEL}}}))
    environ = {
        "OPENROUTER_BASE_URL": "https://gateway.invalid/api/v1",
        "OPENROUTER_API_KEY": KEY,
        "HOME": str(tmp_path),
    }
    options = EngineOptions(
        home=home, environ=environ, watch=False, transport=httpx.MockTransport(answer)
    )
    engine = await Engine.start(options)
    try:
        checks = await checks_of(engine)
    finally:
        await engine.close()
    assert checks["provider openrouter"].ok
    assert checks["key openrouter"].ok


async def test_an_unknown_model_gets_its_nearest_names(home: Home, tmp_path: Path) -> None:
    tiers = {"fast": {"model": "deepseek/deepseek-v4-flsh"}, "x": {"model": "m", "provider": "no"}}
    async with (
        Simulator() as provider,
        engine_with(home, provider.url, tmp_path, tiers=tiers) as engine,
    ):
        checks = await checks_of(engine)
    assert MODEL in checks["tier fast"].detail
    assert not checks["tier fast"].ok
    assert "no provider 'no'" in checks["tier x"].detail


async def test_broken_settings_are_told_with_their_place(home: Home, tmp_path: Path) -> None:
    async with Simulator() as provider, engine_with(home, provider.url, tmp_path) as engine:
        home.models_json.write_text('{"tiers": {')
        await engine.config.refresh()
        check = (await checks_of(engine))["settings"]
    assert not check.ok
    assert str(home.models_json) in str(check.fix)


async def test_workers_without_a_key_are_failures(home: Home, tmp_path: Path) -> None:
    worker = tmp_path / ".claude-workers" / "glm"
    worker.mkdir(parents=True)
    env = {
        "ANTHROPIC_BASE_URL": "https://x.invalid",
        "ANTHROPIC_AUTH_TOKEN": "PASTE_YOUR_API_KEY_HERE",
    }
    (worker / "settings.json").write_text(json.dumps({"env": env}))
    async with Simulator() as provider, engine_with(home, provider.url, tmp_path) as engine:
        checks = await checks_of(engine)
    assert checks["worker glm"].fix == "workers-tui worker set-key glm"


async def test_each_worker_is_told_with_what_mends_it(home: Home, tmp_path: Path) -> None:
    identities = Identities(tmp_path / ".claude-workers")
    for name in ("broken", "keyless", "untried", "failed", "good"):
        identities.create(name, preset_named("zai"))
        if name != "keyless":
            identities.set_key(name, "key-of-a-worker")
    (tmp_path / ".claude-workers/broken/settings.json").write_text("{")
    identities.note_trial(identities.get("failed"), Trial(False, "no such model"))
    identities.note_trial(identities.get("good"), Trial(True))
    async with engine_with(home, "http://127.0.0.1:9/api/v1", tmp_path) as engine:
        checks = await checks_of(engine)
    mended = {name: checks[f"worker {name}"].fix or "" for name in identities.names()}
    assert mended["broken"].startswith("mend ")
    assert mended["keyless"] == "workers-tui worker set-key keyless"
    assert mended["failed"] == "workers-tui worker finalize failed"
    assert checks["worker failed"].detail == "failed when last tried: no such model"
    assert "untried" in checks["worker untried"].detail
    assert checks["worker untried"].ok
    assert checks["worker good"].detail.endswith(" at https://api.z.ai/api/anthropic")


async def test_kept_keys_that_cannot_be_read_are_not_called_missing(
    home: Home, tmp_path: Path
) -> None:
    home.keys_json.write_text("{broken")
    async with engine_with(home, "http://127.0.0.1:9/api/v1", tmp_path, key=None) as engine:
        checks = await checks_of(engine)
    assert not checks["keys"].ok
    assert "not a JSON object" in checks["keys"].detail


async def test_an_address_that_is_none_is_named_with_its_variable(
    home: Home, tmp_path: Path
) -> None:
    async with engine_with(home, "ftp://x", tmp_path) as engine:
        checks = await checks_of(engine)
    assert "'ftp://x' is no address" in checks["tier fast"].detail
    assert checks["tier fast"].fix == "correct or unset OPENROUTER_BASE_URL"


async def test_a_local_server_is_offered_until_it_is_configured(home: Home, tmp_path: Path) -> None:
    found = LocalServer("ollama", "Ollama", "http://127.0.0.1:11434/v1", ("q",))
    async with Simulator() as provider, engine_with(home, provider.url, tmp_path) as engine:
        assert (await checks_of(engine, found))["local server"].fix == found.offer
    known = {"ollama": {"base_url": "http://localhost:11434/v1"}}
    async with (
        Simulator() as provider,
        engine_with(home, provider.url, tmp_path, providers=known) as engine,
    ):
        assert "local server" not in await checks_of(engine, found)


async def test_the_sandbox_proves_itself() -> None:
    assert (await check_sandbox()).ok


# ---- Claude Code ------------------------------------------------------------------------------


class Desk:
    """A user's Claude Code: a program that tells its version, and files."""

    def __init__(self, place: Path, home: Home) -> None:
        self.home = home
        self.project = place / "project"
        self.project.mkdir()
        self.config = place / "claude"
        self.config.mkdir()
        self.program = place / "claude-program"
        self.program.write_text("#!/bin/sh\necho '9.9.9 (Claude Code)'\n")
        self.program.chmod(0o755)
        self.workers = place / "workers-tui"
        self.workers.write_text("#!/bin/sh\n")
        self.workers.chmod(0o755)
        self.environ = {
            "CLAUDE_CONFIG_DIR": str(self.config),
            "WORKERS_CLAUDE_BIN": str(self.program),
            "PATH": "/usr/bin:/bin",
        }

    def connect(self) -> None:
        entry = server_entry([str(self.workers)], self.environ)
        plan = plan_connect(Scope.USER, self.project, Wanted(entry), self.environ)
        apply(plan, self.home, None, self.environ)

    async def checks(self) -> dict[str, Check]:
        return {check.name: check for check in await check_claude(self.project, self.environ)}


@pytest.fixture
def desk(tmp_path: Path, home: Home) -> Desk:
    return Desk(tmp_path, home)


async def test_before_connect_only_the_registration_is_missing(desk: Desk) -> None:
    checks = await desk.checks()
    assert checks["claude"].detail.startswith("9.9.9 (Claude Code) at ")
    assert checks["registration"].fix == "workers-tui connect"
    assert not checks["registration"].ok
    assert checks["hooks"].ok


async def test_a_variable_that_names_no_program_is_what_has_to_be_mended(desk: Desk) -> None:
    desk.program.unlink()
    named = (await desk.checks())["claude"]
    assert (named.ok, named.fix) == (False, "correct or unset WORKERS_CLAUDE_BIN")
    assert named.detail == f"WORKERS_CLAUDE_BIN names {desk.program}, which is no program"
    desk.environ |= {"WORKERS_CLAUDE_BIN": "", "PATH": str(desk.project)}
    missing = (await desk.checks())["claude"]
    assert missing.detail == "Claude Code was not found"
    assert "install Claude Code" in (missing.fix or "")


async def test_after_connect_all_is_well(desk: Desk) -> None:
    desk.connect()
    checks = await desk.checks()
    assert all(check.ok for check in checks.values()), checks
    assert "workers-tui mcp" in checks["registration"].detail
    assert checks["hooks"].detail == "after-dispatch, large-read, session-start"


async def test_a_claude_that_never_ends_is_told_and_ended(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pids = tmp_path / "pids"
    slow = tmp_path / "claude-that-says-nothing"
    slow.write_text(f"#!/bin/sh\nsleep 60 &\necho $$ $! > {pids}\nwait\n")
    slow.chmod(0o755)
    desk.environ["WORKERS_CLAUDE_BIN"] = str(slow)
    monkeypatch.setattr(agent_launch, "VERSION_WAIT", 0.5)
    check = (await desk.checks())["claude"]
    assert (check.ok, check.detail) == (False, f"{slow} --version never ends")
    parent, child = map(int, pids.read_text().split())
    with pytest.raises(ProcessLookupError):
        os.kill(parent, 0)
    state = Path(f"/proc/{child}/stat")
    assert not state.exists() or state.read_text().rpartition(")")[2].split()[0] == "Z"


async def test_a_program_that_moved_away_is_noticed(desk: Desk) -> None:
    desk.connect()
    desk.workers.unlink()
    desk.program.unlink()
    settings = desk.config / "settings.json"
    settings.write_text(
        settings.read_text().replace("run.py", "run.py.gone/workers_tui/hooks/run.py")
    )
    checks = await desk.checks()
    assert not any(check.ok for check in checks.values())
    assert "is not there" in checks["registration"].detail
    assert checks["hooks"].fix == "workers-tui connect"


async def test_a_missing_hook_is_noticed(desk: Desk) -> None:
    desk.connect()
    settings = desk.config / "settings.json"
    value = json.loads(settings.read_text())
    del value["hooks"]["PreToolUse"]
    settings.write_text(json.dumps(value))
    assert "missing: large-read" in (await desk.checks())["hooks"].detail


async def test_plugin_and_connect_together_are_told(desk: Desk) -> None:
    desk.connect()
    settings = desk.config / "settings.json"
    value = json.loads(settings.read_text()) | {"enabledPlugins": {"workers@workers-tui": True}}
    settings.write_text(json.dumps(value))
    check = (await desk.checks())["registration"]
    assert not check.ok
    assert check.fix == "workers-tui connect --scope user --remove"


async def test_broken_files_of_claudes_are_no_crash(desk: Desk) -> None:
    (desk.config / "settings.json").write_text('{"hooks": [1, {"PreToolUse": 7}], "x"')
    (desk.config / ".claude.json").write_text("[]")
    (desk.project / ".mcp.json").write_text('{"mcpServers": {"workers": 7}}')
    checks = await desk.checks()
    assert not checks["hooks"].ok
    assert checks["hooks"].detail.startswith(f"{desk.config / 'settings.json'}, line 1: ")
    assert not checks["registration"].ok


@pytest.mark.parametrize(
    ("raw", "said"),
    [(b"{\n// mine\n}", "line 2: it holds a comment"), (b"\xff\xfe", "cannot be read")],
)
async def test_a_file_that_claude_code_cannot_read_is_named_with_its_line(
    desk: Desk, raw: bytes, said: str
) -> None:
    desk.connect()
    for name, check in {"settings.json": "hooks", ".claude.json": "registration"}.items():
        path = desk.config / name
        kept = path.read_bytes()
        path.write_bytes(raw)
        found = (await desk.checks())[check]
        assert not found.ok
        assert str(path) in found.detail
        assert said in found.detail
        path.write_bytes(kept)
    (desk.config / "settings.json").write_bytes(b"\xef\xbb\xbf")
    assert (await desk.checks())["hooks"].ok
