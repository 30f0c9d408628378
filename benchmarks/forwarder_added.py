"""What the forwarder adds to a call: the same cheap tool call through it and straight over HTTP.

    python benchmarks/forwarder_added.py [--calls 300]

Both sides are hand-written and thin, so the difference is the forwarder's: a
client on its stdin, and a client that posts to the server as the forwarder does.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import IO, Any

from workers_tui.forwarder.finder import Place
from workers_tui.forwarder.upstream import HandshakeServer
from workers_tui.forwarder.wire import Address
from workers_tui.home.places import Home
from workers_tui.home.server_record import read_record, read_token

LIMIT = 2.0
INITIALIZE = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "benchmark", "version": "1"},
}


def main() -> None:
    """Print both medians and the difference; exit 1 above the limit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=300)
    calls = parser.parse_args().calls
    with tempfile.TemporaryDirectory() as place:
        environ = {"PATH": os.defpath, "HOME": place, "WORKERS_HOME": place}
        server = start(["serve", "--port", "0"], environ)
        try:
            reading(server).readline()
            straight, forwarded = both(Home(Path(place), Path(place)), environ, calls)
        finally:
            server.terminate()
            server.communicate()
    added = statistics.median(forwarded) - statistics.median(straight)
    print(f"straight   {spread(straight)}")
    print(f"forwarded  {spread(forwarded)}")
    print(f"added      {added:.2f} ms   limit {LIMIT}   {'ok' if added <= LIMIT else 'MISSED'}")
    sys.exit(added > LIMIT)


def both(home: Home, environ: dict[str, str], calls: int) -> tuple[list[float], list[float]]:
    """Milliseconds of each call, the two ways taking turns."""
    direct = connected(home)
    forwarder = start(["mcp"], environ)
    ask(forwarder, {"id": 0, "method": "initialize", "params": INITIALIZE})
    straight, forwarded = [], []
    for number in range(1, calls + 21):
        call = {"method": "tools/call", "params": {"name": "worker_models", "arguments": {}}}
        once = time.perf_counter()
        direct.request({"jsonrpc": "2.0", "id": direct.new_id(), **call})
        twice = time.perf_counter()
        ask(forwarder, {"id": number, **call})
        thrice = time.perf_counter()
        if number > 20:  # the first ones warm both up
            straight.append((twice - once) * 1000)
            forwarded.append((thrice - twice) * 1000)
    forwarder.communicate()
    return straight, forwarded


def connected(home: Home) -> HandshakeServer:
    record, token = read_record(home), read_token(home)
    address = Address.of(record.url) if record else None
    assert address is not None
    assert token is not None
    place = Place(address, "/mcp", token)
    server = HandshakeServer(place, {}, lambda _, __: None, lambda: None, INITIALIZE)
    server.open()
    return server


def start(arguments: list[str], environ: dict[str, str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "workers_tui", *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environ,
    )


def reading(process: subprocess.Popen[bytes]) -> IO[bytes]:
    assert process.stdout is not None
    return process.stdout


def ask(process: subprocess.Popen[bytes], message: dict[str, Any]) -> None:
    """Send a request on stdin and read until its answer."""
    assert process.stdin is not None
    process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
    process.stdin.flush()
    while True:
        answer = json.loads(reading(process).readline())
        if answer.get("id") == message["id"]:
            return


def spread(values: list[float]) -> str:
    ordered = sorted(values)
    return f"p50 {statistics.median(ordered):.2f} ms   p95 {ordered[len(ordered) * 95 // 100]:.2f}"


if __name__ == "__main__":
    main()
