"""How commands say a job, an amount and a number of tokens."""

from __future__ import annotations

from workers_tui.cli.safe import one_line
from workers_tui.engine.jobs.job import Job
from workers_tui.engine.money import Cost, Pico, to_usd

TASK = 60


def first_line(job: Job) -> str:
    """`[tier/model in=… out=… $cost (source) 812ms job=ID]`, then why this tier."""
    name = "/".join(part for part in (job.tier or job.worker, job.model) if part) or job.kind.value
    usage = f"in={job.usage.input} out={job.usage.output}"
    line = f"[{name} {usage} {cost(job.cost)} {job.ms or 0}ms job={job.id}]"
    return one_line(f"{line} {job.tier_reason}" if job.tier_reason else line)


def cost(amount: Cost | None) -> str:
    """`$0.000123 (reported)`; nothing sent is nothing, not $0."""
    if amount is None:
        return "nothing sent"
    return f"{usd(amount.pico)} ({amount.source.value})"


def usd(pico: Pico | None) -> str:
    """Dollars with the digits that matter; what nobody knows is $?."""
    if pico is None:
        return "$?"
    whole, _, part = f"{to_usd(abs(pico)):.6f}".rstrip("0").partition(".")
    return f"{'-' if pico < 0 else ''}${whole}.{part:0<2}"


def title(job: Job) -> str:
    """The task on one short line, without control characters."""
    line = " ".join("".join(c if c.isprintable() else " " for c in job.task).split())
    return line if len(line) <= TASK else line[: TASK - 1] + "…"
