"""What `initialize` and `tools/list` say, at once and whoever serves.

At first from the generated file and the user's models.json; later from the
server, which may have other settings than this client's environment shows.
"""

from __future__ import annotations

import json
import os
import threading

from workers_tui import __version__
from workers_tui.forwarder import tool_list
from workers_tui.forwarder.eras import NEWEST
from workers_tui.home.assets import asset_path
from workers_tui.home.switches import delegation_mode
from workers_tui.home.where import config_dir

TYPE_CHECKING = False  # typing costs 4 ms
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

Tools = list[dict[str, "Any"]]


class Listing:
    """The tool list as this client should see it."""

    def __init__(self, options: Mapping[str, str], environ: Mapping[str, str]) -> None:
        at_home = os.path.join(config_dir(environ), "models.json")
        self._path = options.get("--config", at_home)
        self._environ = environ
        self._lock = threading.Lock()
        self._said: Tools | None = None
        self._learnt: Tools | None = None

    def introduction(self) -> dict[str, Any]:
        """The result of `initialize`, without the protocol version."""
        return {"serverInfo": self.server_info(), **self._about()}

    def discovery(self) -> dict[str, Any]:
        """The result of `server/discover`: the same in the newest era."""
        said = {"supportedVersions": list(NEWEST), "ttlMs": 0, "cacheScope": "private"}
        return {**said, **self._about()}

    def server_info(self) -> dict[str, Any]:
        """Who answers."""
        return {"name": "workers", "title": "workers-tui", "version": __version__}

    def tools(self) -> Tools:
        """The tools, from the server when it has said them."""
        with self._lock:
            self._said = self._learnt or self._made()
            return self._said

    def learn(self, tools: Tools) -> bool:
        """Take the server's list; True when the client was told another one."""
        with self._lock:
            self._learnt = tools
            return self._said is not None and self._said != tools

    def _about(self) -> dict[str, Any]:
        instructions = tool_list.load()["instructions"]
        return {
            "capabilities": {"tools": {"listChanged": True}},
            "instructions": instructions[self._mode(self._settings())],
        }

    def _made(self) -> Tools:
        settings = self._settings()
        tools: Tools = tool_list.load()["tools"][self._mode(settings)]
        return tool_list.fill(tools, _tiers(settings))

    def _mode(self, settings: dict[str, Any]) -> str:
        said = settings.get("delegation")
        return delegation_mode((said if isinstance(said, str) else None,), self._environ)

    def _settings(self) -> dict[str, Any]:
        """The user's settings as far as they can be read, else the shipped ones."""
        path = self._path if os.path.exists(self._path) else asset_path("models.json")
        try:
            with open(path, encoding="utf-8-sig") as file:
                value = json.loads(file.read())
        except (OSError, ValueError, RecursionError):
            return {}
        return value if isinstance(value, dict) else {}


def _tiers(settings: dict[str, Any]) -> Iterator[tuple[str, str]]:
    tiers = settings.get("tiers")
    for name, tier in tiers.items() if isinstance(tiers, dict) else ():
        use = tier.get("use", "") if isinstance(tier, dict) else ""
        yield name, use if isinstance(use, str) else ""
