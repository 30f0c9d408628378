"""The first picture: the program's name and what it waits for, until the rest is loaded."""

from __future__ import annotations

from textual.widget import Widget


class Splash(Widget):
    """One line where the header will stand."""

    def render(self) -> str:
        """The header's first words."""
        return " workers  ○ starting"
