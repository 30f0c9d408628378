"""server.json and the token: how forwarder, hooks and a second dashboard find the server."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
from dataclasses import asdict, dataclass

from workers_tui.home.files import read_json, write_atomic
from workers_tui.home.places import Home


@dataclass(frozen=True, slots=True)
class ServerRecord:
    """Who serves (contract 4.2)."""

    url: str
    """`http://127.0.0.1:PORT/mcp`."""
    pid: int
    version: str


def read_record(home: Home) -> ServerRecord | None:
    """The record on disk, or None when there is none or it makes no sense.

    It may be stale after a kill: ask the server's /healthz before trusting it.
    """
    raw = read_json(home.server_json)
    if not isinstance(raw, dict):
        return None
    url, pid, version = raw.get("url"), raw.get("pid"), raw.get("version")
    if isinstance(url, str) and isinstance(pid, int) and isinstance(version, str):
        return ServerRecord(url, pid, version)
    return None


def write_record(home: Home, record: ServerRecord) -> None:
    """Say that we serve."""
    write_atomic(home.server_json, json.dumps(asdict(record)) + "\n", mode=0o600)


def remove_record(home: Home, pid: int) -> None:
    """Take our record away, never another server's."""
    record = read_record(home)
    if record is not None and record.pid == pid:
        with contextlib.suppress(FileNotFoundError):
            home.server_json.unlink()


def read_token(home: Home) -> str | None:
    """The bearer token, or None when none was made yet."""
    try:
        return home.token.read_text(encoding="ascii").strip() or None
    except (OSError, UnicodeDecodeError):
        return None


def ensure_token(home: Home) -> str:
    """The bearer token, made once. Two processes that race get the same one.

    A file that holds none, as a power cut may leave it, is replaced. Raises OSError.
    """
    token = read_token(home)
    if token:
        return token
    fresh = secrets.token_urlsafe(32)
    staged = home.token.with_name(f".token.{secrets.token_hex(4)}")
    try:
        write_atomic(staged, fresh + "\n", mode=0o600)
        os.link(staged, home.token)  # fails when another process was first
    except FileExistsError:
        if read_token(home) is None:
            staged.replace(home.token)
    finally:
        staged.unlink(missing_ok=True)
    return read_token(home) or fresh


def rotate_token(home: Home) -> str:
    """A new token; clients registered with the old one must reconnect."""
    token = secrets.token_urlsafe(32)
    write_atomic(home.token, token + "\n", mode=0o600)
    return token
