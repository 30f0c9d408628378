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


def in_use(screen: Screen[Any]) -> bool:
    """Whether this screen is one of those open; not while it, or the whole app, is taken down.

    What it is made of goes in any order then, and timers go on for a while.
    """
    return screen.is_attached and screen.app.is_running and screen in screen.app.screen_stack


def stands(screen: Screen[Any]) -> bool:
    """Whether this screen has its panes; not if the user left while it opened."""
    return in_use(screen) and bool(screen.query(LineView))


def in_front(screen: Screen[Any]) -> bool:
    """Whether this screen is the one to be dismissed now."""
    return in_use(screen) and screen.app.screen is screen


def nothing_to_close() -> AwaitComplete:
    """What dismissing a closed screen gives."""
    return AwaitComplete()
