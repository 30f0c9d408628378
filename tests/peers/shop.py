"""A home with engines and servers that are opened and closed over it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from workers_tui.engine.engine import Engine, EngineOptions
from workers_tui.engine.jobs.job import Job
from workers_tui.home.places import Home
from workers_tui.home.server_record import ensure_token
from workers_tui.server.host import Host, Kind


class Shop:
    """What a user's dashboards share."""

    def __init__(self, home: Home, upstream_url: str) -> None:
        ensure_token(home)
        self.home = home
        self.environ = {
            "OPENROUTER_BASE_URL": upstream_url,
            "OPENROUTER_API_KEY": "sk-or-test",
            "HOME": str(home.state.parent),
        }

    @asynccontextmanager
    async def open(
        self, kind: Kind = "dashboard", port: int = 0, project: Path | None = None
    ) -> AsyncIterator[tuple[Engine, Host]]:
        """What a dashboard or `serve` runs."""
        engine = await Engine.start(EngineOptions(home=self.home, environ=self.environ))
        host = Host(engine, port=port, kind=kind, project=project)
        try:
            await host.start()
            yield engine, host
        finally:
            await host.stop("the test closed it")
            await engine.close()

    async def jobs(self) -> list[Job]:
        """All jobs in the store, oldest first."""
        engine = await Engine.start(EngineOptions(home=self.home, environ=self.environ))
        try:
            return (await engine.list_jobs(limit=500))[::-1]
        finally:
            await engine.close()
