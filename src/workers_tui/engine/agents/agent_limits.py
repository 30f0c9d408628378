"""How long an agent's requests and runs may take, in seconds."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one run and of its requests."""

    first: float = 180.0
    """Until a streamed answer begins."""
    idle: float = 120.0
    """A streamed answer without anything but pings."""
    local: float = 900.0
    """Both of these for a model on this machine, which may take its time."""
    whole: float = 600.0
    """An answer that is not streamed."""
    silence: float = 1200.0
    """A run without any event; a tool may work for a while."""
    total: float = 7200.0
    """A whole run."""
    linger: float = 8.0
    """The process after its result: background tools are killed in that time."""
    interrupt: float = 2.0
    """From asking it to stop to SIGINT."""
