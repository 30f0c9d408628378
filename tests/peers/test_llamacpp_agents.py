"""A second, independent Messages endpoint: llama.cpp with a real, very small model."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
from tests.engine.agent_kit import world
from tests.peers.peers import CACHE, peer
from tests.peers.programs import free_port

from workers_tui.engine.agents import agent_launch
from workers_tui.engine.agents.identity import Identity
from workers_tui.engine.agents.identity_check import IdentityCheck
from workers_tui.engine.jobs.job import JobState
from workers_tui.engine.money import from_usd

pytestmark = [pytest.mark.peers, pytest.mark.timeout(300)]

PLACE = CACHE / "smol"
KEY = "llama-key-0123456789"
MODEL = "smollm2"
PRICES = {MODEL: {"input": 0.10, "output": 0.40, "cache_read": 0.01}}


@dataclass(frozen=True)
class Llama:
    url: str

    async def counted(self) -> tuple[int, int]:
        """Prompt tokens it worked on and tokens it made, by its own meter."""
        async with httpx.AsyncClient(trust_env=False) as client:
            headers = {"authorization": f"Bearer {KEY}"}
            text = (await client.get(f"{self.url}/metrics", headers=headers)).text
        names = ("prompt_tokens_total", "tokens_predicted_total")
        found = [re.search(rf"^llamacpp:{name} (\d+)", text, re.MULTILINE) for name in names]
        prompt, predicted = (int(one[1]) if one else -1 for one in found)
        return prompt, predicted


@pytest.fixture
async def llama(tmp_path: Path) -> AsyncIterator[Llama]:
    model = PLACE / "model.gguf"
    if not model.exists():
        pytest.skip("the small model is not installed (tests/peers/install_smol.sh)")
    async with started(model) as one:
        yield one


@asynccontextmanager
async def started(model: Path) -> AsyncIterator[Llama]:
    port = free_port()
    script = Path(__file__).with_name("smol_server.py")
    process = await asyncio.create_subprocess_exec(
        sys.executable, str(script), str(model), str(port), KEY,
        stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(PLACE / "python")},
    )  # fmt: skip
    one = Llama(f"http://127.0.0.1:{port}")
    try:
        async with asyncio.timeout(60), httpx.AsyncClient(trust_env=False) as client:
            while True:
                try:
                    if (await client.get(f"{one.url}/health")).status_code == 200:
                        break
                except httpx.HTTPError:
                    await asyncio.sleep(0.1)
        yield one
    finally:
        process.terminate()
        await process.wait()


async def test_the_check_of_an_identity_reads_its_answers(llama: Llama) -> None:
    good = Identity("smol", Path("/nowhere"), llama.url, KEY, models={"SONNET": MODEL})
    checked = await IdentityCheck(good).run()
    assert checked.ok, checked
    assert checked.findings[-1].text == "count_tokens answers"
    wrong = Identity("smol", Path("/nowhere"), llama.url, KEY[:9], models={"SONNET": MODEL})
    refused = await IdentityCheck(wrong).run()
    assert "half a key?" in refused.findings[0].text
    assert "Invalid API Key" in refused.findings[0].text


async def test_real_claude_code_is_metered_as_the_server_meters_itself(
    llama: Llama, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agent_launch, "OUTPUT_TOKENS", 24)
    async with world(tmp_path, claude=peer("claude"), prices=PRICES) as one:
        slots = ("SONNET", "OPUS", "HAIKU")
        models = {f"ANTHROPIC_DEFAULT_{slot}_MODEL": MODEL for slot in slots}
        one.identity({"ANTHROPIC_BASE_URL": llama.url, "ANTHROPIC_AUTH_TOKEN": KEY, **models})
        job = await one.run("Say hello.", max_turns=2)
        prompt, predicted = await llama.counted()
        assert job.state in {JobState.DONE, JobState.FAILED}
        assert job.cost is not None, job.error
        assert job.usage.output == predicted > 0
        assert job.usage.input - job.usage.cached == prompt > 100
        spent = (prompt * 10 + job.usage.cached * 1 + predicted * 40) / 10**8
        assert abs((job.cost.pico or 0) - from_usd(spent)) <= 10
        print(job.state, job.error, job.usage, await one.engine.text(job.id))
