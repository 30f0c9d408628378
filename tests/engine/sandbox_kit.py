"""Reads by specs, and the words of a refusal."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any, NoReturn

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


def close_directory(closed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let nothing in it be looked at, as for a user who may not enter it; root always may."""
    stat, access, scandir = os.stat, os.access, os.scandir

    def refuse(path: Any) -> NoReturn:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))

    def stat_outside(path: Any, *arguments: Any, **named: Any) -> os.stat_result:
        if isinstance(path, str | Path) and closed in Path(path).parents:
            refuse(path)
        return stat(path, *arguments, **named)

    def access_outside(path: Any, *arguments: Any, **named: Any) -> bool:
        return Path(path) != closed and access(path, *arguments, **named)

    def scandir_outside(path: Any) -> Any:
        return refuse(path) if closed in (Path(path), *Path(path).parents) else scandir(path)

    monkeypatch.setattr(os, "stat", stat_outside)
    monkeypatch.setattr(os, "scandir", scandir_outside)
    monkeypatch.setattr(os, "access", access_outside)
