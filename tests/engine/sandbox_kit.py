"""Reads by specs, and the words of a refusal."""

from __future__ import annotations

from pathlib import Path

import pytest

from workers_tui.engine.errors import (
    SandboxRefused,
    WrongUse,
)
from workers_tui.engine.files.sandbox import Piece, Sandbox

LIMIT = 1000


def read(sandbox: Sandbox, *specs: str, limit: int = LIMIT) -> list[Piece]:
    return sandbox.read_now(specs, limit)


def refusal(sandbox: Sandbox, spec: str) -> str:
    with pytest.raises(SandboxRefused) as caught:
        read(sandbox, spec)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def wrong(sandbox: Sandbox, spec: str) -> str:
    with pytest.raises(WrongUse) as caught:
        read(sandbox, spec)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())
