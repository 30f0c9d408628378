"""`workers-tui mcp`: what Claude Code starts. Standard library only."""

from __future__ import annotations

TYPE_CHECKING = False  # typing and its like cost 4 ms
if TYPE_CHECKING:
    from collections.abc import Mapping


def main(options: Mapping[str, str]) -> int:
    """Forward between stdin, stdout and whoever serves, until the client leaves."""
    # Late, because the server imports this package's names without running it.
    from workers_tui.forwarder.bridge import run

    return run(options)
