"""Whether Claude Code loads our plugin, and from which of its settings. Reads only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from workers_tui.home.claude_places import Scope, claude_places
from workers_tui.home.claude_settings import PLUGIN
from workers_tui.home.files import read_json


@dataclass(frozen=True, slots=True)
class EnabledPlugin:
    """Our plugin as Claude Code's settings enable it."""

    name: str
    """With its marketplace: `workers@workers-tui`."""
    scope: Scope
    """Of the settings that enable it."""

    @property
    def uninstall(self) -> str:
        """The command that takes it out."""
        where = "" if self.scope is Scope.USER else f" --scope {self.scope}"
        return f"claude plugin uninstall{where} {self.name}"


def find_plugin(project: Path, environ: Mapping[str, str]) -> EnabledPlugin | None:
    """The plugin that sessions in this project load; narrower settings win over wider ones."""
    said: dict[str, EnabledPlugin | None] = {}
    for scope in Scope:
        settings = read_json(claude_places(scope, project, environ).settings)
        enabled = settings.get("enabledPlugins") if isinstance(settings, dict) else None
        for name, on in enabled.items() if isinstance(enabled, dict) else ():
            if name.split("@")[0] == PLUGIN:
                said[name] = EnabledPlugin(name, scope) if on is True else None
    return next((plugin for plugin in said.values() if plugin), None)
