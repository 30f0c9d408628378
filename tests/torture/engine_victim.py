"""A whole engine that delegates calls until it is killed: `engine_victim.py HOME URL NAME CALLS`.

Says `job ID TASK` when a call is queued and `done ID PICO` when it has its answer.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from workers_tui.engine.engine import Engine, EngineOptions
from workers_tui.engine.jobs.job import CallRequest, Origin
from workers_tui.home.places import Home


def say(*words: object) -> None:
    os.write(1, (" ".join(str(word) for word in words) + "\n").encode())


async def main(place: Path, url: str, name: str, calls: int) -> None:
    environ = {"OPENROUTER_API_KEY": "sk-test", "OPENROUTER_BASE_URL": url}
    home = Home(config=place, state=place)
    engine = await Engine.start(EngineOptions(home=home, environ=environ, watch=False))
    origin = Origin(roots=(place,))
    say("ready")

    async def one(number: int) -> None:
        task = f"{name}-{number}"
        job = await engine.delegate(CallRequest(task, tier="fast"), origin)
        say("job", job.id, task)
        ended = await engine.ended(job.id)
        if ended.state == "done" and ended.cost is not None:
            say("done", job.id, ended.cost.pico)

    await asyncio.gather(*(one(number) for number in range(calls)))
    await engine.close()
    say("bye")


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4])))
