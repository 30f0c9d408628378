"""A screen that opens once it stands, and closes once.

One that is taken away while it opens is told that it was mounted, and has no
panes. And a key pressed twice quickly must not take the screen below with it:
Textual's `dismiss` takes away whatever is in front, also when it is called by
a screen that has closed before.
"""

from __future__ import annotations

from typing import Any

from textual.await_complete import AwaitComplete
from textual.screen import Screen

from workers_tui.tui.lines import LineView


def stands(screen: Screen[Any]) -> bool:
    """Whether this screen has its panes; not if the user left while it opened."""
    in_use = screen.is_attached and screen in screen.app.screen_stack
    return in_use and bool(screen.query(LineView))


def in_front(screen: Screen[Any]) -> bool:
    """Whether this screen is the one to be dismissed now."""
    return screen.is_attached and screen.app.screen is screen


def nothing_to_close() -> AwaitComplete:
    """What dismissing a closed screen gives."""
    return AwaitComplete()
