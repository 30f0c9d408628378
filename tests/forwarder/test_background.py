"""When nobody serves: the forwarder starts a server that is everybody's and outlives it."""

from __future__ import annotations

import asyncio
import fcntl
import os
import signal
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.forwarder.conftest import BOTH_ERAS, Forward
from tests.forwarder.stdio import Stdio, text_of

from workers_tui.engine.engine import Engine, EngineOptions
from workers_tui.forwarder import finder
from workers_tui.forwarder.finder import Finder, NoServer, server_environment
from workers_tui.home.places import Home, find_home
from workers_tui.home.server_record import ServerRecord, read_record, write_record
from workers_tui.server.host import Host
from workers_tui.simulator.scenario import Scenario, scenario_of
from workers_tui.simulator.simulator import Simulator

pytestmark = pytest.mark.processes

SLOW = scenario_of({"default": {"text": "word " * 4000, "tokens_per_second": 40}})


@pytest.fixture
async def upstream() -> AsyncIterator[Simulator]:
    async with Simulator(Scenario()) as simulator:
        yield simulator


@pytest.fixture
async def environ(upstream: Simulator, home: Home) -> AsyncIterator[dict[str, str]]:
    """What a session's forwarder has; servers that were started are ended."""
    yield {
        "OPENROUTER_BASE_URL": upstream.url,
        "OPENROUTER_API_KEY": "sk-or-test",
        "HOME": str(home.state),
    }
    record = read_record(home)
    if record is not None and record.pid != os.getpid():
        os.kill(record.pid, signal.SIGKILL)


def serving_pid(home: Home) -> int:
    record = read_record(home)
    assert record is not None
    return record.pid


async def test_the_first_call_starts_a_server_that_outlives_the_forwarder(
    forward: Forward, environ: dict[str, str], home: Home, tmp_path: Path
) -> None:
    client = await forward(CLAUDE_PROJECT_DIR=str(tmp_path), WORKERS_DELEGATION="auto", **environ)
    await client.greet()
    assert "job=" in text_of(await client.call(1, "delegate", {"task": "hello"}))
    record = read_record(home)
    assert record is not None
    assert ":4747/" not in record.url
    pid = record.pid
    assert os.getsid(pid) == pid
    started = Path(f"/proc/{pid}/environ").read_bytes().decode()
    assert "WORKERS_HOME=" in started
    assert "CLAUDE_PROJECT_DIR" not in started
    assert "WORKERS_DELEGATION" not in started
    await client.leave()
    other = await forward(**environ)
    await other.greet()
    assert "job=" in text_of(await other.call(1, "delegate", {"task": "hello"}))
    assert serving_pid(home) == pid


async def test_a_server_that_ended_is_no_dead_process_of_its_forwarder(
    forward: Forward, environ: dict[str, str], home: Home
) -> None:
    client = await forward(**environ)
    await client.greet()
    assert "job=" in text_of(await client.call(1, "delegate", {"task": "hello"}))
    pid = serving_pid(home)
    os.kill(pid, signal.SIGTERM)
    async with asyncio.timeout(20):
        while Path(f"/proc/{pid}").exists():  # noqa: ASYNC110 - nothing rings
            await asyncio.sleep(0.02)
    await client.leave()


async def test_a_relative_home_means_the_same_directory_to_the_server(
    forward: Forward, environ: dict[str, str], home: Home
) -> None:
    inner = find_home(flat=home.config / "inner")  # the forwarder works in home.config
    client = await forward(**environ, WORKERS_HOME="inner")
    await client.greet()
    try:
        assert "no agent worker" in text_of(await client.call(1, "worker_models"))
    finally:
        record = read_record(inner)
        if record is not None:
            os.kill(record.pid, signal.SIGKILL)
    assert record is not None


async def test_many_sessions_at_once_start_one_server(
    forward: Forward, environ: dict[str, str], home: Home
) -> None:
    clients = [await forward(**environ) for _ in range(6)]

    async def one(client: Stdio) -> str:
        await client.greet()
        return text_of(await client.call(1, "worker_models"))

    answers = await asyncio.gather(*(one(client) for client in clients))
    assert all("no agent worker" in answer for answer in answers)
    children = [
        path.name
        for path in Path("/proc").iterdir()
        if path.name.isdigit() and _is_server_of(path, home)
    ]
    assert children == [str(serving_pid(home))]


def _is_server_of(process: Path, home: Home) -> bool:
    try:
        command = (process / "cmdline").read_bytes()
        environment = (process / "environ").read_bytes()
    except OSError:
        return False
    return b"--background" in command and str(home.state).encode() in environment


async def test_only_one_of_many_may_start_a_server(
    home: Home, environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(finder, "START_WAIT", 0.5)
    with (home.state / finder.SPAWN_LOCK).open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(NoServer, match=r"no server answered within 0 s; see .*log"):
            await asyncio.to_thread(Finder(home, {}, environ).find_or_start)
        write_record(home, ServerRecord("http://127.0.0.1:9/mcp", os.getpid(), "0.1.0"))
        with pytest.raises(NoServer, match=rf"; pid {os.getpid()} has the place: resume it"):
            await asyncio.to_thread(Finder(home, {}, environ).find_or_start)
    assert not (home.state / finder.OUTPUT).exists()


async def test_a_server_that_cannot_start_says_why_in_the_answer(
    forward: Forward, environ: dict[str, str], home: Home
) -> None:
    with sqlite3.connect(home.store_db) as store:
        store.execute("PRAGMA user_version = 9999")
    client = await forward(**environ)
    await client.greet()
    answer = await client.call(1, "delegate", {"task": "hello"})
    assert answer["result"]["isError"]
    said = text_of(answer)
    assert said.startswith("the server did not start: ")
    assert "restart" in said
    assert "Traceback" not in said


async def test_a_home_that_cannot_be_used_is_named_in_the_answer(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a directory")
    client = await Stdio.start(Home(tmp_path, tmp_path / "file"))
    await client.greet()
    answer = await client.call(1, "delegate", {"task": "hello"})
    assert answer["result"]["isError"]
    said = text_of(answer)
    assert said.startswith(f"cannot use {tmp_path / 'file'}: ")
    assert "move the file away" in said
    assert "WORKERS_HOME" in said
    assert await client.leave() == 0


@BOTH_ERAS
async def test_a_server_killed_in_a_call_leaves_a_job_that_can_be_read(
    forward: Forward, environ: dict[str, str], home: Home, upstream: Simulator
) -> None:
    upstream.change(SLOW)
    client = await forward(**environ)
    await client.greet()
    call = asyncio.create_task(client.call(1, "delegate", {"task": "long"}, progressToken=1))
    await client.wait(lambda one: "characters" in str(one.get("params", {}).get("message")))
    os.kill(serving_pid(home), signal.SIGKILL)
    said = text_of(await call)
    job = said.split('job_id="')[1].split('"')[0]
    upstream.change(Scenario())
    read = text_of(await client.call(2, "delegate_result", {"job_id": job}))
    assert "word word" in read
    assert f"job {job} lost" in read
    listed = text_of(await client.call(3, "delegate_list"))
    assert listed.count("job=") == 1


@BOTH_ERAS
async def test_a_dashboard_takes_the_place_of_a_background_server_and_gives_it_back(
    forward: Forward, environ: dict[str, str], home: Home
) -> None:
    client = await forward(**environ)
    await client.greet()
    await client.call(0, "delegate", {"task": "hello"})
    background = serving_pid(home)
    for number in range(1, 4):
        engine = await Engine.start(EngineOptions(home=home, environ=environ))
        host = Host(engine, port=0)
        try:
            assert await host.start() is not None
            assert "job=" in text_of(await client.call(number, "delegate", {"task": "hello"}))
            assert (await engine.list_jobs(limit=1))[0].engine == engine.id
        finally:
            await host.stop()
            await engine.close()
    assert "job=" in text_of(await client.call(9, "delegate", {"task": "hello"}))
    assert serving_pid(home) not in {background, os.getpid()}


def test_what_belongs_to_one_session_does_not_reach_the_server() -> None:
    given = {
        "PATH": "/bin",
        "WORKERS_HOME": "/h",
        "OPENROUTER_API_KEY": "k",
        "CLAUDE_CONFIG_DIR": "/c",
        "CLAUDE_CODE_SESSION_ID": "s",
        "CLAUDE_PROJECT_DIR": "/p",
        "CLAUDECODE": "1",
        "ANTHROPIC_AUTH_TOKEN": "secret",
        "WORKERS_ALLOWED_ROOTS": "/r",
        "WORKERS_DELEGATION": "off",
    }
    kept = {"PATH", "WORKERS_HOME", "OPENROUTER_API_KEY", "CLAUDE_CONFIG_DIR"}
    assert set(server_environment(given)) == kept
