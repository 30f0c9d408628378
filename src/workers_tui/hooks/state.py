"""What a hook reads of this program's state: the gate, the notices, the opt-outs.

Files of another program's making may be broken or hostile; then they say nothing.
"""

from __future__ import annotations

import os
import time

from workers_tui.home.switches import delegation_mode
from workers_tui.home.where import config_dir, state_dir
from workers_tui.hooks.plain_json import loads

TYPE_CHECKING = False  # typing costs 4 ms
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

FILE_LIMIT = 20_000_000
SAFE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_")


def read(path: str) -> bytes:
    """A file's content; nothing when there is none or it is beyond all reason."""
    try:
        with open(path, "rb", opener=_at_once) as file:
            size = os.fstat(file.fileno()).st_size
            return file.read(size) if size <= FILE_LIMIT else b""
    except OSError:
        return b""


def _at_once(path: str, flags: int) -> int:
    """Without waiting for the other end of what may be a pipe."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def load(path: str) -> dict[str, Any]:
    """A JSON object from a file; empty when there is none or it makes no sense."""
    raw = read(path)
    try:
        value = loads(raw) if raw else None
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


class State:
    """This program's state as one hook run sees it; files are read when asked for."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self.directory = state_dir(environ)
        self._environ = environ
        self.gate = load(os.path.join(self.directory, "gate.json"))
        said = self.gate.get("mode")
        self.mode = delegation_mode([said if isinstance(said, str) else None], environ)

    @property
    def results(self) -> str:
        """Our own result files lie here."""
        return os.path.join(self.directory, "results")

    @property
    def tiers(self) -> list[tuple[str, str]]:
        """Usable tiers: name and use."""
        found = self.gate.get("tiers")
        rows = [row for row in found if isinstance(row, dict)] if isinstance(found, list) else []
        return [(str(row.get("name", "")), str(row.get("use", ""))) for row in rows]

    @property
    def workers(self) -> list[str]:
        """Usable agent workers."""
        found = self.gate.get("workers")
        return [str(name) for name in found] if isinstance(found, list) else []

    @property
    def delegable(self) -> bool:
        """Somebody is there to delegate to, or a key came since an engine last looked."""
        if self.tiers or self.workers or self._environ.get("OPENROUTER_API_KEY"):
            return True
        key = _changed(os.path.join(config_dir(self._environ), "keys.json"))
        return key > _changed(os.path.join(self.directory, "gate.json"))

    @property
    def cap_reached(self) -> bool:
        """No money left today; the next day is known without the engine."""
        resets = self.gate.get("resets_at")
        over = isinstance(resets, int | float) and time.time() >= resets
        return bool(self.gate.get("cap_reached")) and not over

    @property
    def large_read_bytes(self) -> int:
        value = self.gate.get("large_read_bytes")
        return value if type(value) is int and value > 0 else 51_200

    def opted_out(self, session: object) -> bool:
        """The user said in this session not to delegate."""
        return is_session_id(session) and os.path.exists(self.opt_out_path(str(session)))

    def opt_out_path(self, session: str) -> str:
        return os.path.join(self.directory, "opt-out", session)

    def notices(self) -> dict[str, Any]:
        return load(os.path.join(self.directory, "notices.json"))


def _changed(path: str) -> float:
    """When a file was last changed; never, if it is not there."""
    try:
        return os.stat(path).st_mtime
    except OSError:
        return 0.0


def is_session_id(value: object) -> bool:
    """Fit to be a file's name."""
    return isinstance(value, str) and 8 <= len(value) <= 64 and SAFE.issuperset(value)
