"""A host over the small engine in this process, and forwarders as real child processes."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest
from tests.forwarder.stdio import Stdio
from tests.server.fake_engine import FakeEngine

from workers_tui.home.places import Home
from workers_tui.home.server_record import ensure_token
from workers_tui.server.host import Host, Kind

BOTH_ERAS = pytest.mark.parametrize("era", ["handshake", "newest"])
Forward = Callable[..., Awaitable[Stdio]]
Serve = Callable[..., Awaitable[Host]]
TIERS = {"fast": {"model": "m/fast", "use": "summaries"}, "code": {"model": "m", "use": "code"}}


def set_tiers_of_server(home: Home) -> None:
    """Let the client's first tool list be the one of the small engine: no news follows it."""
    home.models_json.write_text(json.dumps({"tiers": TIERS}))


@pytest.fixture
async def engine(home: Home) -> FakeEngine:
    ensure_token(home)
    return FakeEngine(home)


@pytest.fixture
async def serve(engine: FakeEngine) -> AsyncIterator[Serve]:
    """Starts hosts; all are stopped at the end."""
    hosts: list[Host] = []

    async def start(kind: Kind = "serve", over: FakeEngine | None = None) -> Host:
        host = Host(over or engine, port=0, kind=kind)  # type: ignore[arg-type]
        await host.start()
        hosts.append(host)
        return host

    yield start
    for host in hosts:
        await host.stop()


@pytest.fixture
def era() -> str:
    """The protocol era of the clients; tests of both mark themselves with BOTH_ERAS."""
    return "handshake"


@pytest.fixture
async def forward(home: Home, era: str) -> AsyncIterator[Forward]:
    """Starts forwarders; all are ended at the end."""
    running: list[Stdio] = []

    async def start(**environ: str) -> Stdio:
        running.append(await Stdio.start(home, era, **environ))
        return running[-1]

    yield start
    for one in running:
        if one.process.returncode is None:
            one.process.kill()
            await one.process.wait()
