"""One job while this engine runs it: its text so far, its cancel, its question."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from workers_tui.engine.errors import WorkersError
from workers_tui.engine.jobs.job import CallRequest, Origin

if TYPE_CHECKING:
    from workers_tui.engine.calls.material import Material

TAIL = 100_000
"""Characters of text that are kept in memory for the screen."""


@dataclass(slots=True, eq=False)
class Running:
    """A job's live side. What must survive the process is in the table and the result file."""

    job_id: str
    request: CallRequest
    origin: Origin
    ahead: asyncio.Task[Material] | None = None
    """Its files, read while the job was being put into the table."""
    task: asyncio.Task[None] | None = None
    cancelled_by: str | None = None
    sealed: bool = False
    """It settles what it owes: a cancel must wait, or comes too late."""
    failure: WorkersError | None = None
    """Why it did not end well."""
    finished: asyncio.Event = field(default_factory=asyncio.Event)
    verdict: asyncio.Future[bool] | None = None
    """The user's answer, while the job waits for it."""
    chars: int = 0
    """Characters received."""
    _pieces: list[str] = field(default_factory=list)
    kept: int = 0
    """Characters in memory."""

    @property
    def line(self) -> str:
        """Whose turn it takes in the queue."""
        return self.origin.session or self.origin.line or self.origin.client or ""

    def add(self, text: str) -> None:
        """Take the next piece of text."""
        self._pieces.append(text)
        self.chars += len(text)
        self.kept += len(text)
        if self.kept > 2 * TAIL:
            tail = "".join(self._pieces)[-TAIL:]
            self._pieces, self.kept = [tail], len(tail)

    def restart(self, text: str) -> None:
        """Take a final text in place of what came before."""
        self._pieces, self.kept, self.chars = [], 0, 0
        self.add(text)

    def tail(self) -> str:
        """The newest text."""
        return "".join(self._pieces)[-TAIL:]

    def whole(self) -> str | None:
        """All of the text as the result file has it; None when some of it is only there."""
        if self.kept < self.chars:
            return None
        return "".join(self._pieces).encode("utf-8", "replace").decode()

    def cancel(self, by: str) -> None:
        """End the job wherever it stands; the first caller's name counts."""
        if self.cancelled_by is not None:
            return
        self.cancelled_by = by
        # Not at once: a task that is cancelled before its first step ends without its clean-up.
        asyncio.get_running_loop().call_soon(self._strike)

    def _strike(self) -> None:
        if self.task is not None and not self.sealed:
            self.task.cancel()

    def unseal(self) -> None:
        """Settled: a cancel that came meanwhile takes effect now."""
        self.sealed = False
        if self.cancelled_by is not None:
            raise asyncio.CancelledError
