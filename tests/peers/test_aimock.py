"""aimock, an OpenRouter look-alike that nobody here wrote, as the workers' provider."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.peers.peers import peer
from tests.peers.programs import free_port, serving
from tests.peers.shop import Shop
from tests.server.conftest import client_of

from workers_tui.engine.jobs.job import JobState
from workers_tui.home.places import Home

pytestmark = pytest.mark.peers

FIXTURES = Path(__file__).with_name("fixtures") / "aimock.json"


@pytest.fixture
async def shop(home: Home, tmp_path: Path) -> AsyncIterator[Shop]:
    port = free_port()
    program = peer("llmock")
    async with serving(port, program, "-p", str(port), "-f", FIXTURES, home=tmp_path):
        yield Shop(home, f"http://127.0.0.1:{port}/api/v1")


@pytest.mark.parametrize("era", ["legacy", "2026-07-28"])
async def test_a_log_of_300_kb_is_delegated_to_a_stranger(
    shop: Shop, tmp_path: Path, era: str
) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "big.log").write_text("".join(f"{n:05d} all is well here\n" for n in range(13_500)))
    arguments = {"task": "summarise", "tier": "fast", "files": ["big.log"]}
    async with shop.open(project=project) as (engine, host), client_of(host, era) as client:
        result = await client.call_tool("delegate", arguments)
        (job,) = await engine.list_jobs()
    text = result.content[0].text  # type: ignore[union-attr]
    assert not result.is_error, text
    assert text.endswith("The log says one thing, eleven thousand times over.")
    assert "in=75000 out=12 $0.0000123 (reported)" in text
    assert job.state is JobState.DONE
    assert job.bytes_out > 300_000


async def test_a_refusal_of_the_stranger_is_said_in_its_own_words(shop: Shop) -> None:
    async with shop.open() as (_, host), client_of(host) as client:
        result = await client.call_tool("delegate", {"task": "refused", "tier": "fast"})
    assert result.is_error
    assert "this key may not" in result.content[0].text  # type: ignore[union-attr]
