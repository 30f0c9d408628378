"""What Claude Code's files were before us: `connections.json` and the backups beside it.

A file that still is as we left it can be restored byte for byte.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Container
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from workers_tui.home.claude_places import Scope
from workers_tui.home.files import make_private_dir, read_json, write_atomic
from workers_tui.home.places import Home

PROJECT_FILES = {
    ".claude/settings.json": Scope.PROJECT,
    "CLAUDE.md": Scope.PROJECT,
    ".mcp.json": Scope.PROJECT,
    ".claude/settings.local.json": Scope.LOCAL,
    "CLAUDE.local.md": Scope.LOCAL,
}
LOCAL_SERVERS = re.compile(r"projects/(.+)/mcpServers")


@dataclass(slots=True)
class Record:
    """Files we changed, with what was there before and what we left."""

    home: Home
    entries: dict[str, dict[str, Any]] = field(default_factory=dict)
    """By path of the file: `{"before": backup or null, "left": sha256}`."""
    made: set[str] = field(default_factory=set)
    """Directories that were not there before us."""

    @classmethod
    def load(cls, home: Home) -> Record:
        raw = read_json(home.state / "connections.json")
        files = raw.get("files") if isinstance(raw, dict) else None
        good = files if isinstance(files, dict) else {}
        made = raw.get("made") if isinstance(raw, dict) else None
        return cls(
            home,
            {k: v for k, v in good.items() if isinstance(v, dict)},
            {str(path) for path in made} if isinstance(made, list) else set(),
        )

    def keep(self, path: Path, before: bytes | None, after: bytes | None, part: str = "") -> None:
        """Note one change; the oldest `before` stays. Several parts of a file may be ours."""
        known = self.entries.get(_key(path, part))
        continued = known is not None and known.get("left") == digest(before)
        kept = known.get("before") if known and continued else self._backup(path, before)
        self.entries[_key(path, part)] = {"before": kept, "left": digest(after)}

    def original(self, path: Path, now: bytes | None, part: str = "") -> tuple[bool, bytes | None]:
        """Whether the file is as we left it, and then what was there before us."""
        known = self.entries.get(_key(path, part))
        if known is None or known.get("left") != digest(now):
            return False, None
        return self.oldest(path, part)

    def oldest(self, path: Path, part: str = "") -> tuple[bool, bytes | None]:
        """What was there before us, whatever the file is now."""
        known = self.entries.get(_key(path, part))
        if known is None:
            return False, None
        name = known.get("before")
        if name is None:
            return True, None
        try:
            return True, (self.home.state / "backups" / str(name)).read_bytes()
        except OSError:
            return False, None

    def connected(self, user_files: Container[str]) -> set[tuple[Scope, Path]]:
        """The projects with something of ours on record, and the scope it was for."""
        parts = (key.partition("#") for key in self.entries)
        found = {_project(Path(path), part) for path, _, part in parts if path not in user_files}
        return {one for one in found if one is not None}

    def forget(self, path: Path, part: str = "") -> None:
        self.entries.pop(_key(path, part), None)

    def save(self) -> None:
        value = {"schema": 1, "files": self.entries, "made": sorted(self.made)}
        text = json.dumps(value, ensure_ascii=False, indent=2) + "\n"
        write_atomic(self.home.state / "connections.json", text, mode=0o600)

    def _backup(self, path: Path, before: bytes | None) -> str | None:
        if before is None:
            return None
        directory = self.home.state / "backups"
        make_private_dir(directory)
        name = f"{digest(before)[:16]}-{path.name}"
        write_atomic(directory / name, before, mode=0o600)
        return name


def _key(path: Path, part: str) -> str:
    return f"{path}#{part}" if part else str(path)


def _project(path: Path, part: str) -> tuple[Scope, Path] | None:
    """The scope and the project of a file on record; None for a user's own."""
    local = LOCAL_SERVERS.fullmatch(part)
    if local:
        return Scope.LOCAL, Path(local[1])
    for name, scope in PROJECT_FILES.items():
        if path.parts[-len(Path(name).parts) :] == Path(name).parts:
            return scope, path.parents[len(Path(name).parts) - 1]
    return None


def digest(data: bytes | None) -> str:
    return "none" if data is None else hashlib.sha256(data).hexdigest()
