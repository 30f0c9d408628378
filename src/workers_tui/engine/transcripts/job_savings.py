"""What single jobs saved, and which session asked for them. Pure.

Kept out of context are the tokens of the files that a call read, less what
came back; net dollars are those tokens at the price of the session's own
model, less what the job cost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING

from workers_tui.engine.money import Pico, from_usd
from workers_tui.engine.pricing.price import Price

if TYPE_CHECKING:
    from workers_tui.engine.jobs.job import Job

MILLION = 10**6
CHARS_PER_TOKEN = 4
"""Where nobody counted tokens, so many characters stand for one."""


@dataclass(frozen=True, slots=True)
class JobSaving:
    """What one job saved."""

    job: Job
    session: str | None
    """The session that asked for it."""
    kept_out: int
    net_low_pico: Pico | None
    net_high_pico: Pico | None
    read_again: tuple[str, ...] = ()
    """Files it was given that Claude then read itself."""


@dataclass(frozen=True, slots=True)
class Links:
    """How jobs and transcripts belong together."""

    session_of_call: Mapping[str, str] = field(default_factory=dict)
    """Tool use id to session."""
    calls_of_job: Mapping[str, str] = field(default_factory=dict)
    """Job id to the tool use that it answered."""
    chars_back: Mapping[str, int] = field(default_factory=dict)
    """Job id to the characters that came back into Claude's context."""
    own_reads: Mapping[str, Sequence[tuple[int, str]]] = field(default_factory=dict)
    """Session to time and path of Claude's own reads."""

    def session(self, job: Job) -> str | None:
        """The session that asked for a job: told by the client, else found in a transcript."""
        if job.session:
            return job.session
        call = job.tool_use_id or self.calls_of_job.get(job.id)
        return self.session_of_call.get(call) if call else None


def job_savings(
    jobs: Iterable[Job], links: Links, manager_price: Callable[[str | None], Price | None]
) -> list[JobSaving]:
    """What each job saved. `manager_price` gives the price of a session's own model."""
    return [_job_saving(job, links, manager_price) for job in jobs]


def _job_saving(
    job: Job, links: Links, manager_price: Callable[[str | None], Price | None]
) -> JobSaving:
    session = links.session(job)
    again = _read_again(job, links.own_reads.get(session or "", ()))
    kept = kept_out(job, links.chars_back.get(job.id), again)
    price = manager_price(session)
    cost = job.cost.pico or 0 if job.cost is not None else 0
    low = high = None
    if price is not None or not kept:
        high = _worth(kept, price.input if price else Decimal(0)) - cost
        read = price.base.cache_read if price else None
        low = _worth(kept, read if read is not None else Decimal(0)) - cost
    if low is not None and high is not None and low > high:
        low, high = high, low  # more came back than the files held: the dearer price loses more
    return JobSaving(job, session, kept, low, high, again)


def _worth(count: int, rate: Decimal) -> Pico:
    return from_usd(count * rate / MILLION)


def kept_out(job: Job, chars_back: int | None, again: Sequence[str] = ()) -> int:
    """Tokens of the files that a finished call read, less those that came back."""
    # Late: a report over transcripts alone starts without the classes of jobs.
    from workers_tui.engine.jobs.job import JobKind, JobState

    if job.kind is not JobKind.CALL or job.state is not JobState.DONE:
        return 0
    sent = sum(one.bytes for one in job.sent if one.path not in again)
    if not sent:
        return 0
    tokens_read = sent / CHARS_PER_TOKEN
    if job.bytes_out and job.usage.input:
        tokens_read = job.usage.input / max(1, job.attempts) * sent / max(sent, job.bytes_out)
    back = job.usage.output - job.usage.reasoning
    if chars_back is not None:
        back = -(-chars_back // CHARS_PER_TOKEN)
    return int(tokens_read) - back


def _read_again(job: Job, reads: Sequence[tuple[int, str]]) -> tuple[str, ...]:
    """Files of the job that Claude read itself afterwards: nothing was kept out then."""
    begun = job.created_at.timestamp()
    later = [path for at, path in reads if at >= begun]
    return tuple(
        one.path
        for one in job.sent
        if any(path == one.path or path.endswith("/" + one.path) for path in later)
    )
