"""Whether this Claude Code session knows our MCP server, as far as its files tell."""

from __future__ import annotations

import os

from workers_tui.home.checkout import main_checkout
from workers_tui.hooks.large_json import member
from workers_tui.hooks.state import load, read

TYPE_CHECKING = False  # typing costs 4 ms
if TYPE_CHECKING:
    from collections.abc import Mapping

NAME = "workers"
PLUGIN_PREFIX = "mcp__plugin_workers_workers__"
OWN_PREFIX = "mcp__workers__"


def tool_prefix(cwd: str, environ: Mapping[str, str]) -> str:
    """How our tools are called in this session; empty when no server is registered."""
    if environ.get("CLAUDE_PLUGIN_ROOT"):
        return PLUGIN_PREFIX
    project = environ.get("CLAUDE_PROJECT_DIR") or cwd
    if _has_server(load(os.path.join(project, ".mcp.json")).get("mcpServers")):
        return OWN_PREFIX
    own = read(_claude_json(environ))
    if _has_server(member(own, ("mcpServers",))):
        return OWN_PREFIX
    if _has_server(member(own, ("projects", main_checkout(project), "mcpServers"))):
        return OWN_PREFIX
    return PLUGIN_PREFIX if _has_plugin(environ) else ""


def _claude_json(environ: Mapping[str, str]) -> str:
    directory = environ.get("CLAUDE_CONFIG_DIR", "").split(",")[0]
    home = os.path.expanduser("~")
    return os.path.join(directory or home, ".claude.json")


def _has_server(servers: object) -> bool:
    if not isinstance(servers, dict):
        return False
    return NAME in servers or any("workers-tui" in str(server) for server in servers.values())


def _has_plugin(environ: Mapping[str, str]) -> bool:
    directory = environ.get("CLAUDE_CONFIG_DIR", "").split(",")[0]
    base = directory or os.path.join(os.path.expanduser("~"), ".claude")
    enabled = load(os.path.join(base, "settings.json")).get("enabledPlugins")
    if not isinstance(enabled, dict):
        return False
    return any(name.startswith(f"{NAME}@") and on is True for name, on in enabled.items())
