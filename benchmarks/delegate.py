"""Row 7: what `delegate` adds to a bare streaming call to the same upstream.

    python -m benchmarks.delegate [--pairs 100] [--screen | --no-screen]

The dashboard runs on a terminal of its own; a client calls `delegate` with one
10 KB file over HTTP. Tier pick, secrets scan, durable hold and settlement, the
growing result file and the screen are all inside. Each call is paired with a
bare httpx call that streams the same answer from the same upstream.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import httpx
from benchmarks import bytecode
from httpx_sse import EventSource
from tests.walk.terminal import PtyProgram

MODEL = "acme/model-1"
CHUNKS = 20
GAP = 0.002
PROGRAM = [sys.executable, "-m", "workers_tui"]


def main() -> None:
    """Print the added time."""
    bytecode.kept()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=100)
    parser.add_argument("--screen", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("--role", choices=["upstream"])
    args = parser.parse_args()
    if args.role:
        asyncio.run(upstream())
        return
    with tempfile.TemporaryDirectory() as folder, started_upstream() as url:
        added = measure(Path(folder), url, args.pairs, screen=args.screen)
    added.sort()
    p50, p95 = statistics.median(added), added[int(len(added) * 0.95)]
    print(f"added per delegate: p50 {p50:.1f} ms (target 10), p95 {p95:.1f} ms (target 20)")


def measure(folder: Path, url: str, pairs: int, *, screen: bool) -> list[float]:
    """Milliseconds added, once per pair."""
    (folder / "notes.txt").write_text(("a line of some forty characters, no more\n" * 250)[:10_000])
    with dashboard(folder, url, screen=screen) as (server, token):
        client = Mcp(server, token)
        bare = Bare(url, (folder / "notes.txt").read_text())
        for _ in range(5):
            client.delegate()
            bare.call()
        added = []
        for _ in range(pairs):
            alone = timed(bare.call)
            added.append((timed(client.delegate) - alone) * 1000)
            time.sleep(0.02)
    return added


def timed(work: Any) -> float:
    """Seconds that it takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


class Bare:
    """What anybody would write first."""

    def __init__(self, url: str, text: str) -> None:
        self._client = httpx.Client(trust_env=False)
        self._url = f"{url}/chat/completions"
        message = {"role": "user", "content": f"Summarize this\n{text}"}
        self._body = {"model": MODEL, "messages": [message], "stream": True, "max_tokens": 4000}

    def call(self) -> None:
        """One call to its end."""
        text: list[str] = []
        with self._client.stream("POST", self._url, json=self._body) as response:
            for event in EventSource(response).iter_sse():
                if event.data == "[DONE]":
                    break
                choices = json.loads(event.data)["choices"]
                text += [choice["delta"].get("content") or "" for choice in choices]
        assert "".join(text) == "token " * CHUNKS


class Mcp:
    """A client of the dashboard's server, as plain as can be."""

    def __init__(self, url: str, token: str) -> None:
        self._url = url
        self._number = 0
        self._client = httpx.Client(
            trust_env=False,
            timeout=30,
            headers={
                "authorization": f"Bearer {token}",
                "accept": "application/json, text/event-stream",
            },
        )
        about = {"name": "benchmark", "version": "1"}
        version = "2025-11-25"
        hello = {"protocolVersion": version, "capabilities": {}, "clientInfo": about}
        response = self._post("initialize", hello)
        self._client.headers["mcp-protocol-version"] = version
        if "mcp-session-id" in response.headers:
            self._client.headers["mcp-session-id"] = response.headers["mcp-session-id"]
        note = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        self._client.post(self._url, json=note)

    def _post(self, method: str, params: dict[str, Any]) -> httpx.Response:
        self._number += 1
        message = {"jsonrpc": "2.0", "id": self._number, "method": method, "params": params}
        response = self._client.post(self._url, json=message)
        response.raise_for_status()
        return response

    def delegate(self) -> None:
        """One call to its end."""
        arguments = {"task": "Summarize this", "tier": "fast", "files": ["notes.txt"]}
        answer = self._post("tools/call", {"name": "delegate", "arguments": arguments})
        assert "token token" in answer.text, answer.text
        assert "[fast/" in answer.text, answer.text


@contextmanager
def dashboard(folder: Path, url: str, *, screen: bool) -> Iterator[tuple[str, str]]:
    """The program on a terminal, or without a screen; its address and token."""
    home = folder / "home"
    home.mkdir(mode=0o700)
    settings = {
        "tiers": {"fast": {"model": MODEL, "use": "summaries"}},
        "prices": {MODEL: {"input": 0.1, "output": 0.2}},
        "daily_budget_usd": 5,
    }
    (home / "models.json").write_text(json.dumps(settings))
    (home / "ui.json").write_text(json.dumps({"first_steps_shown": True}))
    environ = {
        **os.environ,
        "WORKERS_HOME": str(home),
        "OPENROUTER_BASE_URL": url,
        "OPENROUTER_API_KEY": "sk-benchmark",
        "CLAUDE_CONFIG_DIR": str(folder / "claude"),
        "TERM": "xterm-256color",
    }
    options = ["--port", "0", "--project", str(folder)]
    if screen:
        program = PtyProgram([*PROGRAM, *options], environ)
        end: Callable[[], object] = program.close
    else:
        process = subprocess.Popen([*PROGRAM, *options, "serve"], env=environ, stdout=-3)
        end = partial(_end, process)
    reader = Drain(program) if screen else None
    try:
        record = wait_for(home / "server.json")
        yield json.loads(record)["url"], (home / "token").read_text().strip()
    finally:
        if reader is not None:
            reader.stop()
        end()


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    process.wait()


class Drain:
    """Reads the terminal all the while, as a terminal does."""

    def __init__(self, program: PtyProgram) -> None:
        import threading

        self._on = True
        self._program = program
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        while self._on:
            self._program.read(0.1)

    def stop(self) -> None:
        """Read no more."""
        self._on = False
        self._thread.join()


def wait_for(path: Path) -> str:
    """The text of a file once it is there."""
    end = time.monotonic() + 30
    while time.monotonic() < end:
        if path.exists() and (text := path.read_text()):
            return text
        time.sleep(0.05)
    raise TimeoutError(f"{path} never came")


@contextmanager
def started_upstream() -> Iterator[str]:
    """The upstream in a process of its own; its address."""
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.delegate", "--role", "upstream"],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{int(process.stdout.readline())}/api/v1"
    finally:
        process.kill()


async def upstream() -> None:
    """Stream an answer to every POST, on connections that stay open."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while head := await _head(reader):
            length = head.lower().partition(b"content-length:")[2].split()
            if not length:
                writer.write(b"HTTP/1.1 404 Not Found\r\ncontent-length: 2\r\n\r\n{}")
                continue
            await reader.readexactly(int(length[0]))
            writer.write(
                b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n"
                b"x-generation-id: gen-1\r\ntransfer-encoding: chunked\r\n\r\n"
            )
            for number in range(CHUNKS):
                writer.write(_event(number == CHUNKS - 1))
                await asyncio.sleep(GAP)
            usage = {"prompt_tokens": 2500, "completion_tokens": CHUNKS, "cost": 0.0002}
            writer.write(_framed({"choices": [], "usage": usage}) + _raw(b"data: [DONE]\n\n"))
            writer.write(b"0\r\n\r\n")

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


async def _head(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, ConnectionError):
        return b""


def _event(last: bool) -> bytes:
    choice = {"index": 0, "delta": {"content": "token "}, "finish_reason": "stop" if last else None}
    return _framed({"id": "gen-1", "model": MODEL, "choices": [choice]})


def _framed(value: Any) -> bytes:
    return _raw(b"data: " + json.dumps(value).encode() + b"\n\n")


def _raw(data: bytes) -> bytes:
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


if __name__ == "__main__":
    main()
