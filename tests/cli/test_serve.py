"""`workers-tui serve` as a process: says where it listens, leaves in good order, alone."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from workers_tui.home.places import Home
from workers_tui.home.server_record import read_record

pytestmark = pytest.mark.processes

Serve = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def serve(home: Home) -> Iterator[Serve]:
    """Starts servers; all are ended at the end."""
    running: list[subprocess.Popen[str]] = []

    def start(*arguments: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-m", "workers_tui", "serve", "--port", "0", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={"PATH": os.defpath, "HOME": str(home.state), "WORKERS_HOME": str(home.state)},
            cwd=home.state,
        )
        running.append(process)
        return process

    yield start
    for process in running:
        if process.poll() is None:
            process.kill()
        process.communicate()


def line_of(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130), (signal.SIGHUP, 0)]
)
def test_it_says_where_it_listens_and_leaves_on_a_signal(
    serve: Serve, home: Home, number: signal.Signals, code: int
) -> None:
    process = serve()
    said = line_of(process)
    record = read_record(home)
    assert record is not None
    assert said == f"listening on {record.url}"
    assert record.pid == process.pid
    process.send_signal(number)
    out, err = process.communicate(timeout=10)
    assert (process.returncode, out, err) == (code, "", "")
    assert not home.server_json.exists()


def test_under_nohup_a_closed_terminal_does_not_end_it(serve: Serve) -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # which a child takes over
    try:
        first = serve()
    finally:
        signal.signal(signal.SIGHUP, before)
    line_of(first)
    first.send_signal(signal.SIGHUP)
    _, said = serve().communicate(timeout=20)
    assert f"pid {first.pid} serves" in said
    first.terminate()
    assert first.wait(10) == 0


def test_a_second_one_names_the_first(serve: Serve, home: Home) -> None:
    first = serve()
    said = line_of(first)
    second = serve()
    out, err = second.communicate(timeout=30)
    assert second.returncode == 2
    assert out == ""
    assert err.count("\n") == 1
    assert f"pid {first.pid} serves {said.removeprefix('listening on ')}" in err


def test_a_second_background_one_goes_quietly(serve: Serve) -> None:
    line_of(serve())
    second = serve("--background")
    assert second.wait(30) == 0
    assert second.communicate() == ("", "")


def test_a_taken_port_is_said_and_the_next_one_served(serve: Serve, home: Home) -> None:
    with socket.create_server(("127.0.0.1", 0)) as stranger:
        port = stranger.getsockname()[1]
        process = serve("--port", str(port))
        said = line_of(process)
        process.terminate()
        _, err = process.communicate(timeout=10)
    assert f":{port}/" not in said
    assert err.startswith(f"workers-tui: port {port} is taken by another program, took ")
    assert err.count("\n") == 1


def test_after_kill_9_the_next_one_takes_over(serve: Serve, home: Home) -> None:
    first = serve()
    line_of(first)
    first.kill()
    first.wait()
    stale = read_record(home)
    assert stale is not None
    second = serve()
    assert line_of(second).startswith("listening on ")
    record = read_record(home)
    assert record is not None
    assert record.pid == second.pid != stale.pid


def test_a_broken_models_json_is_one_line(serve: Serve, home: Home) -> None:
    home.models_json.write_text('{"tiers": [}')
    process = serve()
    said = line_of(process)
    if said:
        assert said.startswith("listening on ")
        return
    _, err = process.communicate(timeout=10)
    assert "Traceback" not in err
    assert "models.json" in err


def test_nothing_is_printed_while_it_serves(serve: Serve, home: Home) -> None:
    process = serve()
    url = line_of(process).removeprefix("listening on ")
    import httpx

    assert httpx.post(url, json={}).status_code == 401
    assert httpx.get(url.replace("/mcp", "/healthz")).json()["kind"] == "serve"
    time.sleep(0.1)
    process.terminate()
    assert process.communicate(timeout=10) == ("", "")


def test_the_home_is_private(serve: Serve, home: Home) -> None:
    line_of(serve())
    for path in (home.token, home.server_json, home.state / "server.lock"):
        assert Path(path).stat().st_mode & 0o077 == 0
    assert json.loads(home.server_json.read_text())["version"]
