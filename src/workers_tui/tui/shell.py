"""What screens may know of the app they are part of; `app.py` is the one that does it.

Whoever needs the app takes a `Shell`, so that nothing below the app imports it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.app import App

if TYPE_CHECKING:
    from pathlib import Path

    from workers_tui.engine.engine import Engine
    from workers_tui.home.places import Home
    from workers_tui.tui.job_table import JobTable
    from workers_tui.tui.memory import Memory
    from workers_tui.tui.ports import OwnTerminal
    from workers_tui.tui.undo import Undo


class Shell(App[int], inherit_bindings=False):
    """An app with an engine."""

    home: Home
    demo: bool
    folder: Path
    """Where the dashboard was started: calls made in it read from here."""
    memory: Memory
    undo: Undo
    engine: Engine | None
    """None until it runs, and after the end."""
    terminal: OwnTerminal | None
    """None where Textual's own driver runs it."""
    awaited: str
    """What the start waits for."""
    trouble: str
    """Why the engine could not start."""

    @property
    def jobs(self) -> JobTable | None:
        """All jobs in the screen's order, once the board is looked at."""
        raise NotImplementedError

    def begin(self) -> object:
        """Start the engine, or try it again."""
        raise NotImplementedError

    def pulse(self) -> None:
        """Refresh what tells how the program itself does."""
        raise NotImplementedError

    def tell(self, text: str, severity: str = "information") -> None:
        """What the user did not just do, in the last line."""
        raise NotImplementedError

    def hung_up(self) -> None:
        """The terminal is gone. May be called from any thread."""
        raise NotImplementedError

    def action_redraw(self) -> None:
        """Draw everything again."""
        raise NotImplementedError
