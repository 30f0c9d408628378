"""gate.json: what Claude Code's hooks must know before they stop a large read.

The engine writes it when the answer changes; the hooks read it in a process of
their own that starts thousands of times a day, so the file stays small.
Shape: `{"schema": 1, "mode", "tiers": [{"name", "use"}], "workers": [name],
"cap_reached", "resets_at", "large_read_bytes"}`.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from workers_tui.home.files import read_json, write_atomic
from workers_tui.home.places import Home

SCHEMA = 1
LARGE_READ_BYTES = 51_200


@dataclass(frozen=True, slots=True)
class GateTier:
    """A tier that can be used now: its provider has a key or needs none."""

    name: str
    use: str = ""
    """What it is for, as models.json says."""


@dataclass(frozen=True, slots=True)
class Gate:
    """Whether delegating would work now, and with whom."""

    mode: str = "auto"
    """`delegation` of models.json: off, ondemand or auto."""
    tiers: tuple[GateTier, ...] = ()
    """Usable tiers; empty: no call would work."""
    workers: tuple[str, ...] = ()
    """Names of finalized agent identities."""
    cap_reached: bool = False
    """Spent and held leave no room under the daily cap."""
    resets_at: float | None = None
    """When the cap's day ends, in seconds since 1970."""
    large_read_bytes: int = LARGE_READ_BYTES


def write_gate(home: Home, gate: Gate) -> None:
    """Replace the file when it says something else. Raises OSError."""
    value = json.loads(json.dumps({"schema": SCHEMA, **asdict(gate)}))
    if read_json(home.gate_json) != value:
        write_atomic(home.gate_json, json.dumps(value, ensure_ascii=False) + "\n", mode=0o600)
