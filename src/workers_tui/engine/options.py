"""What differs from one engine to the next."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from workers_tui.engine.clock import Clock, SystemClock
from workers_tui.home.places import Home


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """Given to `Engine.start`."""

    home: Home
    config: Path | None = None
    """Another models.json than the home's."""
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
    transport: httpx.AsyncBaseTransport | None = None
    """Stands for the network in tests."""
    clock: Clock = field(default_factory=SystemClock)
    approvals: bool = False
    """A dashboard is there to answer questions; without one they are refused."""
    follow_transcripts: bool = False
    """Keep the savings figures up to date from Claude Code's transcripts."""
    claude_dirs: Sequence[Path] | None = None
    """Where those lie, instead of the usual places."""
    watch: bool = True
    """Notice changed settings at once and ask providers for their lists in the background.

    A single command does without: each call looks at the settings anyway.
    """
