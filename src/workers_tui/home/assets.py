"""Finds models.json and styles/: in the wheel when installed, at the repo root in a checkout."""

from __future__ import annotations

import os

TYPE_CHECKING = False  # typing costs 4 ms
if TYPE_CHECKING:
    from pathlib import Path

PACKAGE = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))


def asset(name: str) -> Path:
    """The path of a shipped file or folder. Raises FileNotFoundError."""
    from pathlib import Path  # late: the forwarder starts without it

    return Path(asset_path(name))


def asset_path(name: str) -> str:
    """The same as plain text."""
    for base in (os.path.join(PACKAGE, "_data"), os.path.dirname(os.path.dirname(PACKAGE))):
        path = os.path.join(base, name)
        if os.path.exists(path):
            return path
    raise FileNotFoundError(f"{name} is missing from this installation; install workers-tui again")
