"""Where Claude Code keeps its files, per scope. Nothing here opens one of them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from workers_tui.home.checkout import main_checkout


class Scope(StrEnum):
    """Claude Code's own three scopes."""

    USER = "user"
    """This user, every project."""
    PROJECT = "project"
    """Everybody who works in this project; its files are usually committed."""
    LOCAL = "local"
    """This user, this project."""


@dataclass(frozen=True, slots=True)
class ClaudePlaces:
    """The files of one scope."""

    scope: Scope
    project: Path
    settings: Path
    """Permissions and hooks."""
    rules: Path
    """CLAUDE.md or CLAUDE.local.md."""
    servers: Path
    """Where MCP servers of this scope stand: .mcp.json or .claude.json."""

    @property
    def servers_path(self) -> tuple[str, ...]:
        """Where in that file."""
        if self.scope is Scope.LOCAL:
            return ("projects", main_checkout(str(self.project)), "mcpServers")
        return ("mcpServers",)

    @property
    def servers_part(self) -> str:
        """That place as one word: several scopes share a file."""
        return "/".join(self.servers_path)

    @property
    def shared(self) -> bool:
        """Others read these files: they get an ordinary mode."""
        return self.scope is Scope.PROJECT


def config_dir(environ: Mapping[str, str]) -> Path:
    """Claude Code's configuration directory; of a list the first."""
    first = environ.get("CLAUDE_CONFIG_DIR", "").split(",")[0].strip()
    return Path(first).expanduser() if first else Path.home() / ".claude"


def claude_json(environ: Mapping[str, str]) -> Path:
    """Claude Code's own state, with the servers of user and local scope."""
    first = environ.get("CLAUDE_CONFIG_DIR", "").split(",")[0].strip()
    return (Path(first).expanduser() if first else Path.home()) / ".claude.json"


def for_claude(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment for Claude Code's own program, which knows no list of directories."""
    said = environ.get("CLAUDE_CONFIG_DIR", "")
    return {**environ, "CLAUDE_CONFIG_DIR": str(config_dir(environ))} if said else {**environ}


def claude_places(scope: Scope, project: Path, environ: Mapping[str, str]) -> ClaudePlaces:
    """The files of a scope, seen from a project directory."""
    if scope is Scope.USER:
        base = config_dir(environ)
        return ClaudePlaces(
            scope, project, base / "settings.json", base / "CLAUDE.md", claude_json(environ)
        )
    if scope is Scope.PROJECT:
        return ClaudePlaces(
            scope,
            project,
            project / ".claude" / "settings.json",
            project / "CLAUDE.md",
            project / ".mcp.json",
        )
    return ClaudePlaces(
        scope,
        project,
        project / ".claude" / "settings.local.json",
        project / "CLAUDE.local.md",
        claude_json(environ),
    )


def find_claude(environ: Mapping[str, str]) -> Path | None:
    """Claude Code's program: WORKERS_CLAUDE_BIN, the search path, its usual places."""
    named = environ.get("WORKERS_CLAUDE_BIN")
    wanted = str(Path(named).expanduser()) if named else "claude"
    found = shutil.which(wanted, path=environ.get("PATH"))
    if found or named:
        return Path(found) if found else None
    home = Path.home()
    usual = (home / ".claude" / "local" / "claude", home / ".local" / "bin" / "claude")
    return next((path for path in usual if os.access(path, os.X_OK)), None)
