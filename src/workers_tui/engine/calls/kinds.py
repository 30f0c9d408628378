"""Which kind of work a task's words speak of, and which tiers say they are good at it.

A list of words, not a guess by a model: the same task always gets the same
answer, and the answer can be said in a word.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

FIRST_WORDS = 40
"""A task says what it wants at the start; pasted material follows."""


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of work."""

    name: str
    """As the reason says it."""
    asked_by: tuple[str, ...]
    """Word beginnings that ask for it in a task."""
    offered_by: tuple[str, ...]
    """Word beginnings that offer it in a tier's `use`."""


KINDS = (
    Kind(
        "debugging",
        ("debug", "bug", "crash", "traceback", "deadlock", "race", "leak", "diagnos", "why"),
        ("debug", "reason", "hard"),
    ),
    Kind(
        "review",
        ("review", "audit", "critique", "opinion", "assess", "prove", "verify"),
        ("review", "opinion", "reason"),
    ),
    Kind("tests", ("test", "pytest", "unittest", "coverage", "fixture"), ("test", "code")),
    Kind("a diff", ("diff", "patch", "refactor", "rename", "migrat", "port"), ("diff", "code")),
    Kind(
        "code",
        ("implement", "code", "function", "class", "method", "script", "fix", "program", "regex"),
        ("code", "coding", "program"),
    ),
    Kind(
        "summary",
        ("summar", "tldr", "overview", "condens", "digest", "recap", "outline", "gist"),
        ("summar",),
    ),
    Kind(
        "extraction",
        ("extract", "list", "find", "collect", "count", "grep", "classif", "categor", "tabulat"),
        ("extract", "summar", "classif"),
    ),
    Kind(
        "boilerplate",
        ("boilerplate", "scaffold", "stub", "template", "convert", "format", "translat", "docstr"),
        ("boilerplate", "scaffold", "format", "translat"),
    ),
)


def kinds_of(task: str) -> list[Kind]:
    """The kinds a task speaks of, the most spoken of first, then the first spoken of."""
    words = re.findall(r"[a-z]+", task.lower())[:FIRST_WORDS]
    found = []
    for kind in KINDS:
        places = [place for place, word in enumerate(words) if word.startswith(kind.asked_by)]
        if places:
            found.append((-len(places), places[0], kind))
    return [kind for _, _, kind in sorted(found, key=lambda one: one[:2])]


def offers(use: str, kind: Kind) -> bool:
    """True when a tier's words say that it is good at this kind of work."""
    words = re.findall(r"[a-z]+", use.lower())
    return any(word.startswith(kind.offered_by) for word in words)
