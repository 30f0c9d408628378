"""Time that the gateway adds to an agent's request, beside a direct call to the same upstream.

    python benchmarks/gateway.py [--pairs 60] [--bytes 40000]

Both ways ask the simulator in a process of its own; the durable hold and its
settlement are included. Prints medians of the time to the first byte and of the
whole exchange, and the difference of the medians.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
import tempfile
import time
from pathlib import Path

import httpx

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks import bytecode  # noqa: E402
from tests.engine.agent_kit import MODEL, PROVIDER_KEY, World, scripted, world  # noqa: E402

from workers_tui.engine.board import Key, Topic  # noqa: E402
from workers_tui.engine.jobs.job import Job, JobKind, JobState  # noqa: E402


async def once(client: httpx.AsyncClient, url: str, key: str, size: int) -> tuple[float, float]:
    """Seconds to the first byte and to the end."""
    body = {
        "model": MODEL,
        "max_tokens": 500,
        "stream": True,
        "messages": [{"role": "user", "content": "x" * size}],
    }
    began = time.perf_counter()
    headers = {"authorization": f"Bearer {key}"}
    async with client.stream("POST", url, json=body, headers=headers) as reply:
        pieces = reply.aiter_raw()
        await anext(pieces)
        first = time.perf_counter() - began
        async for _ in pieces:
            pass
    return first, time.perf_counter() - began


async def upstream() -> tuple[asyncio.subprocess.Process, str]:
    """A simulator in a process of its own."""
    scenario = Path(tempfile.mkdtemp()) / "scenario.json"
    scenario.write_text('{"default": {"text": "a short answer"}}')
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "workers_tui", "simulate", "--scenario", str(scenario),
        stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout is not None
    line = (await process.stdout.readline()).decode()
    return process, line.split()[-1].removesuffix("/v1")


async def pairs(one: World, base: str, count: int, size: int) -> None:
    """Measure and print."""
    one.identity({"ANTHROPIC_BASE_URL": base})
    engine = one.engine
    now = engine.clock.now()
    job = await engine.jobs.create(Job("", JobKind.AGENT, JobState.RUNNING, "bench", now))
    identity = engine.agents.identities.get("glm")
    account = engine.agents.metering.open(job, identity, lambda _: None)
    gateway = engine.board.get(Key(Topic.SERVER)).url.removesuffix("/mcp") + "/gateway"
    ways = {"direct": (base, PROVIDER_KEY), "gateway": (gateway, account.token)}
    seen: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
    async with httpx.AsyncClient(trust_env=False, timeout=30) as client:
        for number in range(count + 5):
            for name, (url, key) in ways.items():
                took = await once(client, f"{url}/v1/messages", key, size)
                if number >= 5:
                    seen[name].append(took)
    await engine.agents.metering.close(account)
    for index, what in enumerate(("first byte", "whole")):
        direct, through = (statistics.median(t[index] for t in seen[name]) for name in ways)
        print(
            f"{what:<10} direct {direct * 1000:6.2f} ms  gateway {through * 1000:6.2f} ms"
            f"  added {(through - direct) * 1000:5.2f} ms"
        )


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=60)
    parser.add_argument("--bytes", type=int, default=40_000)
    chosen = parser.parse_args()
    bytecode.kept()
    process, base = await upstream()
    try:
        async with world(Path(tempfile.mkdtemp()), scripted(), daily_budget_usd=500) as one:
            await pairs(one, base, chosen.pairs, chosen.bytes)
    finally:
        process.terminate()
        await process.wait()


if __name__ == "__main__":
    asyncio.run(main())
