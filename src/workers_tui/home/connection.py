"""Carries out a plan: registers with Claude Code or takes it back.

What was there is kept, with a note of what we left, so that removing restores a
file byte for byte as long as nobody changed it since, and cuts out only our
parts otherwise.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from workers_tui.home import claude_settings as ours
from workers_tui.home.claude_lock import claude_lock
from workers_tui.home.claude_places import ClaudePlaces, Scope, for_claude
from workers_tui.home.connection_plan import (
    Change,
    Plan,
    Unusable,
    edit_server,
    new_mode,
    plan_connect,
    read_file,
    read_server,
    read_settings,
)
from workers_tui.home.connection_record import Record
from workers_tui.home.files import make_private_dir, why, write_atomic
from workers_tui.home.json_surgery import JsonText
from workers_tui.home.places import Home

CLAUDE_TIMEOUT = 60.0
HALF = (
    "what was changed before that is on record: run connect again, "
    "or take everything back with --remove"
)


def apply(plan: Plan, home: Home, claude: Path | None, environ: Mapping[str, str]) -> None:
    """Do it: the server first, as Claude Code may refuse it. Raises Unusable.

    Each step is on record before it is made, so whatever ends this half-way,
    doing it again finishes it and removing takes it back.
    """
    with one_at_a_time(home):
        record = Record.load(home)
        for change in plan.files:
            _check(change)
        files, done = plan.files, False
        try:
            if plan.server.needed:
                _change_server(plan, record, claude, environ)
                done = True
                files = _files_now(plan, environ)
            for change in files:
                if change.needed:
                    _write(change, record)
                    done = True
        except Unusable as error:
            raise Unusable(f"{error}; {HALF}" if done else str(error)) from None


def _files_now(plan: Plan, environ: Mapping[str, str]) -> tuple[Change, ...]:
    """The same changes again: Claude Code's command may bring its settings up to date first."""
    if plan.wanted is None:
        return plan.files
    return plan_connect(plan.places.scope, plan.places.project, plan.wanted, environ).files


def undo(plan: Plan, home: Home, claude: Path | None, environ: Mapping[str, str]) -> None:
    """Take it back, as `plan_remove` planned. Raises Unusable."""
    with one_at_a_time(home):
        record = Record.load(home)
        for change in plan.files:
            if change.needed:
                _write(change, None)
            _leave_directory(change.path, record)
            record.forget(change.path)
        if plan.server.needed:
            _remove_server(plan, record, claude, environ)
        record.forget(plan.places.servers, plan.places.servers_part)
        _save(record)


@contextlib.contextmanager
def one_at_a_time(home: Home) -> Iterator[None]:
    """Two at once would each forget what the other put on record."""
    try:
        make_private_dir(home.state)
        fd = os.open(home.state / "connections.lock", os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise Unusable(f"{home.state} cannot be written: {why(error)}") from None
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


def _save(record: Record) -> None:
    try:
        record.save()
    except OSError as error:
        raise Unusable(
            f"{record.home.state} cannot be written: {why(error)}. What the files were before "
            "is not on record"
        ) from None


def _note(
    record: Record, path: Path, before: bytes | None, after: bytes | None, part: str = ""
) -> None:
    try:
        record.keep(path, before, after, part)
        record.save()
    except OSError as error:
        raise Unusable(
            f"{record.home.state} cannot be written: {why(error)}. {path} stays as it is, "
            "for it could not be restored"
        ) from None


def _write(change: Change, record: Record | None) -> None:
    """Replace, make or delete a file; `record` remembers what was there."""
    try:
        with claude_lock(change.path):
            if _check(change):
                _put(change, record)
    except OSError as error:
        raise Unusable(f"{change.path} cannot be written: {error.strerror or error}") from None


def _put(change: Change, record: Record | None) -> None:
    if change.after is None:
        Path(os.path.realpath(change.path)).unlink()  # a link stays, as it was
        return
    if record is not None:
        if not change.path.parent.exists():
            record.made.add(str(change.path.parent))
        _note(record, change.path, change.before, change.after)
    change.path.parent.mkdir(parents=True, exist_ok=True)
    mode = change.mode if change.before is None else None
    write_atomic(change.path, change.after, mode=mode)


def _check(change: Change) -> bool:
    """Whether the file still waits for this change; False when another run was faster."""
    now = read_file(change.path)
    if now not in {change.before, change.after}:
        raise Unusable(f"{change.path} has just been changed by somebody else: run it again")
    return now != change.after


def _leave_directory(path: Path, record: Record) -> None:
    """Take away the directory that we made, unless others' files are in it."""
    if str(path.parent) in record.made:
        with contextlib.suppress(OSError):
            path.parent.rmdir()
            record.made.discard(str(path.parent))


def _change_server(
    plan: Plan, record: Record, claude: Path | None, environ: Mapping[str, str]
) -> None:
    places, path, part = plan.places, plan.places.servers, plan.places.servers_part
    there = read_server(places)
    if there == plan.server.after:
        return  # another run was faster
    if there != plan.server.before:
        raise Unusable(f"{path} has just been changed by somebody else: run it again")
    before = read_file(path)
    _note(record, path, before, before, part)
    if claude is None:
        _edit_server(places, plan.server.after)
    else:
        scope = ["--scope", places.scope.value]
        if plan.server.before is not None:
            _claude(claude, ["mcp", "remove", *scope, ours.SERVER], places, environ)
        entry = json.dumps(plan.server.after, ensure_ascii=False)
        _claude(claude, ["mcp", "add-json", *scope, ours.SERVER, entry], places, environ)
    _note(record, path, before, read_file(path), part)


def _remove_server(
    plan: Plan, record: Record, claude: Path | None, environ: Mapping[str, str]
) -> None:
    places, path = plan.places, plan.places.servers
    if not ours.is_our_server(read_server(places)):
        return  # another run was faster
    now = read_file(path)
    untouched, original = record.original(path, now, places.servers_part)
    if untouched:
        _write(Change(path, "", now, original), None)
        return
    if claude is None or not places.project.is_dir():
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
    before = read_file(places.servers)
    if entry is None:
        after = read_settings(places.servers).remove([*places.servers_path, ours.SERVER]).text
    else:
        after = edit_server(places, entry)
    end = "" if before else "\n"
    change = Change(places.servers, "", before, (after + end).encode(), new_mode(places))
    _write(change, None)


def _claude(
    claude: Path, arguments: Sequence[str], places: ClaudePlaces, environ: Mapping[str, str]
) -> None:
    """Run Claude Code's own command in the project. Raises Unusable with what it said."""
    try:
        done = subprocess.run(
            [str(claude), *arguments],
            cwd=places.project,
            env=for_claude({**os.environ, **environ}),
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
