"""What the dashboard is given: ways to start an engine and a server, and how to stop them.

The command line makes these; the dashboard never imports the server.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from workers_tui.engine.engine import Engine


class Stoppable(Protocol):
    """A server, or anything else that is stopped when the dashboard leaves."""

    async def stop(self, reason: str) -> None:
        """Let clients know why, and end."""
        ...


StartEngine = Callable[[], Awaitable["Engine"]]
StartServer = Callable[["Engine"], Awaitable[Stoppable]]
