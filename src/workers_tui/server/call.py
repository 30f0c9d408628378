"""One tools/call as the tools see it: who asks, what may be read, how to say how far it is."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from workers_tui.engine.jobs.job import Job, Origin
from workers_tui.server.following import Report
from workers_tui.server.sessions import Client

Arguments = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Call:
    """What surrounds the arguments."""

    client: Client
    mode: str
    """The delegation mode that holds for this client."""
    roots: Callable[[], Awaitable[tuple[Path, ...]]]
    """Finds the client's directories; asks the client only when a file is wanted."""
    project: Callable[[], Awaitable[Path | None]]
    """The directory that the client works in, where it is known or quickly told."""
    report: Report
    """Sends progress."""
    started: Callable[[Iterable[Job]], Awaitable[None]]
    """Told which jobs the call became, as soon as they exist."""
    keep: Callable[[asyncio.Task[Any]], None]
    """Holds a task that must not be lost before it is done."""
    tool_use_id: str | None = None
    """Claude Code's id of this call."""

    async def origin(self, roots: tuple[Path, ...]) -> Origin:
        """Who asks, as the job keeps it."""
        told = self.client.told
        project = told.project or (roots[0] if roots else await self.project())
        return Origin(
            roots=roots,
            project=str(project) if project else None,
            session=told.session,
            tool_use_id=self.tool_use_id,
            client=self.client.name or None,
            line=self.client.key,
        )


Started = TypeVar("Started", bound=Sequence[Any])


async def begun(call: Call, start: Coroutine[Any, Any, Started]) -> Started:
    """The jobs that a start makes, told to the call even if the client leaves meanwhile.

    A start that is broken off half-way could leave a job that nobody knows.
    """

    async def both() -> Started:
        entries = await start
        await call.started([entry for entry in entries if isinstance(entry, Job)])
        return entries

    task = asyncio.create_task(both())
    call.keep(task)
    return await asyncio.shield(task)
