"""A session's place on disk: what it was started with, so that it can go on after a restart.

Each lies in a directory of its own under home.agents, named by Claude Code's
session id, with a config directory that holds no key, and one trace per job.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import uuid
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from workers_tui.engine.agents.agent_request import one_line
from workers_tui.engine.agents.agent_trace import TraceStep, load_steps, step_line
from workers_tui.engine.errors import StoreUnusable, WrongUse
from workers_tui.engine.jobs.results import KEEP_DAYS
from workers_tui.home.files import make_private_dir, read_json, why, write_atomic


@dataclass(frozen=True, slots=True)
class Session:
    """What stays the same over all turns of a session."""

    id: str
    worker: str
    cwd: str
    model: str
    small_model: str
    tools: tuple[str, ...]
    allowed: tuple[str, ...] = ()
    disallowed: tuple[str, ...] = ()
    permission_mode: str = "default"
    max_turns: int = 40
    add_dirs: tuple[str, ...] = ()
    append_system_prompt: str | None = None


class Sessions:
    """All sessions of one home."""

    def __init__(self, agents: Path) -> None:
        self._agents = agents

    def directory(self, session: str) -> Path:
        """Where a session lies. Raises WrongUse for what is no session id."""
        try:
            return self._agents / str(uuid.UUID(session))
        except ValueError:
            named = one_line(repr(session), 80)
            raise WrongUse(f"{named} is neither a job nor a session") from None

    def keep(self, session: Session) -> None:
        """Remember how it was started. Raises StoreUnusable."""
        place = self.directory(session.id)
        try:
            make_private_dir(self._agents)
            make_private_dir(place)
            write_atomic(place / "session.json", json.dumps(asdict(session)), mode=0o600)
        except OSError as error:
            raise not_writable(place, error) from error

    def load(self, session: str) -> Session:
        """How it was started. Raises WrongUse when nothing is kept of it."""
        raw = read_json(self.directory(session) / "session.json")
        try:
            return Session(**{name: _frozen(value) for name, value in raw.items()})
        except (AttributeError, TypeError):
            raise WrongUse(f"nothing is kept of session {session}: start it anew") from None

    def trace_file(self, session: str, job: str) -> Path:
        """Where a job's steps are kept."""
        return self.directory(session) / f"{job}.trace.jsonl"

    def trace(self, session: str, job: str) -> list[TraceStep]:
        """The steps of a job that ended."""
        return load_steps(self.trace_file(session, job))

    def add_steps(self, session: str, job: str, steps: Sequence[TraceStep]) -> None:
        """Append steps to a job's file."""
        path = self.trace_file(session, job)
        # A directory's name may be no UTF-8, and a step tells it.
        with path.open("a", encoding="utf-8", errors="replace") as file:
            path.chmod(0o600)
            file.writelines(map(step_line, steps))

    def sweep(self, now: datetime, keep_days: int = KEEP_DAYS) -> list[str]:
        """Remove sessions that nobody went on with for so long; return their ids. Blocking.

        Each run writes into its session's directory, so one at work is never old.
        """
        oldest = (now - timedelta(days=keep_days)).timestamp()
        gone: list[str] = []
        try:
            places = list(self._agents.glob("*-*-*-*-*"))
        except OSError:  # a disk that fails today may be mended tomorrow
            return gone
        for place in places:
            with contextlib.suppress(OSError):  # another engine sweeps, too
                if place.is_dir() and place.stat().st_mtime < oldest:
                    shutil.rmtree(place, ignore_errors=True)
                    gone.append(place.name)
        return gone


def not_writable(place: Path, error: OSError) -> StoreUnusable:
    """The error for a session's place that takes nothing."""
    return StoreUnusable(f"{place} cannot be written: {why(error)}")


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
