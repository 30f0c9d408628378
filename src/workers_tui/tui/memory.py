"""What the dashboard remembers between runs: the theme, and that the first steps were shown."""

from __future__ import annotations

import json
import logging
from typing import Any

from workers_tui.home.files import read_json, write_atomic
from workers_tui.home.places import Home

log = logging.getLogger(__name__)


class Memory:
    """A small JSON file in the home."""

    def __init__(self, home: Home) -> None:
        self._path = home.ui_json
        raw = read_json(self._path)
        self._kept: dict[str, Any] = raw if isinstance(raw, dict) else {}

    @property
    def theme(self) -> str | None:
        """The theme chosen last."""
        name = self._kept.get("theme")
        return name if isinstance(name, str) else None

    @property
    def first_steps_shown(self) -> bool:
        """Whether the first steps were seen or skipped."""
        return self._kept.get("first_steps_shown") is True

    def remember(self, **values: object) -> None:
        """Keep values; a disk that is full costs the memory, not the program."""
        self._kept.update(values)
        try:
            write_atomic(self._path, json.dumps(self._kept, indent=2) + "\n")
        except OSError as error:
            log.warning("cannot save %s: %s", self._path, error)
