"""The names nearest to one that does not exist, so that an error can offer them."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

TRIED = 2000
"""Model lists are long; comparing more than this many names would be felt."""


def nearest_words(name: str, known: Iterable[str], count: int = 3) -> list[str]:
    """Up to `count` of the known names, the most alike first."""
    names = list(known)[:TRIED]
    scored = {one: _likeness(name, one) for one in names}
    return sorted(names, key=lambda one: -scored[one])[:count]


def _likeness(name: str, other: str) -> float:
    """How alike two names are; what follows the author's slash counts as much as the whole."""
    whole = difflib.SequenceMatcher(None, name.lower(), other.lower()).ratio()
    tails = (name.lower().rpartition("/")[2], other.lower().rpartition("/")[2])
    return max(whole, difflib.SequenceMatcher(None, *tails).ratio())
