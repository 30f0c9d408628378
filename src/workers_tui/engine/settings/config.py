"""models.json, live: the only place that reads, watches and changes the file.

A file that makes no sense never replaces settings that do: the last good ones
stay in force and the error shows on the board. When there were none yet, the
error is raised to everyone who asks for work, and nothing is sent.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from workers_tui.engine.board import Board, Key, Topic
from workers_tui.engine.errors import ConfigError, StoreUnusable, UnknownTier, WrongUse
from workers_tui.engine.events import Events, Level
from workers_tui.engine.settings.json_text import change_json
from workers_tui.engine.settings.names import nearest_words
from workers_tui.engine.settings.settings import (
    MOST_USD,
    AgentRules,
    ProviderSettings,
    Settings,
    Tier,
    parse,
)
from workers_tui.home.assets import asset
from workers_tui.home.files import PRIVATE_FILE, in_turn, make_private_dir, why, write_atomic
from workers_tui.home.places import Home

__all__ = [
    "AgentRules",
    "ConfigFile",
    "ConfigView",
    "ProviderSettings",
    "Settings",
    "Tier",
]

BOM = b"\xef\xbb\xbf"
SCHEMA = Path(__file__).with_name("models.schema.json")
"""For editors; made from the settings' own types."""
NAMED = 8
"""Tiers that are named where another was asked for; of more, those with the nearest names."""
LOOK_EVERY = 0.4
"""Seconds between looks at the file; each call looks too."""

Stamp = tuple[int, int, int]
"""Inode, size and time of change: another stamp means another content."""


@dataclass(frozen=True, slots=True)
class ConfigView:
    """What the board shows of models.json."""

    path: Path
    error: str | None
    """Why the file as it is cannot be used; the settings are then the last good ones."""
    warnings: tuple[str, ...]
    version: int
    """Rises with every accepted change."""
    settings: Settings


class ConfigFile:
    """The settings in force and the file they come from."""

    def __init__(self, path: Path, board: Board, events: Events) -> None:
        self.path = path
        self.settings = Settings()
        self.error: str | None = None
        self.warnings: tuple[str, ...] = ()
        self.version = 0
        self._board = board
        self._events = events
        self._stamp: Stamp | None = None
        self._listeners: list[Callable[[], None]] = []
        self._saving = asyncio.Lock()

    @classmethod
    async def open(
        cls, home: Home, board: Board, events: Events, path: Path | None = None
    ) -> ConfigFile:
        """Read the file; at the first start the shipped one is copied.

        Raises ConfigError when `path` was named and is not there.
        """
        if path is not None and _stamp(path) is None:
            raise ConfigError(f"{path} is not there; --config needs a models.json")
        file = cls(path or home.models_json, board, events)
        if path is None:
            await asyncio.to_thread(_lay_out, home.models_json)
        await file.refresh()
        return file

    def on_change(self, listener: Callable[[], None]) -> None:
        """Call after every accepted change, in the loop."""
        self._listeners.append(listener)

    def usable(self) -> Settings:
        """The settings in force. Raises ConfigError when the file never made sense."""
        if self.version == 0:
            raise ConfigError(f"{self.error}; nothing is sent until it is mended ({self.path})")
        return self.settings

    async def refresh(self) -> None:
        """Read the file again if it is not the one last read."""
        if _stamp(self.path) == self._stamp:
            return
        stamp, text, error = await asyncio.to_thread(_read, self.path)
        self._stamp = stamp
        if error is None:
            try:
                settings, warnings = parse(text, self.path)
            except ConfigError as problem:
                error = str(problem)
            else:
                self._accept(settings, warnings)
                return
        self._reject(error)

    def _accept(self, settings: Settings, warnings: tuple[str, ...]) -> None:
        mended = self.error is not None
        changed = settings != self.settings or self.version == 0
        for warning in warnings:
            if warning not in self.warnings:
                self._events.tell("config", warning, level=Level.WARNING)
        self.settings, self.warnings, self.error = settings, warnings, None
        if changed or mended:
            if self.version:
                self._events.tell("config", f"{self.path.name} is in force as saved")
            self.version += 1
        self._show()
        for listener in self._listeners:
            listener()

    def _reject(self, error: str) -> None:
        if error != self.error:
            after = "the last good settings stay in force" if self.version else "nothing is sent"
            self._events.tell("config", f"{error}; {after}", level=Level.ERROR)
        self.error = error
        self._show()

    def _show(self) -> None:
        view = ConfigView(self.path, self.error, self.warnings, self.version, self.settings)
        self._board.put(Key(Topic.CONFIG), view)

    async def watch(self) -> None:
        """Notice changes within half a second; runs until cancelled.

        One stat at a time: the directory may hold the store as well, whose every
        commit would ring a bell, and a link's target may lie anywhere.
        """
        while True:
            await asyncio.sleep(LOOK_EVERY)
            await self.refresh()

    async def edit(self, change: Callable[[dict[str, Any]], None]) -> Settings:
        """Change the file: whole or not at all, with the user's layout kept.

        `change` gets the JSON object and alters it in place. Raises ConfigError,
        and leaves the file alone, when it is broken or the result would be;
        StoreUnusable when it cannot be written.
        """
        async with self._saving:
            await asyncio.to_thread(self._edit_file, change)
        await self.refresh()
        return self.settings

    def _edit_file(self, change: Callable[[dict[str, Any]], None]) -> None:
        try:
            with in_turn(self.path.parent):
                self._change_text(change)
        except OSError as error:
            raise StoreUnusable(f"{self.path.name} cannot be saved: {why(error)}") from error

    def _change_text(self, change: Callable[[dict[str, Any]], None]) -> None:
        try:
            raw = self.path.read_bytes()
            text = raw.removeprefix(BOM).decode("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"{self.path.name} cannot be read: {error}") from error
        parse(text, self.path)
        new = change_json(text, change)
        parse(new, self.path)
        if new != text:
            bom = BOM if raw.startswith(BOM) else b""
            write_atomic(self.path, bom + new.encode())

    async def set_cap(self, usd: Decimal | None) -> Decimal | None:
        """Set the daily cap; None takes it away. Returns the cap before, for undo.

        Raises WrongUse for an amount beyond all reason, before its digits are written out.
        """
        if usd is not None and not 0 <= usd <= MOST_USD:
            raise WrongUse(f"a cap is between 0 and {MOST_USD:,} dollars, or none")
        before = self.settings.daily_budget_usd

        def change(raw: dict[str, Any]) -> None:
            raw["daily_budget_usd"] = None if usd is None else _plain(usd)

        await self.edit(change)
        return before

    async def set_tier(self, name: str, **changes: Any) -> dict[str, Any]:
        """Change keys of a tier; None removes a key. Returns what they were, for undo.

        Raises UnknownTier with the nearest names.
        """
        before: dict[str, Any] = {}

        def change(raw: dict[str, Any]) -> None:
            tiers = raw.get("tiers") or {}
            if name not in tiers:
                raise unknown_tier(name, tiers)
            tier = tiers[name]
            before.update({key: tier.get(key) for key in changes})
            for key, value in changes.items():
                if value is None:
                    tier.pop(key, None)
                else:
                    tier[key] = value

        await self.edit(change)
        return before


def unknown_tier(name: str, tiers: dict[str, Any]) -> UnknownTier:
    """The error for a tier that is not there, with the names that are."""
    known = [*tiers, "auto"]
    if len(known) > NAMED:
        known = nearest_words(name, known, NAMED)
    return UnknownTier(f"there is no tier {name!r}; there are: {', '.join(known)}")


def _plain(usd: Decimal) -> int | float:
    return int(usd) if usd == usd.to_integral_value() else float(usd)


def _lay_out(target: Path) -> None:
    """The shipped models.json at the first start, and always its schema beside it."""
    try:
        make_private_dir(target.parent)
        with suppress(OSError):  # only a help for editors
            _copy_schema(target.with_name(SCHEMA.name))
        if not target.exists():
            _copy_shipped(target)
    except OSError as error:
        raise StoreUnusable(f"{target} cannot be made: {why(error)}") from error


def _copy_schema(target: Path) -> None:
    shipped = SCHEMA.read_bytes()
    if not target.exists() or target.read_bytes() != shipped:
        write_atomic(target, shipped, mode=PRIVATE_FILE)


def _copy_shipped(target: Path) -> None:
    text = asset("models.json").read_text(encoding="utf-8")
    named = text.replace("{\n", f'{{\n  "$schema": "./{SCHEMA.name}",\n', 1)
    staged = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        write_atomic(staged, named, mode=PRIVATE_FILE)
        with suppress(FileExistsError):  # another process was first
            target.hardlink_to(staged)
    finally:
        staged.unlink(missing_ok=True)


def _stamp(path: Path) -> Stamp | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


def _read(path: Path) -> tuple[Stamp | None, str, str | None]:
    """The stamp from before the reading, so that a later save is always noticed."""
    stamp = _stamp(path)
    try:
        return stamp, path.read_text(encoding="utf-8-sig"), None
    except FileNotFoundError:
        return stamp, "", f"{path.name} is gone"
    except (OSError, UnicodeDecodeError) as error:
        return stamp, "", f"{path.name} cannot be read: {error}"
