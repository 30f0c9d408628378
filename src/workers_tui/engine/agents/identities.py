"""Agent identities: who a worker is, where it calls, and with which key.

One directory each under ~/.claude-workers, in the shape that earlier tools of
this kind wrote. Keys stand in settings.json (0600) and nowhere else; nothing
here sends or shows them.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from workers_tui.engine.agents.identity import (
    API_KEY,
    PLACEHOLDER,
    SLOTS,
    TOKEN,
    URL,
    Identity,
    WorkerView,
    identity_of,
    view_of,
)
from workers_tui.engine.agents.presets import BY_NAME, Preset
from workers_tui.engine.agents.trial import FILE, Trial, read_trial, write_trial
from workers_tui.engine.errors import ConfigError, WrongUse
from workers_tui.engine.settings.model_name import is_model
from workers_tui.engine.settings.names import nearest_words
from workers_tui.engine.settings.providers import is_address
from workers_tui.home.files import make_private_dir, write_atomic

__all__ = ["PLACEHOLDER", "Identities", "Identity", "WorkerView", "find_root", "view_of"]

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


def find_root(environ: Mapping[str, str] = os.environ) -> Path:
    """Where identities live: CLAUDE_WORKERS_ROOT, else ~/.claude-workers."""
    said = environ.get("CLAUDE_WORKERS_ROOT")
    home = environ.get("HOME")
    base = Path(home) if home else Path.home()
    return Path(said).expanduser() if said else base / ".claude-workers"


class Identities:
    """All identities of one user."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def names(self) -> list[str]:
        """Names of the directories that hold a settings.json."""
        try:
            entries = sorted(self.root.iterdir())
        except OSError:
            return []
        return [one.name for one in entries if (one / "settings.json").exists()]

    def stamp(self) -> tuple[tuple[str, int], ...]:
        """Changes when an identity is made, changed, tried or removed."""
        found = []
        for name in self.names():
            with contextlib.suppress(OSError):
                found.append((name, (self.root / name / "settings.json").stat().st_mtime_ns))
            with contextlib.suppress(OSError):
                found.append((name, (self.root / name / FILE).stat().st_mtime_ns))
        return tuple(found)

    def all(self) -> list[Identity]:
        """Every identity, broken ones with their problem."""
        return [self.read(name) for name in self.names()]

    def get(self, name: str) -> Identity:
        """An identity, usable or not. Raises WrongUse when there is none of this name."""
        names = self.names()
        if name in names:
            return self.read(name)
        near = ", ".join(nearest_words(name, names)) if names else ""
        hint = f"; there are: {near or ', '.join(names)}" if names else ""
        raise WrongUse(f"there is no worker {name!r}{hint}; `workers-tui worker create` makes one")

    def usable(self, name: str | None, default: str | None = None) -> Identity:
        """The identity to run with. Raises WrongUse and ConfigError saying what to do."""
        chosen = name or default
        if chosen is None:
            ready = [one.name for one in self.all() if one.problem is None]
            if len(ready) != 1:
                said = f"name one of: {', '.join(ready)}" if ready else NO_WORKERS
                raise WrongUse(f"no worker was named; {said}")
            chosen = ready[0]
        identity = self.get(chosen)
        if identity.problem:
            raise ConfigError(f"worker {chosen}: {identity.problem}")
        return identity

    def read(self, name: str) -> Identity:
        """What lies on disk; problems are told in the value."""
        path = self.root / name
        try:
            raw = json.loads((path / "settings.json").read_text(encoding="utf-8-sig"))
        except json.JSONDecodeError as wrong:
            problem = f"settings.json line {wrong.lineno}: {wrong.msg}"
            return Identity(name, path, problem=problem)
        except (OSError, ValueError, RecursionError) as wrong:
            return Identity(name, path, problem=f"settings.json cannot be read: {wrong}")
        env = raw.get("env") if isinstance(raw, dict) else None
        if not isinstance(env, dict):
            return Identity(name, path, problem="settings.json has no `env` object")
        identity = identity_of(name, path, texts_of(env), raw)
        return replace(identity, trial=read_trial(path, identity.asked_for))

    def note_trial(self, identity: Identity, trial: Trial) -> None:
        """Keep how a round trip with this identity ended."""
        write_trial(identity.path, identity.asked_for, trial)

    def create(
        self,
        name: str,
        preset: Preset,
        *,
        base_url: str = "",
        models: Mapping[str, str] | None = None,
    ) -> Identity:
        """Make an identity that waits for its key. Raises WrongUse."""
        if not NAME.fullmatch(name):
            raise WrongUse(f"{name!r} is no name: letters, digits, dot, dash and underscore only")
        path = self.root / name
        if (path / "settings.json").exists():
            raise WrongUse(f"there is a worker {name} already; remove it first")
        chosen = _models(preset, models or {})
        url = (base_url or preset.base_url).rstrip("/")
        if not url:
            raise WrongUse("give the address with --base-url, as Claude Code's ANTHROPIC_BASE_URL")
        if not is_address(url):
            raise WrongUse(f"{url!r} is no address such as https://api.example.com/anthropic")
        env = {URL: url, TOKEN: PLACEHOLDER if preset.needs_key else "local"}
        env |= {f"ANTHROPIC_DEFAULT_{slot}_MODEL": chosen[slot] for slot in SLOTS}
        make_private_dir(self.root)
        make_private_dir(path)
        self._save(path, {"env": env})
        run = path / "run"
        run.write_text(_wrapper(path), encoding="utf-8")
        run.chmod(0o700)
        return self.read(name)

    def set_key(self, name: str, key: str) -> Identity:
        """Keep a key. Raises WrongUse for what cannot be one."""
        identity = self.get(name)
        key = checked_key(key)
        raw = _raw(identity.path)
        env = raw.setdefault("env", {})
        slot = API_KEY if env.get(API_KEY) and not env.get(TOKEN) else TOKEN
        env[slot] = key
        self._save(identity.path, raw)
        return self.read(name)

    def remove(self, name: str) -> Path:
        """Delete an identity with its history. Raises WrongUse."""
        identity = self.get(name)
        if identity.path.is_symlink():
            identity.path.unlink()
        else:
            shutil.rmtree(identity.path)
        return identity.path

    @staticmethod
    def _save(path: Path, raw: Mapping[str, Any]) -> None:
        text = json.dumps(raw, ensure_ascii=False, indent=2) + "\n"
        write_atomic(path / "settings.json", text, mode=0o600)


NO_WORKERS = (
    "there is none yet: `workers-tui worker presets` lists providers,"
    " `workers-tui worker create NAME --preset P` makes one"
)


def checked_key(key: str) -> str:
    """The key without the line end of a paste; raises WrongUse naming what is wrong with it."""
    stripped = key.strip()
    if not stripped:
        raise WrongUse("the key is empty")
    if any(char in stripped for char in "\r\n"):
        raise WrongUse("the key holds a line break: paste it as one line")
    if re.search(r"\s", stripped):
        raise WrongUse("the key holds a space: paste the key alone")
    if not stripped.isascii() or not stripped.isprintable():
        raise WrongUse("the key holds a character that no key has")
    if stripped == PLACEHOLDER:
        raise WrongUse("that is the placeholder, not a key")
    if len(stripped) < SHORTEST_KEY:
        raise WrongUse(f"a key of length {len(stripped)} is too short: was half of it copied?")
    return stripped


SHORTEST_KEY = 5


def _raw(path: Path) -> dict[str, Any]:
    try:
        raw = json.loads((path / "settings.json").read_text(encoding="utf-8-sig"))
    except (OSError, ValueError, RecursionError) as wrong:
        raise ConfigError(f"{path / 'settings.json'} cannot be read: {wrong}") from None
    if not isinstance(raw, dict):
        raise ConfigError(f"{path / 'settings.json'} holds no JSON object")
    return raw


def _models(preset: Preset, given: Mapping[str, str]) -> dict[str, str]:
    own = {"SONNET": preset.sonnet, "OPUS": preset.opus, "HAIKU": preset.haiku}
    chosen = {slot: given.get(slot) or own[slot] for slot in SLOTS}
    known = [model for model in chosen.values() if model]
    if not known:
        raise WrongUse(f"preset {preset.name} needs a model: give --sonnet (and --opus, --haiku)")
    if wrong := next((model for model in known if not is_model(model)), None):
        raise WrongUse(f"{wrong!r} is no name of a model")
    return {slot: model or chosen["SONNET"] or known[0] for slot, model in chosen.items()}


def _wrapper(path: Path) -> str:
    return (
        "#!/bin/sh\n"
        "# Claude Code with this worker's identity and history, by hand.\n"
        "# It talks to the provider directly: the dashboard neither meters nor stops it.\n"
        f'CLAUDE_CONFIG_DIR={shlex.quote(str(path))} exec claude "$@"\n'
    )


def texts_of(env: Mapping[str, Any]) -> dict[str, str]:
    """The variables that are texts: a null is none, and never the word `None`."""
    return {name: value for name, value in env.items() if isinstance(value, str)}


def preset_named(name: str) -> Preset:
    """A preset. Raises WrongUse naming those there are."""
    if name not in BY_NAME:
        raise WrongUse(f"there is no preset {name!r}; there are: {', '.join(BY_NAME)}")
    return BY_NAME[name]
