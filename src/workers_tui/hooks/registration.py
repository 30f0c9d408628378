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
PLUGIN_SERVER = "plugin:workers:workers"
OWN_PREFIX = "mcp__workers__"


def tool_prefix(cwd: str, environ: Mapping[str, str]) -> str:
    """How our tools are called in this session; empty when no server is registered."""
    project = environ.get("CLAUDE_PROJECT_DIR") or cwd
    own = read(_claude_json(environ))
    here = ("projects", main_checkout(project))
    off = member(own, (*here, "disabledMcpServers"))
    off = off if isinstance(off, list) else []
    if environ.get("CLAUDE_PLUGIN_ROOT"):
        return "" if PLUGIN_SERVER in off else PLUGIN_PREFIX
    found = (
        _has_server(member(own, ("mcpServers",)))
        or _has_server(member(own, (*here, "mcpServers")))
        or _shared_server(project)
    )
    if found and NAME not in off:
        return OWN_PREFIX
    return PLUGIN_PREFIX if PLUGIN_SERVER not in off and _has_plugin(environ) else ""


def _shared_server(project: str) -> bool:
    """In the project's .mcp.json, and not rejected by this user."""
    if not _has_server(load(os.path.join(project, ".mcp.json")).get("mcpServers")):
        return False
    local = load(os.path.join(project, ".claude", "settings.local.json"))
    rejected = local.get("disabledMcpjsonServers")
    return not (isinstance(rejected, list) and NAME in rejected)


def _config_dir(environ: Mapping[str, str]) -> str:
    """Of several directories the first; nothing when none is named."""
    return environ.get("CLAUDE_CONFIG_DIR", "").split(",")[0].strip()


def _claude_json(environ: Mapping[str, str]) -> str:
    return os.path.join(_config_dir(environ) or os.path.expanduser("~"), ".claude.json")


def _has_server(servers: object) -> bool:
    if not isinstance(servers, dict):
        return False
    return NAME in servers or any("workers-tui" in str(server) for server in servers.values())


def _has_plugin(environ: Mapping[str, str]) -> bool:
    base = _config_dir(environ) or os.path.join(os.path.expanduser("~"), ".claude")
    enabled = load(os.path.join(base, "settings.json")).get("enabledPlugins")
    if not isinstance(enabled, dict):
        return False
    return any(name.startswith(f"{NAME}@") and on is True for name, on in enabled.items())
