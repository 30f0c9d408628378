"""What the dashboard is given: ways to start an engine and a server, and a terminal.

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


class OwnTerminal(Protocol):
    """A terminal that is lent to a pager and has a title."""

    lent: bool
    """Whether signals from its keys are for somebody else."""

    def set_title(self, title: str) -> None:
        """Name the window."""
        ...


StartEngine = Callable[[], Awaitable["Engine"]]
StartServer = Callable[["Engine"], Awaitable[Stoppable]]
