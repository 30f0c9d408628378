"""Refuses what a scenario cannot mean, by name and before anything is served with it.

A typing error that is passed over would make a test of somebody else's program
pass for the wrong reason.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any

PATTERNS = frozenset({"user", "tool_result", "system", "model", "raw"})
NAMES = frozenset({"tool", "answers"})
FLAGS = frozenset({"tools", "agent", "stream"})
BLOCKS = ({"text"}, {"thinking"}, {"tool"}, {"tool", "input"})
CHOICES = {
    "usage_style": ("full", "start-zero", "output-only", "start-only", "none"),
    "line_end": ("\n", "\r\n", "\r"),
    "count_tokens": ("yes", "404", "hang"),
}
LEAST = {"chunk_chars": 1}
"""Smallest value of a number; 0 where nothing is said."""
KINDS: Mapping[str, tuple[type, ...]] = {
    "bool": (bool,),
    "int": (int,),
    "float": (int, float),
    "str": (str,),
    "Decimal": (Decimal,),
    "None": (type(None),),
}


def known(what: str, raw: Any, names: Sequence[str]) -> Mapping[str, Any]:
    """The object, if it is one and all of it is known. Raises ValueError naming what there is."""
    if not isinstance(raw, Mapping):
        raise ValueError(f"{what} must be an object")  # noqa: TRY004 - it is data
    for name in raw:
        if name not in names:
            raise ValueError(f"unknown {what} {name!r}; known: {', '.join(sorted(names))}")
    return raw


def fits(name: str, value: Any, kind: str) -> Any:
    """The value, if a field of this annotation takes it. Raises ValueError."""
    if not kind.startswith("tuple"):
        allowed = [one for part in kind.split(" | ") for one in KINDS[part]]
        strange = isinstance(value, bool) and bool not in allowed
        if strange or not isinstance(value, tuple(allowed)):
            raise ValueError(f"{name} must be {kind}, not {value!r}")
    if name in CHOICES and value not in CHOICES[name]:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, CHOICES[name]))}")
    if isinstance(value, int | float | Decimal) and not value >= LEAST.get(name, 0):
        raise ValueError(f"{name} must be at least {LEAST.get(name, 0)}, not {value}")
    return value


def dollars(name: str, value: Any) -> Decimal:
    """An amount. Raises ValueError."""
    try:
        amount = Decimal(str(value))
    except InvalidOperation:
        raise ValueError(f"{name} must be an amount in USD, not {value!r}") from None
    if not amount.is_finite():
        raise ValueError(f"{name} must be an amount in USD, not {value!r}")
    return amount


def conditions(raw: Any) -> Mapping[str, Any]:
    """What a rule's `when` says. Raises ValueError."""
    for name, want in known("condition", raw, sorted(PATTERNS | NAMES | FLAGS)).items():
        kind = "bool" if name in FLAGS else "str"
        fits(name, want, kind)
        if name in PATTERNS:
            try:
                re.compile(str(want))
            except re.error as wrong:
                raise ValueError(f"condition {name}: {want!r} is no pattern: {wrong}") from None
    return dict(raw)


def blocks(raw: Any) -> tuple[Mapping[str, Any], ...]:
    """Blocks of a message. Raises ValueError."""
    for block in listed("content", raw):
        if not isinstance(block, Mapping) or set(block) not in BLOCKS:
            raise ValueError(
                f'content has {{"text"}}, {{"thinking"}} or {{"tool", "input"}}: {block}'
            )
    return tuple(raw)


def listed(name: str, raw: Any) -> Sequence[Any]:
    """The list. Raises ValueError."""
    if not isinstance(raw, list | tuple):
        raise ValueError(f"{name} must be a list, not {raw!r}")  # noqa: TRY004 - it is data
    return raw
