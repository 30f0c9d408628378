"""Moving by key: goes to the pane that has the focus, else to the screen's main one."""

from __future__ import annotations

from workers_tui.tui.keymap import MOVE_BINDINGS
from workers_tui.tui.lines import LineView
from workers_tui.tui.screens.face import Face


class Moves(Face):
    """A face with panes that move."""

    BINDINGS = MOVE_BINDINGS

    def main_pane(self) -> LineView:
        """Where keys go while nothing has the focus."""
        return self.query(LineView).first()

    def moving(self) -> LineView:
        """The pane that keys move in."""
        return self.focused if isinstance(self.focused, LineView) else self.main_pane()

    def action_up(self) -> None:
        """Move up."""
        self.moving().action_up()

    def action_down(self) -> None:
        """Move down."""
        self.moving().action_down()

    def action_page(self, direction: int) -> None:
        """Move by a page."""
        self.moving().action_page(direction)

    def action_first(self) -> None:
        """Move to the first row."""
        self.moving().action_first()

    def action_last(self) -> None:
        """Move to the last row."""
        self.moving().action_last()
