"""Who is let in: nobody reaches a tool without the right host, no origin and the token."""

from __future__ import annotations

from collections.abc import Mapping

import httpx
import pytest
from tests.server.fake_engine import FakeEngine

from workers_tui.home.proof import proves
from workers_tui.home.server_record import read_token, rotate_token
from workers_tui.server.host import Host

CALL = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"},
    },
}
ACCEPT = {"Accept": "application/json, text/event-stream"}


async def post(host: Host, headers: Mapping[str, str | bytes]) -> httpx.Response:
    assert host.url is not None
    async with httpx.AsyncClient() as http:
        raw = {
            name.encode(): value if isinstance(value, bytes) else value.encode()
            for name, value in {**ACCEPT, **headers}.items()
        }
        return await http.post(host.url, json=CALL, headers=raw)


def bearer(host: Host) -> dict[str, str]:
    return {"Authorization": f"Bearer {read_token(host.engine.home)}"}


def port(host: Host) -> str:
    assert host.url is not None
    return host.url.split(":")[2].split("/")[0]


@pytest.mark.parametrize("name", ["localhost", "127.0.0.1", "[::1]", "LocalHost"])
async def test_every_name_of_the_loopback_passes(host: Host, name: str) -> None:
    answer = await post(host, {**bearer(host), "Host": f"{name}:{port(host)}"})
    assert answer.status_code == 200


@pytest.mark.parametrize("name", ["evil.example", "127.0.0.1", "127.0.0.1:1", "", "localhost.evil"])
async def test_another_host_header_is_misdirected(host: Host, name: str) -> None:
    answer = await post(host, {**bearer(host), "Host": name})
    assert answer.status_code == 421


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://127.0.0.1:1"])
async def test_a_web_page_is_refused(host: Host, origin: str) -> None:
    answer = await post(host, {**bearer(host), "Origin": origin})
    assert answer.status_code == 403


async def test_a_web_page_is_refused_whatever_else_it_says_it_is(host: Host) -> None:
    own = ("Origin", f"http://localhost:{port(host)}")
    evil = ("Origin", "https://evil.example")
    for origins in ([own, evil], [evil, own]):
        async with httpx.AsyncClient() as http:
            headers = [*ACCEPT.items(), *bearer(host).items(), *origins]
            answer = await http.post(str(host.url), json=CALL, headers=headers)
        assert answer.status_code == 403


@pytest.mark.parametrize(
    "header", [None, b"Bearer wrong", b"Basic abc", b"Bearer \xff\xfe", b"bearer", b""]
)
async def test_without_the_token_nobody_passes(host: Host, header: bytes | None) -> None:
    answer = await post(host, {} if header is None else {"Authorization": header})
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == "Bearer"


async def test_a_rotated_token_counts_at_once(host: Host) -> None:
    old = bearer(host)
    assert (await post(host, old)).status_code == 200
    rotate_token(host.engine.home)
    assert (await post(host, old)).status_code == 401
    assert (await post(host, bearer(host))).status_code == 200


async def test_a_home_without_a_token_opens_to_nobody(host: Host) -> None:
    host.engine.home.token.unlink()
    for header in (b"Bearer", b"bearer"):
        assert (await post(host, {"Authorization": header})).status_code == 401


@pytest.mark.parametrize("path", ["/control/hand-over", "/control/jobs", "/mcp/x", "/nothing"])
async def test_every_other_route_wants_the_token(host: Host, path: str) -> None:
    base = (host.url or "").removesuffix("/mcp")
    async with httpx.AsyncClient() as http:
        assert (await http.post(base + path)).status_code == 401


async def test_health_proves_to_know_the_token_without_showing_it(
    host: Host, engine: FakeEngine
) -> None:
    token = read_token(engine.home) or ""
    base = (host.url or "").removesuffix("/mcp")
    async with httpx.AsyncClient() as http:
        said = (await http.get(f"{base}/healthz", params={"nonce": "n1"})).json()
        assert token not in str(said)
        assert proves(token, "n1", said["proof"])
        assert not proves(token, "n2", said["proof"])
        assert (await http.get(f"{base}/healthz", headers={"Host": "evil"})).status_code == 421
