"""What a call sends along: read, and looked through for secrets, in one trip off the loop."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path

from workers_tui.engine.calls import tiers
from workers_tui.engine.calls.approval import SMALL, Found, find_all
from workers_tui.engine.calls.choices import named
from workers_tui.engine.calls.parts import Parts
from workers_tui.engine.files.sandbox import Piece, Sandbox
from workers_tui.engine.jobs.job import CallRequest, Origin
from workers_tui.engine.settings.settings import Settings


@dataclass(frozen=True, slots=True)
class Material:
    """The files of a call."""

    pieces: list[Piece]
    found: list[Found]
    """Secrets in them and in the task."""


async def gather(
    parts: Parts, settings: Settings, request: CallRequest, origin: Origin
) -> Material:
    """Read what is asked for and check where to write. Raises WorkersError."""
    if not request.files and request.write_to is None and len(request.task) <= SMALL:
        return Material([], find_all(request.task, (), settings.allow_secrets))
    private = (parts.home.config, parts.home.state)
    return await asyncio.to_thread(_gather, settings, request, origin, private)


def sandbox(settings: Settings, origin: Origin, private: tuple[Path, ...]) -> Sandbox:
    """What the one who asks may read and write."""
    return Sandbox(
        origin.roots,
        deny_read=settings.deny_read,
        deny_write=settings.deny_write,
        allow=settings.allow_secrets,
        private=private,
    )


def _gather(
    settings: Settings, request: CallRequest, origin: Origin, private: tuple[Path, ...]
) -> Material:
    place = sandbox(settings, origin, private)
    if request.write_to is not None:
        place.check_write(request.write_to)
    pieces = place.read_now(request.files, _limit(settings, request.tier))
    return Material(pieces, find_all(request.task, pieces, settings.allow_secrets))


def _limit(settings: Settings, tier: str) -> int:
    """Bytes of one file: as the tier has it, or the largest that `auto` may pick."""
    if tier == "auto":
        return tiers.largest_limit(settings)
    return tiers.file_limit(settings, named(settings, tier))
