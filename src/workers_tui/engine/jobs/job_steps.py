"""The steps a job may take, and the names it goes by. Pure."""

from __future__ import annotations

import difflib
import secrets
from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from workers_tui.engine.errors import WrongUse
from workers_tui.engine.jobs.job import NEXT, Job, JobState

ID_LETTERS = "0123456789abcdefghjkmnpqrstvwxyz"
"""Base 32 without letters that look like others."""
ID_LENGTH = 5
LONGEST_SHOWN = 40
"""Characters of a wrong id that are said again."""
AFTER_THE_END = frozenset({"cost", "usage"})


def new_id() -> str:
    """A short random name."""
    return "".join(secrets.choice(ID_LETTERS) for _ in range(ID_LENGTH))


def advance(old: Job, changes: dict[str, Any], now: datetime) -> Job:
    """A live job's next value."""
    state = changes.get("state", old.state)
    if state is not old.state and state not in NEXT[old.state]:
        raise WrongUse(f"job {old.id} is {old.state} and cannot become {state}")
    new = replace(old, **changes)
    if state is not JobState.WAITING:
        new = replace(new, waiting_for=None, question=None, retry_at=None)
    if state is JobState.RUNNING and new.started_at is None:
        new = replace(new, started_at=now)
    if not state.ended:
        return new
    ended = new.ended_at or now
    took = (ended - (new.started_at or ended)) // timedelta(milliseconds=1)
    return replace(new, ended_at=ended, ms=max(0, took) if new.ms is None else new.ms)


def correct(old: Job, changes: dict[str, Any]) -> Job:
    """An ended job's next value: only what it cost may still change."""
    other = sorted(set(changes) - AFTER_THE_END)
    if other:
        raise WrongUse(f"job {old.id} is {old.state}; its {', '.join(other)} cannot change now")
    return replace(old, **changes)


def states_of(state: JobState | str | Iterable[JobState] | None) -> frozenset[JobState] | None:
    """The states a caller names. Raises WrongUse for a word that is none."""
    if state is None:
        return None
    given = [state] if isinstance(state, str) else list(state)
    try:
        return frozenset(JobState(one) for one in given)
    except ValueError as error:
        raise WrongUse(f"{error}; states are {', '.join(JobState)}") from None


def plain_id(job_id: str) -> str:
    """An id as it is meant: letters that look like digits are taken for them."""
    return job_id.strip().lower().translate(str.maketrans("oil", "011"))


def unknown_id(job_id: str, ids: list[str]) -> str:
    """What to say about an id that is none, with the nearest ones."""
    shown = job_id if len(job_id) <= LONGEST_SHOWN else f"{job_id[:LONGEST_SHOWN]}…"
    wanted = plain_id(shown)
    near = [one for one in ids if wanted and one.startswith(wanted)][:3]
    near = near or difflib.get_close_matches(wanted, ids, 3)
    hint = f"; near it: {', '.join(near)}" if near else ""
    return f"there is no job {shown}{hint}"
