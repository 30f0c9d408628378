"""Registering with Claude Code from the screen: what would change in words, then the deed.

Does what `workers-tui connect` does for this user, with every part. Blocking:
called in a thread.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from workers_tui.home.claude_places import Scope, find_claude
from workers_tui.home.claude_settings import own_program, server_entry
from workers_tui.home.connection import apply
from workers_tui.home.connection_plan import Change, Plan, Wanted, plan_connect
from workers_tui.home.places import Home


def plan(folder: Path, environ: Mapping[str, str]) -> Plan:
    """What registering would change. Raises Unusable; reads only."""
    wanted = Wanted(server_entry(own_program(), environ))
    return plan_connect(Scope.USER, folder, wanted, environ)


def carry_out(planned: Plan, home: Home, environ: Mapping[str, str]) -> None:
    """Do it. Raises Unusable."""
    apply(planned, home, find_claude(environ), environ)


def in_words(planned: Plan) -> list[str]:
    """The changes, a line each; none when everything is as it should be."""
    said = []
    if planned.server.needed:
        said.append("register the MCP server `workers` for you, in every project")
    said += [f"{_verb(one)} {one.path}: {one.title}" for one in planned.files if one.needed]
    return [*said, *planned.notes] if said else []


def _verb(change: Change) -> str:
    return "create" if change.before is None else "change"
