"""`workers-tui smoke`: small real jobs over MCP, as Claude Code would send them."""

from __future__ import annotations

import os
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from workers_tui.cli.common import Options, open_engine, run_paid
from workers_tui.cli.safe import one_line
from workers_tui.engine.engine import Engine
from workers_tui.engine.errors import WorkFailed
from workers_tui.forwarder.told import pack
from workers_tui.home.server_record import ensure_token
from workers_tui.server.claim import find_other
from workers_tui.server.host import Host

if TYPE_CHECKING:
    from mcp import Client

TASK = "Answer with the one word: ready"
MAX_TOKENS = 400
"""Room for models that think before they answer."""
PATIENCE = 180.0
Probe = Callable[["Client"], Awaitable[str]]
"""Returns what to print; raises Failed."""


class Failed(Exception):
    """A probe did not give what it should."""


@click.command()
@click.pass_obj
def smoke(options: Options) -> int:
    """Try the tools, every tier, a batch and a refusal; costs a fraction of a cent."""
    return run_paid(_smoke(options))


async def _smoke(options: Options) -> int:
    failures = 0
    with tempfile.TemporaryDirectory(prefix="workers-tui-smoke-") as place:
        root = Path(place) / "project"
        root.mkdir()
        (root / "note.txt").write_text("The word is: ready\n", encoding="utf-8")
        (Path(place) / "outside.txt").write_text("no\n", encoding="utf-8")
        async with open_engine(options, watch=False) as engine:
            tiers = list(engine.config.usable().tiers)
            async with _serving(engine) as url, _client(url, engine, root) as client:
                for name, probe in _probes(tiers).items():
                    failures += not await _tell(name, probe, client)
    return 1 if failures else 0


def _probes(tiers: list[str]) -> dict[str, Probe]:
    probes: dict[str, Probe] = {"tools": _tools}
    for tier in tiers:
        probes[f"tier {tier}"] = _tier(tier)
    probes |= {"file": _file, "batch": _batch, "sandbox": _refusal}
    return probes


async def _tell(name: str, probe: Probe, client: Client) -> bool:
    try:
        said = await probe(client)
    except Failed as error:
        click.echo(f"FAIL {name:<14} {one_line(str(error))}")
        return False
    click.echo(f"ok   {name:<14} {one_line(said)}")
    return True


@asynccontextmanager
async def _serving(engine: Engine) -> AsyncIterator[str]:
    """The server that runs already, else one for this command."""
    ensure_token(engine.home)
    other = find_other(engine.home)
    if other is not None:
        yield other.record.url
        return
    host = Host(engine, port=0, kind="serve")
    try:
        url = await host.start()
        if url is None:
            raise WorkFailed("another server has just started: run smoke again")
        yield url
    finally:
        await host.stop()


@asynccontextmanager
async def _client(url: str, engine: Engine, root: Path) -> AsyncIterator[Client]:
    """An MCP client that says what Claude Code's forwarder says, with `root` as its project."""
    import httpx2  # late, with the SDK: a second of imports that no other command needs
    from mcp import Client
    from mcp.client.streamable_http import streamable_http_client

    told = pack({**os.environ, "CLAUDE_PROJECT_DIR": str(root), "WORKERS_ALLOWED_ROOTS": ""})
    headers = {**told, "Authorization": f"Bearer {ensure_token(engine.home)}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=PATIENCE, trust_env=False) as http,
        Client(streamable_http_client(url, http_client=http)) as client,
    ):
        yield client


async def _call(client: Client, tool: str, arguments: dict[str, Any]) -> tuple[str, bool]:
    result = await client.call_tool(tool, arguments)
    text = "\n".join(block.text for block in result.content if block.type == "text")
    return text, bool(result.is_error)


async def _good(client: Client, tool: str, **arguments: Any) -> str:
    text, failed = await _call(client, tool, arguments)
    first = text.partition("\n")[0]
    if failed:
        raise Failed(first)
    return first


async def _tools(client: Client) -> str:
    names = [tool.name for tool in (await client.list_tools()).tools]
    if "delegate" not in names:
        raise Failed(f"no delegate among: {', '.join(names) or 'nothing'}")
    return f"{len(names)} tools"


def _tier(name: str) -> Probe:
    async def probe(client: Client) -> str:
        return await _good(client, "delegate", task=TASK, tier=name, max_tokens=MAX_TOKENS)

    return probe


async def _file(client: Client) -> str:
    task = "Which word does the file name?"
    return await _good(client, "delegate", task=task, files=["note.txt"], max_tokens=MAX_TOKENS)


async def _batch(client: Client) -> str:
    job = {"task": TASK, "max_tokens": MAX_TOKENS}
    text, failed = await _call(client, "delegate_batch", {"jobs": [job, job]})
    if failed or "### 2/2" not in text:
        lines = (line for line in text.splitlines() if line and not line.startswith("### "))
        raise Failed(next(lines, "no answer"))
    return "2 of 2"


async def _refusal(client: Client) -> str:
    text, failed = await _call(client, "delegate", {"task": TASK, "files": ["../outside.txt"]})
    if not failed or "outside" not in text:
        raise Failed(f"a file outside the project was not refused: {text.partition(chr(10))[0]}")
    return "a file outside the project is refused"
