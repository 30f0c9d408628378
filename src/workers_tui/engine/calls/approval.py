"""Secrets in what is to be sent: looked for off the loop, and the user decides (design 6)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from workers_tui.engine.calls.call_plan import Plan
from workers_tui.engine.calls.parts import Parts
from workers_tui.engine.calls.queue import Place
from workers_tui.engine.calls.running import Running
from workers_tui.engine.errors import SecretsRefused
from workers_tui.engine.files.sandbox import Piece
from workers_tui.engine.files.secrets import scan
from workers_tui.engine.jobs.job import JobState, Question, WaitingFor
from workers_tui.engine.money import Pico

SMALL = 32_000
"""Characters that are looked through in less time than a thread takes to wake up."""
PATIENCE = 600.0
"""Seconds that a question stands before it is answered with no."""


@dataclass(frozen=True, slots=True)
class Found:
    """One secret and where it stands."""

    place: str
    kind: str
    shown: str


async def ask_user(
    parts: Parts, run: Running, place: Place, plan: Plan, found: Sequence[Found]
) -> None:
    """Return when all may be sent. Raises SecretsRefused when it may not."""
    if found:
        most = plan.bound()  # without a cap nothing is held, and it costs all the same
        cost = max(most.hold_pico, most.estimate_pico)
        await decide(parts, run, place, found, cost, plan.prompt.bytes)


async def decide(
    parts: Parts,
    run: Running,
    place: Place,
    found: Sequence[Found],
    cost_pico: Pico | None,
    bytes_out: int,
) -> None:
    """Ask about what was found; return when it may be sent. Raises SecretsRefused."""
    summary = in_words(found)
    if not parts.approvals:
        raise SecretsRefused(
            f"{summary}; nothing was sent. Take it out, name it in allow_secrets, or run the "
            "dashboard to decide there"
        )
    question = Question(
        summary,
        tuple(f"{one.place}: {one.kind} {one.shown}" for one in found),
        cost_pico,
        bytes_out,
    )
    await parts.jobs.change(
        run.job_id, state=JobState.WAITING, waiting_for=WaitingFor.APPROVAL, question=question
    )
    async with place.aside():  # a refusal ends the block: it needs no place any more
        accepted = await _answer(parts, run)
        if accepted is None:
            raise SecretsRefused(f"{summary}; nobody answered within {PATIENCE / 60:.0f} minutes")
        if not accepted:
            raise SecretsRefused(f"{summary}; you rejected it, nothing was sent")
        parts.jobs.show(run.job_id, state=JobState.QUEUED, waiting_for=None, question=None)


async def _answer(parts: Parts, run: Running) -> bool | None:
    """The user's answer, None when there was none in time."""
    verdict = run.verdict = asyncio.get_running_loop().create_future()
    patience = asyncio.ensure_future(parts.clock.sleep(PATIENCE))
    try:
        waits: set[asyncio.Future[Any]] = {verdict, patience}
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        return verdict.result() if verdict.done() else None
    finally:
        run.verdict = None
        patience.cancel()


def find_all(task: str, pieces: Sequence[Piece], allow: Sequence[str]) -> list[Found]:
    """Every secret in the task and the files. Blocking."""
    found = [
        Found(f"the task, line {one.line}", one.kind, one.excerpt_masked)
        for one in scan(task, allow=allow)
    ]
    for piece in pieces:
        for one in scan(piece.text, allow=allow):
            line = piece.start + one.line - 1
            found.append(Found(f"{piece.path}:{line}", one.kind, one.excerpt_masked))
    return found


def in_words(found: Sequence[Found]) -> str:
    """What was found, in one line."""
    first = found[0]
    more = f" and {len(found) - 1} more" if len(found) > 1 else ""
    return f"looks like a secret: {first.kind} in {first.place}{more}"
