"""One job as a frozen value, and the states it may move through.

Nothing here writes: `jobs` keeps the table. Text is not here either: it grows
in the result file.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from pathlib import Path

from workers_tui.engine.money import Cost
from workers_tui.engine.usage import Usage

AT_HAND = 500
"""Ended jobs that stay on the board, and calls that rates, medians and picks are over."""


class JobKind(StrEnum):
    """The two kinds of worker."""

    CALL = "call"
    """One task plus files, sent to a chat-completions model."""
    AGENT = "agent"
    """A headless Claude Code session on another provider."""


class JobState(StrEnum):
    """Where a job stands (contract 4.7)."""

    QUEUED = "queued"
    READING = "reading"
    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"
    REFUSED = "refused"
    LOST = "lost"

    @property
    def ended(self) -> bool:
        """No further change will come but corrections of the cost."""
        return self in ENDED


ENDED = frozenset(
    {JobState.DONE, JobState.FAILED, JobState.CANCELLED, JobState.REFUSED, JobState.LOST}
)

LIVE = frozenset(JobState) - ENDED

NEXT: dict[JobState, frozenset[JobState]] = {
    JobState.QUEUED: LIVE | ENDED - {JobState.DONE},
    JobState.READING: LIVE - {JobState.QUEUED} | ENDED - {JobState.DONE},
    JobState.WAITING: LIVE | ENDED - {JobState.DONE},
    JobState.RUNNING: LIVE - {JobState.QUEUED, JobState.READING} | ENDED,
}
"""Where a live job may go; an ended one goes nowhere."""


class WaitingFor(StrEnum):
    """What a waiting job waits for."""

    CAP = "cap"
    """Holds to settle, so that the cap has room."""
    APPROVAL = "approval"
    """The user: `question` says what is asked."""
    RETRY = "retry"
    """The provider's hint or our back-off: until `retry_at`."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Who asked for a job and what the asker may read."""

    roots: tuple[Path, ...]
    """Directories that may be read; relative paths start at the first."""
    project: str | None = None
    """The asker's project directory, as told."""
    session: str | None = None
    """Claude Code's session id, where known."""
    tool_use_id: str | None = None
    """Claude Code's id of the tool call, which also stands in its transcript."""
    client: str | None = None
    """What to show as the asker: `claude-code 2.1.197`, `shell`, `dashboard`, `demo`."""
    line: str | None = None
    """Tells apart, in the queue, clients that have no session and the same name."""


@dataclass(frozen=True, slots=True)
class CallRequest:
    """One call as the asker put it (contract 4.5, `delegate`)."""

    task: str
    tier: str = "auto"
    files: tuple[str, ...] = ()
    write_to: str | None = None
    max_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Question:
    """What a job asks the user before it goes on."""

    text: str
    """One line: what was found or is asked."""
    details: tuple[str, ...] = ()
    """One line per finding: file, line number, kind of secret; never the secret itself."""
    cost_pico: int | None = None
    """What going on would cost at most."""
    bytes_out: int = 0
    """How much would leave the machine."""


@dataclass(frozen=True, slots=True)
class Sent:
    """One file, or part of one, that left the machine with a job."""

    path: str
    start: int
    """First line sent, from 1."""
    end: int
    """Last line sent."""
    bytes: int
    sha256: str
    """Of the bytes that were sent."""
    note: str = ""
    """How it differs from the file: where it was cut, how it was decoded."""


@dataclass(frozen=True, slots=True)
class Job:
    """One piece of work. Replaced by a newer value at each change."""

    id: str
    """Short random name, unique in the store."""
    kind: JobKind
    state: JobState
    task: str
    """The task as given; front ends show its first line."""
    created_at: datetime
    engine: str = ""
    """Id of the engine that runs it."""
    waiting_for: WaitingFor | None = None
    question: Question | None = None
    """Set while it waits for approval."""
    retry_at: datetime | None = None
    """When the next attempt starts, while it waits for a retry."""
    tier: str | None = None
    tier_reason: str | None = None
    """Why this tier, in words."""
    model: str | None = None
    """Asked for at first, the served one once known."""
    worker: str | None = None
    """Agents: name of the identity."""
    provider: str | None = None
    project: str | None = None
    session: str | None = None
    tool_use_id: str | None = None
    client: str | None = None
    started_at: datetime | None = None
    """First attempt's start."""
    ended_at: datetime | None = None
    ms: int | None = None
    """Duration from start to end, once ended."""
    usage: Usage = Usage()
    """Sum over the attempts."""
    cost: Cost | None = None
    """Sum over the attempts; None until something was billed."""
    estimate_pico: int | None = None
    """The hold while it runs: what it costs at most."""
    attempts: int = 0
    error: str | None = None
    """One line, set when it did not end well."""
    finish_reason: str | None = None
    truncated: bool = False
    """The answer hit the output limit."""
    result_path: Path | None = None
    """Where the text grows."""
    files: tuple[str, ...] = ()
    write_to: str | None = None
    written: str | None = None
    """Path written by `write_to`, once it is on disk."""
    max_tokens: int | None = None
    sent: tuple[Sent, ...] = ()
    """What left the machine."""
    bytes_out: int = 0
    """Size of the prompt."""
    agent_session: str | None = None
    """Agents: the worker's own session id, to resume with."""
    turns: int = 0
    tool_calls: int = 0
    last_action: str | None = None
    """Agents: one line about the newest step."""
    parent: str | None = None
    """The job this one repeats or follows up."""
