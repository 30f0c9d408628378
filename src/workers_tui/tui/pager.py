"""Shows a long text in the user's own pager while the dashboard steps aside."""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
from collections.abc import Mapping
from typing import Any

from textual.app import App, SuspendNotSupported

from workers_tui.tui import safe

DEFAULT = "less"


def command(environ: Mapping[str, str] = os.environ) -> list[str]:
    """The pager and its arguments."""
    try:
        words = shlex.split(environ.get("PAGER", ""))
    except ValueError:
        words = []
    return words or [DEFAULT]


def show(app: App[Any], text: str) -> str:
    """Open the pager on the text; return what went wrong, in words, or nothing.

    The text is made safe first: a pager may pass control sequences on.
    """
    with tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf-8") as file:
        file.write(safe.clean(text) + "\n")
        file.flush()
        try:
            with app.suspend():
                subprocess.run([*command(), file.name], check=False)
        except SuspendNotSupported:
            return "This terminal cannot step aside for a pager."
        except OSError as error:
            return f"The pager cannot start: {error.strerror} ({command()[0]}). Set PAGER."
    return ""
