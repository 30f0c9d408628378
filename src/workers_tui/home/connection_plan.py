"""What connecting to Claude Code, or taking it back, would change: a plan to show before it runs.

Everything is read and checked here, nothing is written. A file that is not
plain JSON stops the plan.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from workers_tui.home import claude_settings as ours
from workers_tui.home.claude_places import ClaudePlaces, Scope, claude_places, config_dir
from workers_tui.home.claude_plugin import find_plugin
from workers_tui.home.connection_record import Record
from workers_tui.home.files import read_whole
from workers_tui.home.json_surgery import BOM, JsonText, NotJson
from workers_tui.home.places import Home

SHARED_MODE = 0o644


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
    wanted: Wanted | None = None
    """What to register; None when it is taken back."""

    @property
    def needed(self) -> bool:
        return self.server.needed or any(change.needed for change in self.files)


def plan_connect(scope: Scope, project: Path, wanted: Wanted, environ: Mapping[str, str]) -> Plan:
    """What registering would change. Raises Unusable; reads only."""
    places = claude_places(scope, project, environ)
    before = read_server(places)
    notes = _notes(places, environ)
    plugin = find_plugin(project, environ)
    if plugin is not None and scope in {plugin.scope, Scope.PROJECT, Scope.LOCAL}:
        notes.append("the plugin is enabled: it brings the server and the hooks itself")
        server, hooks = ServerChange(before, before), False
    else:
        server, hooks = ServerChange(before, wanted.server), wanted.hooks
        if wanted.server is not None:
            edit_server(places, wanted.server)  # refused now rather than half-way
        if plugin is not None:
            notes.append(f"this project enables the plugin as well: `{plugin.uninstall}`")
        if before is not None and not ours.is_our_server(before):
            notes.append(f"replaces another server of the same name: {json.dumps(before)}")
        if scope is Scope.PROJECT and server.needed:
            notes.append("Claude Code asks each user of the project once whether to trust it")
            notes.append(
                "the program is named by its place on this machine; where others have it "
                "elsewhere, paste what docs/examples shows"
            )

    def edit(text: JsonText) -> JsonText:
        text = ours.with_hooks(text, environ) if hooks else text
        return ours.with_permissions(text) if wanted.permissions else text

    files = []
    parts = [("hooks", hooks), ("permissions", wanted.permissions)]
    title = " and ".join(name for name, is_wanted in parts if is_wanted)
    if title:  # or a file that cannot be edited is in nobody's way
        files.append(_edited(places, places.settings, title, edit))
    if wanted.rules:
        files.append(_ruled(places, ours.with_rules))
    notes += _staying(places, wanted)
    return Plan(places, server, tuple(files), tuple(notes), wanted)


def _staying(places: ClaudePlaces, wanted: Wanted) -> list[str]:
    """What is not wanted and there already: leaving it out takes nothing back."""
    edited = partial(_edited, places, places.settings, "")
    parts = (
        ("the hooks", wanted.hooks, partial(edited, ours.without_hooks)),
        ("the permissions", wanted.permissions, partial(edited, ours.without_permissions)),
        ("the rules", wanted.rules, partial(_ruled, places, ours.without_rules)),
    )
    there = [name for name, is_wanted, cut in parts if not is_wanted and _holds(cut)]
    if not there:
        return []
    stays = f"{' and '.join(there)} that are there already stay"
    how = "`workers-tui connect --remove` takes everything back; connect without them afterwards"
    return [f"{stays}: {how}"]


def _holds(cut: Callable[[], Change]) -> bool:
    """Whether there is something to cut out; what cannot be read is nobody's business here."""
    try:
        return cut().needed
    except Unusable:
        return False


def plan_remove(scope: Scope, project: Path, home: Home, environ: Mapping[str, str]) -> Plan:
    """What taking it back would change. Raises Unusable; reads only."""
    places = claude_places(scope, project, environ)
    record = Record.load(home)
    before = read_server(places)
    server = ServerChange(before, None if ours.is_our_server(before) else before)

    def edit(text: JsonText) -> JsonText:
        return ours.without_permissions(ours.without_hooks(text))

    files = [
        _restored(record, places.settings, lambda: _edited(places, places.settings, "", edit)),
        _restored(record, places.rules, lambda: _ruled(places, ours.without_rules)),
    ]
    plugin = find_plugin(project, environ)
    notes = _notes(places, environ)
    notes += [f"the plugin is enabled: `{plugin.uninstall}` takes it out"] if plugin else []
    return Plan(places, server, tuple(files), tuple(notes))


def plan_remove_everywhere(project: Path, home: Home, environ: Mapping[str, str]) -> list[Plan]:
    """What taking back would change for this user, and in every project that is on record.

    A project's shared files that somebody else connected are only noted.
    """
    user = claude_places(Scope.USER, project, environ)
    record = Record.load(home)
    there = record.connected({str(user.settings), str(user.rules)}) | {(Scope.LOCAL, project)}
    known = sorted(one for one in there if one[1].is_dir() or one[0] is Scope.LOCAL)
    plans = [
        plan_remove(scope, where, home, environ) for scope, where in [(Scope.USER, project), *known]
    ]
    shared = plan_remove(Scope.PROJECT, project, home, environ)
    *plans, shared = _each_place_once([*plans, shared])
    if shared.needed and (Scope.PROJECT, project) not in there:
        note = f"somebody else connected {project}; --scope project takes that back too"
        plans[0] = replace(plans[0], notes=(*plans[0].notes, note))
    return plans


def _each_place_once(plans: Sequence[Plan]) -> list[Plan]:
    """In the home directory the project's settings are the user's; worktrees share a server."""
    files_seen: set[Path] = set()
    servers_seen: set[tuple[Path, str]] = set()
    once = []
    for plan in plans:
        files = tuple(change for change in plan.files if change.path not in files_seen)
        files_seen.update(change.path for change in files)
        where = (plan.places.servers, plan.places.servers_part)
        before = plan.server.before
        server = ServerChange(before, before) if where in servers_seen else plan.server
        servers_seen.add(where)
        once.append(replace(plan, files=files, server=server))
    first, *others = once  # what is said of the user is said once
    return [first, *(replace(plan, notes=()) for plan in others)]


def _notes(places: ClaudePlaces, environ: Mapping[str, str]) -> list[str]:
    several = "," in environ.get("CLAUDE_CONFIG_DIR", "")
    if not several or places.scope is Scope.PROJECT:
        return []
    return [f"CLAUDE_CONFIG_DIR names several directories: this is for {config_dir(environ)}"]


def read_server(places: ClaudePlaces) -> Any:
    """What is registered under our name now."""
    return read_settings(places.servers).get([*places.servers_path, ours.SERVER])


def edit_server(places: ClaudePlaces, entry: Any) -> str:
    """The text of the servers' file with this entry. Raises Unusable where none can stand."""
    text = read_settings(places.servers)
    try:
        return ours.with_server(text, [*places.servers_path, ours.SERVER], entry).text
    except NotJson as error:
        raise _unusable(places.servers, error) from None


def _restored(record: Record, path: Path, cut: Callable[[], Change]) -> Change:
    now = read_file(path)
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
    before = read_file(path)
    text = read_settings(path)
    try:
        after = edit(text).text
    except NotJson as error:
        raise _unusable(path, error) from None
    if after == text.text:
        return Change(path, title, before, before)
    end = "" if before else "\n"
    return Change(path, title, before, (after + end).encode(), new_mode(places))


def _ruled(places: ClaudePlaces, edit: Callable[[str], str]) -> Change:
    path = places.rules
    before = read_file(path)
    try:
        text = (before or b"").decode()
    except UnicodeDecodeError:
        raise Unusable(f"{path} is not UTF-8: nothing was changed; convert it first") from None
    after = edit(text).encode()
    same = after == (before or b"")
    return Change(path, "delegation rules", before, before if same else after, new_mode(places))


def new_mode(places: ClaudePlaces) -> int | None:
    return SHARED_MODE if places.shared else None


def read_file(path: Path) -> bytes | None:
    try:
        return read_whole(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise Unusable(f"{path} cannot be read: {error.strerror or error}") from None


def read_settings(path: Path) -> JsonText:
    """The file as text that can be edited; an absent or empty one as an empty object."""
    raw = read_file(path)
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
        "this again, or edit by hand as docs/examples shows"
    )
