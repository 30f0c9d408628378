"""A job in the words of a row: who does it, what it is about, what came, cost and time."""

from __future__ import annotations

from datetime import datetime

from workers_tui.engine.jobs.job import Job, JobKind, Question
from workers_tui.tui import marks, safe, words


def worker(job: Job, room: int = 80) -> str:
    """Who does the job: a tier, or an agent and its turn where there is room for it."""
    if job.kind is JobKind.AGENT:
        name = safe.one_line(job.worker or "agent")
        whole = f"{name} · turn {job.turns}"
        return whole if job.turns and len(whole) <= room else name
    return safe.one_line(job.tier or "auto")


def agent_line(job: Job) -> str:
    """What an agent has done so far: `glm · turn 4 · 7 tool calls · Edit app/pages.py`."""
    if job.kind is not JobKind.AGENT:
        return ""
    calls = words.plural(job.tool_calls, "tool call") if job.tool_calls else ""
    last = safe.one_line(job.last_action or "")
    if calls and last.startswith(calls):  # the last words on an ended run count them, too
        calls = ""
    return " · ".join(part for part in (worker(job), calls, last) if part)


def headline(job: Job, now: datetime) -> str:
    """What the job is about, or what is to be known about it first."""
    if marks.asks(job) and job.question is not None:
        return f"waits for you: {asked(job.question)}"
    again = marks.countdown(job, now)
    if again is not None:
        return f"{again}: {safe.one_line(job.error or job.task)}"
    if job.error and job.state.ended:
        return safe.one_line(job.error)
    if job.kind is JobKind.AGENT and job.last_action and not job.state.ended:
        return f"{safe.one_line(job.task)} · {safe.one_line(job.last_action)}"
    task = safe.one_line(job.task)
    target = job.written or job.write_to
    return f"{task} → {_in_project(job, target)}" if target else task


def asked(question: Question) -> str:
    """What a yes would cost and send, then what was found."""
    price = [words.money(question.cost_pico)] if question.cost_pico else []
    leaves = [f"{words.size(question.bytes_out)} leave"] if question.bytes_out else []
    said = [", ".join(price + leaves), safe.one_line(question.text)]
    return " · ".join(part for part in said if part)


def _in_project(job: Job, path: str) -> str:
    """A path as seen from the job's project."""
    return safe.one_line(path.removeprefix(f"{job.project}/") if job.project else path)


def tokens_out(job: Job) -> str:
    """Tokens that came, as far as known."""
    return words.count(job.usage.output) if job.usage.output else words.NOTHING


def cost(job: Job) -> str:
    """What it cost, or may cost at most while it runs."""
    most = job.estimate_pico or (job.question.cost_pico if job.question else None)
    if job.cost is None and most and not job.state.ended:
        return words.ESTIMATED + words.money_cell(most)
    return words.cost(job.cost, cell=True)


def time(job: Job, now: datetime) -> str:
    """How long it took, or runs."""
    seconds = marks.elapsed(job, now)
    if seconds is None:
        return words.NOTHING
    return words.took(job.ms) if job.ms is not None else words.duration(seconds)
