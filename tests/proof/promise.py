"""A promise of the product, the code that keeps it, and the tests that notice when it is gone."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Promise:
    """One line of a table in this directory."""

    says: str
    """What is promised, as a user would say it."""
    file: str
    """Where it is kept, under src/workers_tui."""
    code: str
    """The text that keeps it: it stands there exactly once."""
    instead: str
    """What stands there without the promise."""
    tests: tuple[str, ...]
    """Node ids under tests/; each must pass with the code and fail without it. Of a test with
    parameters one failing case is enough."""


class Moved(Exception):
    """The code of a promise is not where its line says."""


def without(promise: Promise, text: str) -> str:
    """The text of the promise's file without the promise. Raises Moved."""
    found = text.count(promise.code)
    if found != 1:
        raise Moved(f"the code stands {found} times in {promise.file}")
    return text.replace(promise.code, promise.instead)


def change(promise: Promise, source: Path) -> str:
    """Take the promise out of a source tree; returns the file's text as it was. Raises Moved."""
    path = source / promise.file
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    path.write_text(without(promise, text), encoding="utf-8")
    return text
