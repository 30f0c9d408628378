"""Everything known about one job, as pairs of a name and what there is to say."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from workers_tui.engine.jobs.job import Job, JobKind
from workers_tui.engine.money import Cost, CostSource
from workers_tui.tui import marks, safe, words
from workers_tui.tui.lines import LineView, Row, row

NAME = 11

SOURCES = {
    CostSource.REPORTED: "as the provider reported it",
    CostSource.RECONCILED: "as the provider said later",
    CostSource.ESTIMATED: "estimated from tokens and price",
    CostSource.PENDING: "the provider will be asked",
    CostSource.UNKNOWN: "nobody knows; counts against the cap",
}


class FactsView(LineView):
    """The facts, wrapped to the width."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's own name
        super().__init__(id=id)
        self._job: Job | None = None
        self._now: datetime | None = None

    def show(self, job: Job, now: datetime) -> None:
        """Show a job."""
        self._job, self._now = job, now
        self._lay_out()

    def on_resize(self) -> None:
        """Facts wrap to the width."""
        self._lay_out()
        super().on_resize()

    def _lay_out(self) -> None:
        if self._job is not None and self._now is not None:
            width = max(10, self.row_width - NAME - 2)
            facts = facts_of(self._job, self._now)
            self.show_rows([line for fact in facts for line in _wrapped(*fact, width)])


Fact = tuple[str, str, str]
"""Name, text and style; an empty name continues the fact above."""


def facts_of(job: Job, now: datetime) -> list[Fact]:
    """The facts in the order in which they are asked for: a small screen shows the first."""
    return [
        *_state(job, now),
        *_time(job, now),
        *_money(job),
        *_choice(job),
        *_sent(job),
        *_asked(job, now),
        *_agent(job),
    ]


def _state(job: Job, now: datetime) -> Iterator[Fact]:
    mark = marks.mark(job)
    said = marks.countdown(job, now) or mark.word
    if job.truncated:
        said += ", cut at the output limit"
    yield "state", f"{mark.symbol} {said}", mark.style
    if job.error:
        yield "", safe.one_line(job.error), ""
    if job.question is not None and marks.asks(job):
        yield "asks", safe.one_line(job.question.text), "bad"
        for line in job.question.details:
            yield "", safe.one_line(line), ""
        yield "", "a accepts, x rejects", "key"
    yield "task", " ".join(safe.clean(job.task).split()), ""


def _time(job: Job, now: datetime) -> Iterator[Fact]:
    seconds = marks.elapsed(job, now)
    if seconds is not None:
        yield "took" if job.state.ended else "runs", _took(job, seconds), ""


def _asked(job: Job, now: datetime) -> Iterator[Fact]:
    yield "asked by", safe.one_line(job.client or words.UNKNOWN), ""
    yield "at", words.moment(job.created_at, now), ""
    if job.project:
        yield "project", safe.one_line(job.project), ""
    if job.session:
        yield "session", safe.one_line(job.session), "dim"
    if job.parent:
        yield "repeats", job.parent, ""


def _took(job: Job, seconds: float) -> str:
    time = words.took(job.ms) if job.ms is not None else words.duration(seconds)
    return f"{time}, {words.plural(job.attempts, 'attempt')}" if job.attempts else time


def _choice(job: Job) -> Iterator[Fact]:
    if job.tier:
        yield "tier", safe.one_line(job.tier), "strong"
    if job.tier_reason:
        yield "why", safe.one_line(job.tier_reason), ""
    if job.worker:
        yield "worker", safe.one_line(job.worker), "strong"
    if job.model:
        yield "model", safe.one_line(job.model), ""
    if job.provider:
        yield "provider", safe.one_line(job.provider), ""


def _money(job: Job) -> Iterator[Fact]:
    if job.cost is not None:
        yield "cost", words.cost(job.cost), "strong"
        yield "", SOURCES[job.cost.source], "dim"
        yield from _list_price(job.cost)
    elif job.estimate_pico:
        yield "held", f"{words.money(job.estimate_pico)} at most", ""
    usage = job.usage
    if usage.input or usage.output:
        cached = f" ({words.count(usage.cached)} cached)" if usage.cached else ""
        thought = f" ({words.count(usage.reasoning)} reasoning)" if usage.reasoning else ""
        came = f"{words.count(usage.output)} out{thought}"
        yield "tokens", f"{words.count(usage.input)} in{cached}, {came}", ""


def _list_price(cost: Cost) -> Iterator[Fact]:
    if cost.list_pico is not None and cost.list_pico != cost.pico:
        yield "", f"list price {words.money(cost.list_pico)}", "dim"


def _sent(job: Job) -> Iterator[Fact]:
    if job.bytes_out:
        yield "sent", f"{words.size(job.bytes_out)} left this machine", ""
    for part in job.sent:
        lines = f"lines {part.start} to {part.end}"
        yield "", f"{safe.one_line(part.path)}  {lines}, {words.size(part.bytes)}", ""
        if part.note:
            yield "", safe.one_line(part.note), "warn"
    if not job.sent and job.files:
        for name in job.files:
            yield "files", safe.one_line(name), ""
    if job.written or job.write_to:
        yield "writes", safe.one_line(job.written or job.write_to or ""), ""


def _agent(job: Job) -> Iterator[Fact]:
    if job.kind is not JobKind.AGENT:
        return
    yield "rights", "an agent has your rights on files", "warn"
    calls = words.plural(job.tool_calls, "tool call")
    yield "turns", f"{job.turns}, {calls}", ""
    if job.last_action and not job.last_action.startswith(calls):
        yield "last", safe.one_line(job.last_action), ""
    if job.agent_session:
        yield "resume", safe.one_line(job.agent_session), "dim"


def _wrapped(name: str, text: str, style: str, width: int) -> Iterator[Row]:
    for number, line in enumerate(safe.wrap(text, width)):
        shown = name if number == 0 else ""
        yield row((f" {shown:<{NAME}}", "dim"), (line, style))
