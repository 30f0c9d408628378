"""What single jobs saved, and which session asked for them. Pure.

Kept out of context are the tokens of the files that a call read, less what
came back; net dollars are those tokens at the price of the session's own
model, less what the job cost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, NamedTuple

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
    back: int = 0
    """Tokens that came back, which `kept_out` is less by."""


class JobSums(NamedTuple):
    """What some jobs saved together. A job that changes is taken out and put in anew."""

    jobs: int = 0
    fresh: int = 0
    """Tokens that the workers worked off."""
    asked_fresh: int = 0
    """The same of jobs whose session is known."""
    kept_out: int = 0
    worker_pico: Pico = 0
    low_pico: Pico = 0
    """Of the jobs where it is known, as all dollars here."""
    high_pico: Pico = 0
    open_lows: int = 0
    """Jobs without a figure, so the sum has none."""
    open_highs: int = 0
    unknown_costs: int = 0
    read_again: int = 0

    def plus(self, other: JobSums) -> JobSums:
        """Both together."""
        return JobSums(*map(int.__add__, self, other))

    def minus(self, other: JobSums) -> JobSums:
        """What is left without the other."""
        return JobSums(*map(int.__sub__, self, other))

    @property
    def net(self) -> tuple[Pico | None, Pico | None]:
        """Net dollars, low and high; None when some job has none."""
        return (
            None if self.open_lows else self.low_pico,
            None if self.open_highs else self.high_pico,
        )


NOTHING_SAVED = JobSums()


def job_sums(one: JobSaving) -> JobSums:
    """One job as sums."""
    job = one.job
    cost = job.cost.pico if job.cost is not None else None
    return JobSums(
        jobs=1,
        fresh=job.usage.fresh,
        asked_fresh=job.usage.fresh if one.session else 0,
        kept_out=one.kept_out,
        worker_pico=cost or 0,
        low_pico=one.net_low_pico or 0,
        high_pico=one.net_high_pico or 0,
        open_lows=one.net_low_pico is None,
        open_highs=one.net_high_pico is None,
        unknown_costs=job.state.ended and job.cost is not None and cost is None,
        read_again=len(one.read_again),
    )


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


def new_links(before: Links, now: Links) -> tuple[set[str], set[str], set[str | None]]:
    """The calls, jobs and sessions about which more is known now."""
    asked, chars, back = before.session_of_call, before.chars_back, before.calls_of_job
    calls = {call for call, session in now.session_of_call.items() if asked.get(call) != session}
    jobs = {job for job, count in now.chars_back.items() if chars.get(job) != count}
    jobs |= {
        job for job, call in now.calls_of_job.items() if back.get(job) != call or call in calls
    }
    reads = before.own_reads
    sessions: set[str | None] = {
        session for session, own in now.own_reads.items() if len(own) != len(reads.get(session, ()))
    }
    return calls, jobs, sessions


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
    read, back = read_and_back(job, links.chars_back.get(job.id), again)
    kept = read - back
    price = manager_price(session)
    cost = job.cost.pico or 0 if job.cost is not None else 0
    low = high = None
    if price is not None or not kept:
        high = _worth(kept, price.input if price else Decimal(0)) - cost
        again_price = price.base.cache_read if price else None
        low = _worth(kept, again_price if again_price is not None else Decimal(0)) - cost
    if low is not None and high is not None and low > high:
        low, high = high, low  # more came back than the files held: the dearer price loses more
    return JobSaving(job, session, kept, low, high, again, back)


def _worth(count: int, rate: Decimal) -> Pico:
    return from_usd(count * rate / MILLION)


def read_and_back(job: Job, chars_back: int | None, again: Sequence[str] = ()) -> tuple[int, int]:
    """Tokens of the files that a finished call read, and of what came back from it."""
    # Late: a report over transcripts alone starts without the classes of jobs.
    from workers_tui.engine.jobs.job import JobKind, JobState

    if job.kind is not JobKind.CALL or job.state is not JobState.DONE:
        return 0, 0
    sent = sum(one.bytes for one in job.sent if one.path not in again)
    if not sent:
        return 0, 0
    tokens_read = sent / CHARS_PER_TOKEN
    if job.bytes_out and job.usage.input:
        tokens_read = job.usage.input / max(1, job.attempts) * sent / max(sent, job.bytes_out)
    back = job.usage.output - job.usage.reasoning
    if chars_back is not None:
        back = -(-chars_back // CHARS_PER_TOKEN)
    return int(tokens_read), back


def _read_again(job: Job, reads: Sequence[tuple[int, str]]) -> tuple[str, ...]:
    """Files of the job that Claude read itself afterwards: nothing was kept out then."""
    begun = job.created_at.timestamp()
    later = [path for at, path in reads if at >= begun]
    return tuple(
        one.path for one in job.sent if any(_is(path, one.path, job.project) for path in later)
    )


def _is(path: str, sent: str, project: str | None) -> bool:
    """Whether a whole path is the file that was sent, whose path begins at a root."""
    if project and path.startswith(f"{project}/"):
        return path == f"{project}/{sent}"
    return path == sent or path.endswith(f"/{sent}")
