"""What a tool call gives back, in words: the first line, the answer, and how to get the rest.

Text only on purpose: clients show structured content instead of the text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from workers_tui.engine.calls.outcome import unfenced
from workers_tui.engine.jobs.job import Job, JobKind, JobState
from workers_tui.engine.money import Cost, to_usd

PAGE = 40_000
"""Most characters of one page: Claude Code files away what is over 50,000."""

BLOCK = 350
"""Characters that a block of a batch takes beside its text, at most but for long errors."""

FIRST_LINES = 20


@dataclass(frozen=True, slots=True)
class Reply:
    """The outcome of a tool call, whatever protocol carries it."""

    text: str
    error: bool = False
    meta: dict[str, Any] = field(default_factory=dict)


def first_line(job: Job) -> str:
    """`[tier/model in=… out=… $cost (source) 812ms job=ID]`, then why this tier."""
    name = "/".join(part for part in (job.tier or job.worker, job.model) if part) or job.kind.value
    usage = f"in={job.usage.input} out={job.usage.output}"
    line = f"[{name} {usage} {money(job.cost)} {job.ms or 0}ms job={job.id}]"
    work = job.last_action if job.kind is JobKind.AGENT and job.state.ended else None
    why = job.tier_reason or work
    return f"{line} {why}" if why else line


def money(cost: Cost | None) -> str:
    """`$0.000123 (reported)`; an amount nobody knows is `$?`, never 0."""
    if cost is None:
        return "$0 (nothing sent)"
    if cost.pico is None:
        return f"$? ({cost.source.value})"
    text = f"{to_usd(cost.pico):.8f}".rstrip("0")
    return f"${text + '0' if text.endswith('.') else text} ({cost.source.value})"


def meta(job: Job) -> dict[str, Any]:
    """What programs may read beside the text; the model never sees it."""
    cost = job.cost
    return {
        "workers-tui/job": job.id,
        "workers-tui/usage": {
            "input": job.usage.input,
            "output": job.usage.output,
            "cached": job.usage.cached,
            "reasoning": job.usage.reasoning,
        },
        "workers-tui/cost": None if cost is None or cost.pico is None else float(to_usd(cost.pico)),
        "workers-tui/source": None if cost is None else cost.source.value,
    }


def call_reply(job: Job, text: str, limit: int) -> Reply:
    """One ended job with its answer; a job that did not end well is an error."""
    if job.state is not JobState.DONE:
        return Reply(failure(job, text), error=True, meta=meta(job))
    said = f"{first_line(job)}\n{body(job, text, limit)}{sent_notes(job)}"
    return Reply(said, meta=meta(job))


def body(job: Job, text: str, limit: int) -> str:
    """The answer as far as the limit allows, and where the rest is."""
    if job.written:
        return written(job, text)
    shown, note = clip(job, text, limit)
    if job.truncated:
        note += "\n[cut by the output limit: the answer is not complete; raise max_tokens]"
    return shown + note


def sent_notes(job: Job) -> str:
    """What the worker did not get as it lies on disk: cut files, decoded ones."""
    return "".join(f"\n[{one.path}: {one.note}]" for one in job.sent if one.note)


def written(job: Job, text: str) -> str:
    """An answer that went to a file: its path, its size and its beginning."""
    lines = unfenced(text).splitlines()
    head = "\n".join(lines[:FIRST_LINES])
    more = "" if len(lines) <= FIRST_LINES else f"\n… {len(lines) - FIRST_LINES} more lines"
    return f"wrote {job.written} ({len(lines)} lines)\n{head}{more}"


def clip(job: Job, text: str, limit: int, offset: int = 0) -> tuple[str, str]:
    """A page of a text, and the note that says how to read on."""
    page = text[offset : offset + limit]
    end = offset + len(page)
    if end >= len(text):
        return page, ""
    where = f" or read {job.result_path}" if job.result_path else ""
    note = (
        f"\n[characters {offset}-{end} of {len(text)}; go on with "
        f'delegate_result(job_id="{job.id}", offset={end}){where}]'
    )
    return page, note


def failure(job: Job, text: str) -> str:
    """One line on what went wrong, and the job id where something can be read."""
    line = f"job {job.id} {job.state.value}"
    if job.error:
        line += f": {job.error}"
    if job.cost is not None:
        line += f"; {money(job.cost)} spent"
    if text:
        line += f'; {len(text)} characters came, read them with delegate_result(job_id="{job.id}")'
    return " ".join(line.split("\n"))


def batch_reply(parts: Sequence[tuple[Job, str] | str], limit: int) -> Reply:
    """One block per entry in input order; the limit is shared, an error only when all failed.

    An entry that became no job stands as its error's line.
    """
    room_for_texts = max(0, PAGE - BLOCK * len(parts))
    shares = share(min(limit, room_for_texts), [_shown_length(part) for part in parts])
    blocks, good, metas = [], False, []
    for number, (part, room) in enumerate(zip(parts, shares, strict=True), start=1):
        told = Reply(part, error=True) if isinstance(part, str) else call_reply(*part, room)
        blocks.append(f"### {number}/{len(parts)}\n{told.text}")
        metas.append(told.meta)
        good = good or not told.error
    return Reply("\n\n".join(blocks), error=not good, meta={"workers-tui/jobs": metas})


def _shown_length(part: tuple[Job, str] | str) -> int:
    return 0 if isinstance(part, str) or part[0].written else len(part[1])


def share(limit: int, lengths: Sequence[int]) -> list[int]:
    """Split a limit: short texts take what they need, long ones get the same part each."""
    shares = [0] * len(lengths)
    left, waiting = limit, sorted(range(len(lengths)), key=lambda index: lengths[index])
    for done, index in enumerate(waiting):
        shares[index] = min(lengths[index], left // (len(lengths) - done))
        left -= shares[index]
    return shares


def page_reply(job: Job, text: str, offset: int) -> Reply:
    """`delegate_result`: a page of what there is, also while the job runs."""
    page, note = clip(job, text, PAGE, offset)
    if not job.state.ended:
        note = note or f"\n[job {job.id} is still {job.state.value}; {len(text)} characters so far]"
    elif job.state is not JobState.DONE:
        note += f"\n[job {job.id} {job.state.value}: {job.error or 'no answer'}]"
    elif job.truncated and not note:
        note = "\n[cut by the output limit: the answer is not complete]"
    return Reply(f"{first_line(job)}\n{page}{note}", meta=meta(job))


def status_line(job: Job) -> str:
    """A running or ended job on one line."""
    parts = [f"job={job.id}", job.kind.value, job.state.value]
    if job.waiting_for:
        parts.append(f"waits for {job.waiting_for.value}")
    if job.kind.value == "agent":
        parts.append(f"turns={job.turns} tools={job.tool_calls}")
        parts += [f"session={job.agent_session}"] if job.agent_session else []
    parts.append(f"in={job.usage.input} out={job.usage.output} {money(job.cost)}")
    if job.error:
        parts.append(job.error)
    return " ".join(parts)
