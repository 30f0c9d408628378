"""Finds models.json and styles/: in the wheel when installed, at the repo root in a checkout."""

from __future__ import annotations

from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1]


def asset(name: str) -> Path:
    """The path of a shipped file or folder. Raises FileNotFoundError."""
    for base in (PACKAGE / "_data", PACKAGE.parents[1]):
        path = base / name
        if path.exists():
            return path
    raise FileNotFoundError(f"{name} is missing from this installation; install workers-tui again")
