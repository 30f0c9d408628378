"""A program that is killed while its agent's Bash works; see test_agents_real."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.engine.agent_kit import rule, scripted, tool, world


async def main(tmp: Path, command: str) -> None:
    """Start one agent and wait to be killed."""
    scenario = scripted(rule({"user": "wait"}, tool("Bash", command=command)))
    async with world(tmp, scenario, claude=Path(os.environ["WORKERS_CLAUDE_BIN"])) as one:
        await one.start("wait", allowed_tools=("Bash",))
        await asyncio.Event().wait()


asyncio.run(main(Path(sys.argv[1]), sys.argv[2]))
