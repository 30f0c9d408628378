"""`workers-tui simulate`: says where it listens, serves, ends on a signal."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
from click.testing import CliRunner

from workers_tui.cli.simulate import simulate

COMMAND = "from workers_tui.cli.simulate import simulate; simulate()"


@asynccontextmanager
async def simulating(*arguments: str) -> AsyncIterator[tuple[asyncio.subprocess.Process, str]]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", COMMAND, *arguments, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    line = (await process.stdout.readline()).decode()
    try:
        yield process, line
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()


async def test_it_prints_its_address_and_ends_on_a_signal(tmp_path: Path) -> None:
    scenario = tmp_path / "scenario.json"
    scenario.write_text('{"default": {"text": "from the file"}, "need_key": false}')
    async with simulating("--scenario", str(scenario)) as (process, line):
        said, _, url = line.strip().rpartition(" ")
        assert said == "listening on"
        assert url.endswith("/api/v1")
        body = {"model": "m", "messages": [{"role": "user", "content": "x"}]}
        async with httpx.AsyncClient(trust_env=False) as client:
            reply = await client.post(f"{url}/chat/completions", json=body)
        assert reply.json()["choices"][0]["message"]["content"] == "from the file"
        process.terminate()
        assert await process.wait() == 0


def test_a_broken_scenario_is_told(tmp_path: Path) -> None:
    scenario = tmp_path / "scenario.json"
    for text, words in (
        ("{", "Expecting"),
        ("[" * 100_000, "recursion"),
        ('{"default": {"speed": 1}}', "unknown behaviour"),
        ('{"default": {"fault": "tsunami"}}', "unknown fault"),
    ):
        scenario.write_text(text)
        result = CliRunner().invoke(simulate, ["--scenario", str(scenario)])
        assert result.exit_code == 2
        assert words in result.output
