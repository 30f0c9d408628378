"""Where this program keeps its files: the places of `home.places` without its imports.

A test holds the two equal.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # typing costs 4 ms
if TYPE_CHECKING:
    from collections.abc import Mapping


def state_dir(environ: Mapping[str, str]) -> str:
    """What `home.places.find_home(environ).state` says."""
    flat = environ.get("WORKERS_HOME")
    if flat:
        return os.path.abspath(os.path.expanduser(flat))
    if sys.platform == "darwin":
        return _home("Library", "Application Support", "workers-tui")
    if sys.platform == "win32":
        base = environ.get("LOCALAPPDATA") or _home("AppData", "Local")
        return os.path.join(base, "workers-tui")
    return os.path.join(_xdg("XDG_STATE_HOME", environ) or _home(".local", "state"), "workers-tui")


def config_dir(environ: Mapping[str, str]) -> str:
    """What `home.places.find_home(environ).config` says."""
    if environ.get("WORKERS_HOME") or sys.platform in ("darwin", "win32"):
        return state_dir(environ)
    return os.path.join(_xdg("XDG_CONFIG_HOME", environ) or _home(".config"), "workers-tui")


def _xdg(name: str, environ: Mapping[str, str]) -> str:
    path = environ.get(name, "")
    return path if os.path.isabs(path) else ""


def _home(*parts: str) -> str:
    return os.path.join(os.path.expanduser("~"), *parts)
