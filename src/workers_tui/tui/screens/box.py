"""What lies over a screen until it is answered: help, pickers."""

from __future__ import annotations

from typing import TypeVar

from textual.await_complete import AwaitComplete
from textual.screen import ModalScreen

from workers_tui.tui.key_queue import drop_text
from workers_tui.tui.screens.breakpoints import fit
from workers_tui.tui.screens.once import in_front, nothing_to_close, stands

Answer = TypeVar("Answer")


class Box(ModalScreen[Answer]):
    """A box in the middle; on a small screen it takes the whole width, or everything."""

    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-wide")]  # noqa: RUF012 - Textual's own way
    VERTICAL_BREAKPOINTS = [(0, "-low"), (28, "-tall")]  # noqa: RUF012 - Textual's own way

    def on_compose(self) -> None:
        """Before what is in it: it is laid out for this size at once."""
        fit(self)

    def on_mount(self) -> None:
        """Fill it."""
        if stands(self):
            self.opened()

    def opened(self) -> None:
        """What is in it stands: fill it and give it the focus."""
        raise NotImplementedError

    def dismiss(self, result: Answer | None = None) -> AwaitComplete:
        """Close once."""
        drop_text(self)
        return super().dismiss(result) if in_front(self) else nothing_to_close()
