"""What the last `worker finalize` of an identity found, kept beside its settings.

It counts for the settings that were tried: another key, address or model is untried.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from workers_tui.home.files import read_json, write_atomic

FILE = "finalized.json"


@dataclass(frozen=True, slots=True)
class Trial:
    """One real round trip and how it ended."""

    ok: bool
    said: str = ""
    """What was wrong."""


def read_trial(path: Path, settings: Mapping[str, str]) -> Trial | None:
    """The last trial of these settings; None when there was none."""
    raw = read_json(path / FILE)
    if not isinstance(raw, dict) or raw.get("settings") != _digest(settings):
        return None
    return Trial(raw.get("ok") is True, str(raw.get("said") or ""))


def write_trial(path: Path, settings: Mapping[str, str], trial: Trial) -> None:
    """Keep it. Raises OSError."""
    value = {"ok": trial.ok, "said": trial.said, "settings": _digest(settings)}
    write_atomic(path / FILE, json.dumps(value, ensure_ascii=False, indent=2) + "\n", mode=0o600)


def _digest(settings: Mapping[str, str]) -> str:
    return hashlib.sha256(json.dumps(sorted(settings.items())).encode()).hexdigest()[:16]
