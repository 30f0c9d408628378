"""What a client session tells the server in headers, packed here and unpacked there.

Claude Code gives a stdio server the session and the project in its environment;
over HTTP the server would not know them. Values are percent-coded bytes, so any
path passes. Keys never travel: only the names of variables that hold one.
"""

from __future__ import annotations

import os
import string
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

SESSION = "x-claude-code-session-id"
PROJECT = "x-claude-project-dir"
ROOTS = "x-workers-allowed-roots"
DELEGATION = "x-workers-delegation"
KEYS = "x-workers-has-keys"
FORWARDER = "x-workers-forwarder"
"""Names the forwarder's process: what tells clients without a session apart."""

SOURCES = {
    SESSION: ("CLAUDE_CODE_SESSION_ID",),
    PROJECT: ("CLAUDE_PROJECT_DIR",),
    ROOTS: ("WORKERS_ALLOWED_ROOTS",),
    DELEGATION: ("WORKERS_DELEGATION", "MODEL_ORCHESTRATION_DELEGATION"),
}
"""The environment variable each header carries; the first that is set."""

KEY_VARIABLES = ("OPENROUTER_API_KEY",)
PLAIN = frozenset((string.ascii_letters + string.digits + "-._~/:;,=@+").encode())


@dataclass(frozen=True, slots=True)
class Told:
    """What one client session said about itself."""

    session: str | None = None
    """Claude Code's session id."""
    project: Path | None = None
    """The session's project directory."""
    allowed_roots: tuple[Path, ...] = ()
    """WORKERS_ALLOWED_ROOTS of that session; they count for it alone."""
    delegation: str | None = None
    """Its delegation mode, as written."""
    keys: tuple[str, ...] = ()
    """Names of environment variables in which the caller has a provider's key."""
    forwarder: bool = False
    """It comes through `workers-tui mcp`."""


def pack(environ: Mapping[str, str]) -> dict[str, str]:
    """The headers that carry this environment."""
    headers = {FORWARDER: os.urandom(8).hex()}
    for header, names in SOURCES.items():
        value = next((environ[name] for name in names if environ.get(name)), None)
        if value:
            headers[header] = _coded(os.fsencode(value))
    keys = [name for name in KEY_VARIABLES if environ.get(name)]
    if keys:
        headers[KEYS] = ",".join(keys)
    return headers


def unpack(headers: Mapping[str, str]) -> Told:
    """What these request headers say."""
    project = _decoded(headers.get(PROJECT))
    return Told(
        session=_decoded(headers.get(SESSION)),
        project=Path(project) if project else None,
        allowed_roots=split_roots(_decoded(headers.get(ROOTS)) or ""),
        delegation=_decoded(headers.get(DELEGATION)),
        keys=tuple(name for name in headers.get(KEYS, "").split(",") if name),
        forwarder=FORWARDER in headers,
    )


def split_roots(text: str) -> tuple[Path, ...]:
    """The directories in a WORKERS_ALLOWED_ROOTS value: separated by `;` or the platform's mark."""
    parts = text.replace(os.pathsep, ";").split(";")
    return tuple(_path(part.strip()) for part in parts if part.strip())


def _path(text: str) -> Path:
    try:
        return Path(text).expanduser()
    except RuntimeError:
        return Path(text)  # nobody here has that name: it stays relative and counts for nothing


def _coded(raw: bytes) -> str:
    return "".join(chr(byte) if byte in PLAIN else f"%{byte:02X}" for byte in raw)


def _decoded(value: str | None) -> str | None:
    if not value:
        return None
    head, *rest = value.encode("latin-1", "replace").split(b"%")
    out = [head]
    for part in rest:
        try:
            out.append(bytes([int(part[:2], 16)]) + part[2:])
        except ValueError:
            out.append(b"%" + part)
    return os.fsdecode(b"".join(out)).replace("\0", "")
