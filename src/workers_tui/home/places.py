"""Which file lies where. Nothing here opens a file.

With WORKERS_HOME everything lies flat in that directory; otherwise settings go
to the platform's config directory and everything else to its state directory.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

APP = "workers-tui"


@dataclass(frozen=True, slots=True)
class Home:
    """The two directories of one user."""

    config: Path
    """Settings the user may edit or back up."""
    state: Path
    """Money, jobs, results, logs."""

    @property
    def models_json(self) -> Path:
        return self.config / "models.json"

    @property
    def keys_json(self) -> Path:
        """Provider keys, 0600: `{provider: key}`."""
        return self.config / "keys.json"

    @property
    def keymap_json(self) -> Path:
        """The user's own key bindings: `{action: "key,key"}`."""
        return self.config / "keymap.json"

    @property
    def ui_json(self) -> Path:
        """What the dashboard remembers: theme, first run done."""
        return self.state / "ui.json"

    @property
    def store_db(self) -> Path:
        return self.state / "store.db"

    @property
    def index_db(self) -> Path:
        return self.state / "index.db"

    @property
    def usage_jsonl(self) -> Path:
        return self.state / "usage.jsonl"

    @property
    def token(self) -> Path:
        """The local server's bearer token, made once."""
        return self.state / "token"

    @property
    def server_json(self) -> Path:
        """Who serves now: `{"url", "pid", "version"}`."""
        return self.state / "server.json"

    @property
    def results(self) -> Path:
        return self.state / "results"

    @property
    def engines(self) -> Path:
        """One lock file per engine; an engine is dead when its lock can be taken."""
        return self.state / "engines"

    @property
    def agents(self) -> Path:
        """Config directories of agent workers; they hold no key."""
        return self.state / "agents"

    @property
    def notices_json(self) -> Path:
        """Savings lines the engine writes and the hooks print."""
        return self.state / "notices.json"

    @property
    def gate_json(self) -> Path:
        """What the hooks need to know: mode, usable workers, room under the cap."""
        return self.state / "gate.json"

    @property
    def log(self) -> Path:
        return self.state / "log"


def find_home(environ: Mapping[str, str] = os.environ, flat: str | Path | None = None) -> Home:
    """The user's home for this program; `flat` (an option) wins over WORKERS_HOME."""
    chosen = flat or environ.get("WORKERS_HOME")
    if chosen:
        path = Path(chosen).expanduser().absolute()
        return Home(config=path, state=path)
    return Home(config=_config_dir(environ), state=_state_dir(environ))


def _config_dir(environ: Mapping[str, str]) -> Path:
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / APP
    if sys.platform == "win32":
        return Path(environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / APP
    return (_xdg("XDG_CONFIG_HOME", environ) or Path.home() / ".config") / APP


def _state_dir(environ: Mapping[str, str]) -> Path:
    if sys.platform in {"darwin", "win32"}:
        return _config_dir(environ)
    return (_xdg("XDG_STATE_HOME", environ) or Path.home() / ".local" / "state") / APP


def _xdg(name: str, environ: Mapping[str, str]) -> Path | None:
    """A directory of the XDG specification, which says that a relative one must be ignored."""
    path = Path(environ.get(name, ""))
    return path if path.is_absolute() else None
