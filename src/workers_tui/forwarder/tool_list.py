"""The tool list as it is said: from the generated file, with the user's tiers filled in.

The forwarder answers from here before any server runs; the server answers from
the same words (server/schemas.py makes the file), so the two are equal.
"""

from __future__ import annotations

import json
import os

TYPE_CHECKING = False  # typing costs 4 ms
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

FILE = os.path.join(os.path.dirname(__file__), "tools.json")
TIERS = "{tiers}"
MAX_USE = 60
MAX_TIERS = 12


def load() -> dict[str, Any]:
    """The generated file: `{"instructions": {mode: text}, "tools": {mode: [tool]}}`."""
    with open(FILE, "rb") as file:
        value: dict[str, Any] = json.loads(file.read())
    return value


def fill(tools: list[dict[str, Any]], tiers: Iterable[tuple[str, str]]) -> list[dict[str, Any]]:
    """The tools with the tiers named where the file has a gap for them."""
    said = describe(tiers)
    text = json.dumps(tools).replace(TIERS, json.dumps(said)[1:-1])
    filled: list[dict[str, Any]] = json.loads(text)
    return filled


def describe(tiers: Iterable[tuple[str, str]]) -> str:
    """One short line that names every tier and what it is for."""
    named = list(tiers)
    parts = [f"{name} ({use[:MAX_USE]})" if use else name for name, use in named[:MAX_TIERS]]
    if len(named) > MAX_TIERS:
        parts.append("…")
    return ", ".join(["auto", *parts])
