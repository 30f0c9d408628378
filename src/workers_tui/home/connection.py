"""Carries out a plan: registers with Claude Code or takes it back.

What was there is kept, with a note of what we left, so that removing restores a
file byte for byte as long as nobody changed it since, and cuts out only our
parts otherwise.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from workers_tui.home import claude_settings as ours
from workers_tui.home.claude_places import ClaudePlaces, Scope
from workers_tui.home.connection_plan import (
    Change,
    Plan,
    Unusable,
    new_mode,
    read_file,
    read_settings,
)
from workers_tui.home.connection_record import Record
from workers_tui.home.files import write_atomic
from workers_tui.home.json_surgery import JsonText
from workers_tui.home.places import Home

CLAUDE_TIMEOUT = 60.0


def apply(plan: Plan, home: Home, claude: Path | None, environ: Mapping[str, str]) -> None:
    """Do it: the files first, then the server. Raises Unusable; what was done is on record."""
    record = Record.load(home)
    for change in plan.files:
        if change.needed:
            _write(change, record)
    if plan.server.needed:
        _change_server(plan, record, claude, environ)
    _save(record)


def undo(plan: Plan, home: Home, claude: Path | None, environ: Mapping[str, str]) -> None:
    """Take it back, as `plan_remove` planned. Raises Unusable."""
    record = Record.load(home)
    for change in plan.files:
        if change.needed:
            _write(change, None)
        record.forget(change.path)
    if plan.server.needed:
        _remove_server(plan, record, claude, environ)
    record.forget(plan.places.servers, plan.places.servers_part)
    _save(record)


def _save(record: Record) -> None:
    try:
        record.save()
    except OSError as error:
        raise Unusable(
            f"{record.home.state} cannot be written ({error.strerror or error}): what the files "
            "were before is not on record"
        ) from None


def _note(change: Change, record: Record) -> None:
    try:
        record.keep(change.path, change.before, change.after)
        record.save()
    except OSError as error:
        raise Unusable(
            f"{record.home.state} cannot be written: {error.strerror or error}; {change.path} "
            "stays as it is, for it could not be restored"
        ) from None


def _write(change: Change, record: Record | None) -> None:
    try:
        if read_file(change.path) != change.before:
            raise Unusable(f"{change.path} has just been changed by somebody else: run it again")
        if change.after is None:
            change.path.unlink()
            if change.path.parent.name == ".claude":
                with contextlib.suppress(OSError):  # others' files are in it
                    change.path.parent.rmdir()
        else:
            change.path.parent.mkdir(parents=True, exist_ok=True)
            mode = change.mode if change.before is None else None
            if record is not None:
                _note(change, record)
            write_atomic(change.path, change.after, mode=mode)
    except OSError as error:
        raise Unusable(f"{change.path} cannot be written: {error.strerror or error}") from None


def _change_server(
    plan: Plan, record: Record, claude: Path | None, environ: Mapping[str, str]
) -> None:
    places, path = plan.places, plan.places.servers
    before = read_file(path)
    if claude is None:
        _edit_server(places, plan.server.after)
    else:
        scope = ["--scope", places.scope.value]
        if plan.server.before is not None:
            _claude(claude, ["mcp", "remove", *scope, ours.SERVER], places, environ)
        entry = json.dumps(plan.server.after, ensure_ascii=False)
        _claude(claude, ["mcp", "add-json", *scope, ours.SERVER, entry], places, environ)
    record.keep(path, before, read_file(path), places.servers_part)


def _remove_server(
    plan: Plan, record: Record, claude: Path | None, environ: Mapping[str, str]
) -> None:
    places, path = plan.places, plan.places.servers
    now = read_file(path)
    untouched, original = record.original(path, now, places.servers_part)
    if untouched:
        _write(Change(path, "", now, original), None)
        return
    if claude is None:
        _edit_server(places, None)
    else:
        scope = ["--scope", places.scope.value]
        _claude(claude, ["mcp", "remove", *scope, ours.SERVER], places, environ)
    known, oldest = record.oldest(path, places.servers_part)
    _tidy(places, oldest if known else None, known=known)


def _tidy(places: ClaudePlaces, oldest: bytes | None, *, known: bool) -> None:
    """Take away the empty object that our entry leaves, and bring back one it replaced."""
    text = read_settings(places.servers)
    was = JsonText((oldest or b"{}").decode()) if known else text
    replaced = was.get([*places.servers_path, ours.SERVER])
    if known and was.get(places.servers_path) is None:
        for depth in range(len(places.servers_path), 0, -1):
            if was.get(places.servers_path[:depth]) is None:
                text = text.remove_empty(places.servers_path[:depth])
    elif replaced is not None and not ours.is_our_server(replaced):
        text = text.add([*places.servers_path, ours.SERVER], replaced)
    before = read_file(places.servers)
    after: bytes | None = text.text.encode()
    if known and oldest is None and text.value == {} and places.scope is Scope.PROJECT:
        after = None
    elif known and oldest is not None and text.value == was.value:
        after = oldest
    if after != before:
        _write(Change(places.servers, "", before, after), None)


def _edit_server(places: ClaudePlaces, entry: dict[str, Any] | None) -> None:
    """Without Claude Code's program: the same edit by ourselves."""
    text = read_settings(places.servers)
    path = [*places.servers_path, ours.SERVER]
    if entry is None:
        edited = text.remove(path)
    else:
        edited = text.replace(path, entry) if text.get(path) is not None else text.add(path, entry)
    before = read_file(places.servers)
    end = "" if before else "\n"
    change = Change(places.servers, "", before, (edited.text + end).encode(), new_mode(places))
    _write(change, None)


def _claude(
    claude: Path, arguments: Sequence[str], places: ClaudePlaces, environ: Mapping[str, str]
) -> None:
    """Run Claude Code's own command in the project. Raises Unusable with what it said."""
    try:
        done = subprocess.run(
            [str(claude), *arguments],
            cwd=places.project,
            env={**os.environ, **environ},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=CLAUDE_TIMEOUT,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Unusable(f"{claude} {arguments[1]} did not work: {error}") from None
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines() or ["it gave no reason"]
        raise Unusable(f"{claude.name} {' '.join(arguments[:2])} failed: {said[-1]}")
