"""Who may come in and what they get: hosts, origins, tokens, eras, long answers (cases E)."""

from __future__ import annotations

import asyncio
import json
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.contracts.clients import call, client_of, initialize, post, text_of
from tests.contracts.program import Program, Serving, Zygote
from tests.contracts.upstream import Provider

HANDSHAKES = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"]
LONGEST_PAGE = 50_000
"""What Claude Code takes before it files a result away."""


@pytest.fixture(scope="module")
def served(
    zygote: Zygote, provider: Provider, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Program, Serving]]:
    program = Program(zygote, tmp_path_factory.mktemp("doors") / "user", provider.url)
    program.settings()
    with program.serving() as serving:
        yield program, serving


def port_of(serving: Serving) -> str:
    return serving.url.split(":")[2].partition("/")[0]


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "evil.example"}, 421),
        ({"Host": "evil.example:4747"}, 421),
        ({"Host": "127.0.0.1"}, 421),
        ({"Host": "127.0.0.1.evil.example:{port}"}, 421),
        ({"Host": ""}, 421),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://localhost:{port}.evil.example"}, 403),
        ({"Authorization": None}, 401),
        ({"Authorization": "Bearer wrong"}, 401),
        ({"Authorization": "Bearer"}, 401),
        ({"Authorization": "Basic {token}"}, 401),
        ({"Authorization": "{token}"}, 401),
        ({"Host": "evil.example", "Authorization": None}, 421),
    ],
)
def test_strangers_are_turned_away_before_any_tool_runs(
    served: tuple[Program, Serving], headers: dict[str, str | None], status: int
) -> None:
    """Case E6."""
    program, serving = served
    filled = {
        name: value and value.format(port=port_of(serving), token=serving.token)
        for name, value in headers.items()
    }
    before = len(program.good("jobs", "--json", "--limit", "1000").json["jobs"])
    asked = {"method": "tools/call", "params": {"name": "delegate", "arguments": {"task": "t"}}}
    answer = post(serving, asked, **filled)
    assert answer.status_code == status, answer.text
    assert serving.token not in answer.text
    assert len(program.good("jobs", "--json", "--limit", "1000").json["jobs"]) == before


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "[::1]", "LOCALHOST"])
def test_every_name_of_this_machine_passes(served: tuple[Program, Serving], host: str) -> None:
    """Case E6."""
    _, serving = served
    answer = post(serving, initialize(), Host=f"{host}:{port_of(serving)}")
    assert answer.status_code == 200, answer.text


def test_healthz_tells_nothing_secret(served: tuple[Program, Serving]) -> None:
    program, serving = served
    answer = httpx.get(serving.url.replace("/mcp", "/healthz"))
    assert answer.status_code == 200
    for secret in (serving.token, str(program.home), "openrouter"):
        assert secret not in answer.text


LISTENS = "0A"
"""The state of a listening socket in the kernel's table."""


def test_only_loopback_is_bound(served: tuple[Program, Serving]) -> None:
    table = Path("/proc/net/tcp")
    if not table.exists():
        pytest.skip("this system has no table of sockets to read")
    port = f"{int(port_of(served[1])):04X}"
    rows = [line.split() for line in table.read_text().splitlines()[1:]]
    bound = [row[1] for row in rows if row[1].endswith(f":{port}") and row[3] == LISTENS]
    assert bound == [f"0100007F:{port}"]


@pytest.mark.parametrize("version", HANDSHAKES)
def test_every_handshake_version_is_answered_in_kind(
    served: tuple[Program, Serving], version: str
) -> None:
    """Case E8."""
    answer = post(served[1], initialize(version))
    assert answer.status_code == 200
    result = result_of(answer)
    assert result["protocolVersion"] == version
    assert result["serverInfo"]["name"] == "workers"
    session = {"Mcp_Session_Id": answer.headers["mcp-session-id"], "MCP_Protocol_Version": version}
    asked = {"name": "delegate", "arguments": {"task": "[[sim: text=x]]"}}
    said = result_of(post(served[1], {"method": "tools/call", "params": asked}, **session))
    assert said["content"][0]["text"].endswith("\nx")
    assert not said.get("isError")
    assert "structuredContent" not in said


def result_of(answer: httpx.Response) -> Any:
    """The result in a streamed answer."""
    data = [line for line in answer.text.splitlines() if line.startswith("data: {")]
    return json.loads(data[-1].removeprefix("data: "))["result"]


@pytest.mark.parametrize("era", ["legacy", "auto", "2026-07-28"])
async def test_clients_of_every_era_delegate(served: tuple[Program, Serving], era: str) -> None:
    """Case E8."""
    async with client_of(served[1], era) as client:
        assert "delegate" in {tool.name for tool in (await client.list_tools()).tools}
        assert (await call(client, "delegate", task="[[sim: text=x]]")).endswith("\nx")


def test_a_session_that_is_not_there_is_a_404(served: tuple[Program, Serving]) -> None:
    """What makes a client of a restarted server begin anew."""
    answer = post(served[1], {"method": "tools/list"}, Mcp_Session_Id="0" * 32)
    assert answer.status_code == 404


@pytest.mark.parametrize("body", [b"", b"{", b"\xff\xfe", b"[]", b"null", b'{"jsonrpc": "1.0"}'])
def test_nonsense_is_a_client_error_and_the_server_lives(
    served: tuple[Program, Serving], body: bytes
) -> None:
    _, serving = served
    head = {
        "Authorization": f"Bearer {serving.token}",
        "Accept": "application/json, text/event-stream",
        "Content-Type": "application/json",
    }
    assert 400 <= httpx.post(serving.url, content=body, headers=head).status_code < 500
    assert post(serving, initialize()).status_code == 200


async def test_an_answer_of_30_000_tokens_is_within_reach(
    served: tuple[Program, Serving],
) -> None:
    """Case E5."""
    program, serving = served
    text = "".join(f"{number:09d}\n" for number in range(12_000))
    async with client_of(serving) as client:
        result = await client.call_tool(
            "delegate", {"task": f"[[sim: chunk_chars=2000, text={text}]]", "max_tokens": 60_000}
        )
        said = text_of(result)
        assert len(said) < LONGEST_PAGE
        job = re.search(r"job=(\w{5})\]", said)
        assert job is not None
        assert f'delegate_result(job_id="{job[1]}", offset=' in said
        assert program.good("jobs", "show", job[1], "--json").json["job"]["result_path"] in said
        read, offset = "", 0
        while offset < len(text):
            page = await call(client, "delegate_result", job_id=job[1], offset=offset)
            assert len(page) < LONGEST_PAGE
            body = page.split("\n", 1)[1].split("\n[characters")[0]
            read += body
            offset += len(body)
    assert read == text


def test_nobody_else_may_read_the_token(served: tuple[Program, Serving]) -> None:
    program, serving = served
    assert stat.S_IMODE((program.home / "token").stat().st_mode) == 0o600
    assert len(serving.token) >= 32
    assert serving.token not in (program.home / "server.json").read_text()


async def test_quit_with_an_open_event_stream_takes_seconds(program: Program) -> None:
    """Case E4."""
    with program.serving() as serving:
        async with client_of(serving) as client:
            await client.list_tools()
            assert serving.process.end().code == 0


async def test_a_caller_hears_of_the_servers_end(program: Program, provider: Provider) -> None:
    task = "ends-with-the-server [[sim: tokens_per_second=5, text=" + "word " * 100 + "]]"
    with program.serving() as serving:
        async with client_of(serving) as client:
            waiting = asyncio.create_task(client.call_tool("delegate", {"task": task}))
            await asyncio.to_thread(provider.wait_for_call, "ends-with-the-server")
            await asyncio.to_thread(serving.process.end)
            result = await waiting
            assert result.is_error
            assert "cancelled" in text_of(result)
    (job,) = program.good("jobs", "--json").json["jobs"]
    assert job["state"] == "cancelled"
    assert program.stats()["today"]["held_usd"] == 0
