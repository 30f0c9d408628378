"""What is typed after `/`: words to search for, and `field:value` pairs.

`state:failed tier:fast disk full` keeps failed jobs of the tier `fast` whose
text holds both words. A value matches when the field starts with it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from workers_tui.engine.jobs.job import Job, WaitingFor
from workers_tui.tui import words

HINT = "words, or state: tier: worker: project: session:"


@dataclass(frozen=True, slots=True)
class Filter:
    """A filter as typed, taken apart."""

    fields: tuple[tuple[str, str], ...] = ()
    terms: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.fields or self.terms)

    def value(self, field: str) -> str | None:
        """The value asked for in a field."""
        return next((value for name, value in self.fields if name == field), None)

    @property
    def text(self) -> str | None:
        """The words to search for, as one text."""
        return " ".join(self.terms) or None

    def passes(self, job: Job) -> bool:
        """Whether a job matches in every field and every word."""
        for name, value in self.fields:
            if not any(said.lower().startswith(value) for said in FIELDS[name](job)):
                return False
        if not self.terms:
            return True
        text = _text(job)
        return all(term in text for term in self.terms)


def parse(typed: str) -> Filter:
    """Take a typed filter apart; what names no known field is a word."""
    fields: list[tuple[str, str]] = []
    terms: list[str] = []
    for word in typed.lower().split():
        name, colon, value = word.partition(":")
        if colon and name in FIELDS:
            if value:
                fields.append((name, value))
        else:
            terms.append(word)
    return Filter(tuple(fields), tuple(terms))


def about(typed: str) -> str:
    """What can be typed, while nothing is."""
    return "" if typed else HINT


def _state(job: Job) -> tuple[str, ...]:
    said = [job.state.value]
    if job.waiting_for is not None:
        said.append(job.waiting_for.value)
    if job.waiting_for is WaitingFor.APPROVAL:
        said.append("asking")
    return tuple(said)


def _project(job: Job) -> tuple[str, ...]:
    return (job.project, words.folder(job.project)) if job.project else ()


def _said(*values: str | None) -> tuple[str, ...]:
    return tuple(value for value in values if value)


FIELDS: dict[str, Callable[[Job], tuple[str, ...]]] = {
    "state": _state,
    "tier": lambda job: _said(job.tier),
    "worker": lambda job: _said(job.worker),
    "model": lambda job: _said(job.model, words.model_name(job.model) if job.model else None),
    "project": _project,
    "session": lambda job: _said(job.session),
    "kind": lambda job: (job.kind.value,),
    "id": lambda job: (job.id,),
}


def _text(job: Job) -> str:
    said = (job.id, job.task, job.tier, job.worker, job.model, job.error, job.written, *job.files)
    return " ".join(part for part in said if part).lower()
