"""How commands say a job, an amount and a number of tokens."""

from __future__ import annotations

import sys

from workers_tui.engine.jobs.job import Job
from workers_tui.engine.money import Cost, Pico, to_usd

TASK = 60
PICTURES: dict[int, str] = {code: chr(0x2400 + code) for code in range(0x20)}
PICTURES |= {0x7F: "␡", **dict.fromkeys(range(0x80, 0xA0), "\ufffd")}
"""What stands on a terminal for a character that it would obey."""
KEPT = {code: text for code, text in PICTURES.items() if chr(code) not in "\t\n"}


def first_line(job: Job) -> str:
    """`[tier/model in=… out=… $cost (source) 812ms job=ID]`, then why this tier."""
    name = "/".join(part for part in (job.tier or job.worker, job.model) if part) or job.kind.value
    usage = f"in={job.usage.input} out={job.usage.output}"
    line = f"[{name} {usage} {cost(job.cost)} {job.ms or 0}ms job={job.id}]"
    return one_line(f"{line} {job.tier_reason}" if job.tier_reason else line)


def one_line(text: str) -> str:
    """The text on one line that no terminal obeys."""
    return text.translate(PICTURES)


def answer(text: str) -> str:
    """A worker's text as it came for a pipe or a file; on a terminal nothing of it is obeyed."""
    return text.replace("\r\n", "\n").translate(KEPT) if is_terminal() else text


def is_terminal() -> bool:
    """Whether a person reads the output."""
    return sys.stdout is not None and sys.stdout.isatty()


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
