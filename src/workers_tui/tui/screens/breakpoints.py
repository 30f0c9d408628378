"""The classes of a screen's size, set before its panes are laid out for the first time.

Textual sets them once it has painted: every small screen would flash as a wide one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from textual.screen import Screen


def fit(screen: Screen[Any]) -> None:
    """Give a screen that is about to open the classes that its size will give it."""
    width, height = screen.app.size
    for points, cells in (
        (screen.HORIZONTAL_BREAKPOINTS, width),
        (screen.VERTICAL_BREAKPOINTS, height),
    ):
        screen.add_class(*_at(points or (), cells))


def _at(points: Sequence[tuple[int, str]], cells: int) -> Sequence[str]:
    """The class of the last of the breakpoints that is reached."""
    return [name for start, name in sorted(points) if cells >= start][-1:]
