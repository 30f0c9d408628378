"""Registering with Claude Code and taking it back, as a plan that is shown before it runs.

Every file is read and checked before the first one is written. What was there
is kept, with a note of what we left, so that removing restores a file byte for
byte as long as nobody changed it since, and cuts out only our parts otherwise.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workers_tui.home import claude_settings as ours
from workers_tui.home.claude_places import ClaudePlaces, Scope, claude_places, config_dir
from workers_tui.home.connection_record import Record
from workers_tui.home.files import read_json, write_atomic
from workers_tui.home.json_surgery import BOM, JsonText, NotJson
from workers_tui.home.places import Home

SHARED_MODE = 0o644
CLAUDE_TIMEOUT = 60.0


class Unusable(Exception):
    """A file of Claude Code's, or its program, cannot be used; nothing was changed."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What to register."""

    server: dict[str, Any] | None
    """The server's entry; None when the plugin brings it."""
    permissions: bool = True
    hooks: bool = True
    rules: bool = True


@dataclass(frozen=True, slots=True)
class Change:
    """One file, before and after."""

    path: Path
    title: str
    """What changes, for the user."""
    before: bytes | None
    """None: the file does not exist."""
    after: bytes | None
    """None: it goes."""
    mode: int | None = None
    """For a new file."""

    @property
    def needed(self) -> bool:
        return self.before != self.after


@dataclass(frozen=True, slots=True)
class ServerChange:
    """The server's entry, before and after; Claude Code's own command makes it."""

    before: Any
    after: Any

    @property
    def needed(self) -> bool:
        return bool(self.before != self.after)


@dataclass(frozen=True, slots=True)
class Plan:
    """What `apply` will do."""

    places: ClaudePlaces
    server: ServerChange
    files: tuple[Change, ...]
    notes: tuple[str, ...] = ()

    @property
    def needed(self) -> bool:
        return self.server.needed or any(change.needed for change in self.files)


# ---- planning --------------------------------------------------------------------------------


def plan_connect(scope: Scope, project: Path, wanted: Wanted, environ: Mapping[str, str]) -> Plan:
    """What registering would change. Raises Unusable; reads only."""
    places = claude_places(scope, project, environ)
    servers = _json(places.servers)
    before = servers.get([*places.servers_path, ours.SERVER])
    notes: list[str] = []
    if has_plugin(environ):
        notes.append("the plugin is enabled: it brings the server and the hooks itself")
        server, hooks = ServerChange(before, before), False
    else:
        server, hooks = ServerChange(before, wanted.server), wanted.hooks
        if before is not None and not ours.is_our_server(before):
            notes.append(f"replaces another server of the same name: {json.dumps(before)}")

    def edit(text: JsonText) -> JsonText:
        text = ours.with_hooks(text, environ) if hooks else text
        return ours.with_permissions(text) if wanted.permissions else text

    files = [_edited(places, places.settings, "hooks and permissions", edit)]
    if wanted.rules:
        files.append(_ruled(places, ours.with_rules))
    return Plan(places, server, tuple(files), tuple(notes))


def plan_remove(scope: Scope, project: Path, home: Home, environ: Mapping[str, str]) -> Plan:
    """What taking it back would change. Raises Unusable; reads only."""
    places = claude_places(scope, project, environ)
    record = Record.load(home)
    before = _json(places.servers).get([*places.servers_path, ours.SERVER])
    server = ServerChange(before, None if ours.is_our_server(before) else before)

    def edit(text: JsonText) -> JsonText:
        return ours.without_permissions(ours.without_hooks(text))

    files = [
        _restored(record, places.settings, lambda: _edited(places, places.settings, "", edit)),
        _restored(record, places.rules, lambda: _ruled(places, ours.without_rules)),
    ]
    return Plan(places, server, tuple(files))


def has_plugin(environ: Mapping[str, str]) -> bool:
    """Whether Claude Code loads our plugin for this user."""
    return ours.plugin_enabled(read_json(config_dir(environ) / "settings.json"))


def _restored(record: Record, path: Path, cut: Callable[[], Change]) -> Change:
    now = _read(path)
    untouched, before = record.original(path, now)
    title = "restored as it was" if untouched else "our parts cut out"
    change = Change(path, title, now, before) if untouched else cut()
    empty = change.after is not None and change.after.strip(b"\xef\xbb\xbf \r\n\t") in {b"", b"{}"}
    known, oldest = record.oldest(path)
    if empty and known and oldest is None:
        return Change(path, title, now, None)  # we made it, and nothing else came into it
    return Change(path, title, now, change.after)


def _edited(
    places: ClaudePlaces, path: Path, title: str, edit: Callable[[JsonText], JsonText]
) -> Change:
    before = _read(path)
    text = _json(path)
    try:
        after = edit(text).text
    except NotJson as error:
        raise _unusable(path, error) from None
    if after == text.text:
        return Change(path, title, before, before)
    end = "" if before else "\n"
    return Change(path, title, before, (after + end).encode(), _mode(places))


def _ruled(places: ClaudePlaces, edit: Callable[[str], str]) -> Change:
    path = places.rules
    before = _read(path)
    try:
        text = (before or b"").decode()
    except UnicodeDecodeError:
        raise Unusable(f"{path} is not UTF-8: nothing was changed; convert it first") from None
    after = edit(text).encode()
    same = after == (before or b"")
    return Change(path, "delegation rules", before, before if same else after, _mode(places))


def _mode(places: ClaudePlaces) -> int | None:
    return SHARED_MODE if places.shared else None


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise Unusable(f"{path} cannot be read: {error.strerror or error}") from None


def _json(path: Path) -> JsonText:
    """The file as text that can be edited; an absent or empty one as an empty object."""
    raw = _read(path)
    try:
        text = (raw or b"").decode()
        bom = BOM if text.startswith(BOM) else ""
        return JsonText(text if text.strip(BOM + " \r\n\t") else bom + "{}")
    except UnicodeDecodeError:
        raise Unusable(f"{path} is not UTF-8: nothing was changed") from None
    except NotJson as error:
        raise _unusable(path, error) from None


def _unusable(path: Path, error: NotJson) -> Unusable:
    return Unusable(
        f"{path}, line {error.line}: {error}. Nothing was changed: mend that line and run "
        "connect again, or paste what docs/examples shows"
    )


# ---- doing -----------------------------------------------------------------------------------


def apply(plan: Plan, home: Home, claude: Path | None, environ: Mapping[str, str]) -> None:
    """Do it: the files first, then the server. Raises Unusable; what was done is on record."""
    record = Record.load(home)
    for change in plan.files:
        if change.needed:
            _write(change, record)
    if plan.server.needed:
        _change_server(plan, record, claude, environ)
    record.save()


def undo(plan: Plan, home: Home, claude: Path | None, environ: Mapping[str, str]) -> None:
    """Take it back, as `plan_remove` planned. Raises Unusable."""
    record = Record.load(home)
    for change in plan.files:
        if change.needed:
            _write(change, None)
        record.forget(change.path)
    if plan.server.needed:
        _remove_server(plan, record, claude, environ)
    record.forget(plan.places.servers)
    record.save()


def _write(change: Change, record: Record | None) -> None:
    try:
        if _read(change.path) != change.before:
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
                record.keep(change.path, change.before, change.after)
                record.save()
            write_atomic(change.path, change.after, mode=mode)
    except OSError as error:
        raise Unusable(f"{change.path} cannot be written: {error.strerror or error}") from None


def _change_server(
    plan: Plan, record: Record, claude: Path | None, environ: Mapping[str, str]
) -> None:
    places, path = plan.places, plan.places.servers
    before = _read(path)
    if claude is None:
        _edit_server(places, plan.server.after)
    else:
        scope = ["--scope", places.scope.value]
        if plan.server.before is not None:
            _claude(claude, ["mcp", "remove", *scope, ours.SERVER], places, environ)
        entry = json.dumps(plan.server.after, ensure_ascii=False)
        _claude(claude, ["mcp", "add-json", *scope, ours.SERVER, entry], places, environ)
    record.keep(path, before, _read(path))


def _remove_server(
    plan: Plan, record: Record, claude: Path | None, environ: Mapping[str, str]
) -> None:
    places, path = plan.places, plan.places.servers
    now = _read(path)
    untouched, original = record.original(path, now)
    if untouched:
        _write(Change(path, "", now, original), None)
        return
    if claude is None:
        _edit_server(places, None)
    else:
        scope = ["--scope", places.scope.value]
        _claude(claude, ["mcp", "remove", *scope, ours.SERVER], places, environ)
    known, oldest = record.oldest(path)
    _tidy(places, oldest if known else None, known=known)


def _tidy(places: ClaudePlaces, oldest: bytes | None, *, known: bool) -> None:
    """Take away the empty object that our entry leaves, and bring back one it replaced."""
    text = _json(places.servers)
    was = JsonText((oldest or b"{}").decode()) if known else text
    replaced = was.get([*places.servers_path, ours.SERVER])
    if known and was.get(places.servers_path) is None:
        for depth in range(len(places.servers_path), 0, -1):
            if was.get(places.servers_path[:depth]) is None:
                text = text.remove_empty(places.servers_path[:depth])
    elif replaced is not None and not ours.is_our_server(replaced):
        text = text.add([*places.servers_path, ours.SERVER], replaced)
    before = _read(places.servers)
    after: bytes | None = text.text.encode()
    if known and oldest is None and text.value == {} and places.scope is Scope.PROJECT:
        after = None
    elif known and oldest is not None and text.value == was.value:
        after = oldest
    if after != before:
        _write(Change(places.servers, "", before, after), None)


def _edit_server(places: ClaudePlaces, entry: dict[str, Any] | None) -> None:
    """Without Claude Code's program: the same edit by ourselves."""
    text = _json(places.servers)
    path = [*places.servers_path, ours.SERVER]
    if entry is None:
        edited = text.remove(path)
    else:
        edited = text.replace(path, entry) if text.get(path) is not None else text.add(path, entry)
    before = _read(places.servers)
    end = "" if before else "\n"
    change = Change(places.servers, "", before, (edited.text + end).encode(), _mode(places))
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
