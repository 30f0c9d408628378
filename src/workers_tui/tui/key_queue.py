"""Keys in the order they were typed, one at a time.

A key waits until the one before it has been dealt with, and until the prompt,
question or screen which that one opens can take it: what is typed ahead lands
where it was meant. Nothing waits for long; a keyboard must never seem dead.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any, Protocol, cast

from textual.app import App
from textual.dom import DOMNode
from textual.events import Key, Paste
from textual.message import Message
from textual.screen import Screen

LOOK_EVERY = 0.01
"""Seconds between two looks whether what is awaited is there."""

PATIENCE = 0.5
"""Seconds after which a key that was never heard of again holds up no other."""

OPENS_WITHIN = 3.0
"""Seconds that keys wait for what a key opens; a prompt may need the output of a job first."""

MOST = 200
"""Keys that are held for panes and lists; more at once is noise, and nobody waits for its end."""

Typed = Key | Paste


class Passed(Message):
    """Follows a key through the same queues: whoever gets it has dealt with the key."""


class Queued(Protocol):
    """An app whose keys wait their turn."""

    keys: KeyQueue


class KeyQueue:
    """What was typed and not yet handed on."""

    def __init__(self, app: App[Any], deliver: Callable[[Typed], Awaitable[None]]) -> None:
        self._app = app
        self._deliver = deliver
        self._held: deque[Typed] = deque()
        self._busy = False
        self._waits_since = 0.0
        """When the key under way was handed on, or looking began."""
        self._watched = False
        self._opening = 0
        """Which deed is about to ask for something; 0 for none."""
        self._deeds = 0
        self._open: Screen[Any] | None = None
        """A screen that was seen to take keys."""

    async def take(self, typed: Typed) -> None:
        """Hand this on in its turn."""
        if len(self._held) >= MOST and not self._opening and not self._takes_text():
            return
        self._held.append(typed)
        if not self._busy:
            self._busy = True
            self._waits_since = time.monotonic()
            await self.go_on()
        else:
            self._watch()

    async def go_on(self) -> None:
        """The key under way has been dealt with: the next one."""
        while self._held and self._app.is_running:  # without a screen, once the end has begun
            if not self._ready():
                self._app.set_timer(LOOK_EVERY, self.go_on)
                return
            typed = self._held.popleft()
            target = self._app.focused or self._app.screen
            await self._deliver(typed)
            self._waits_since = time.monotonic()
            if target.post_message(Passed()):
                return
        self._busy = False

    async def comes_back(self, key: Key) -> bool:
        """Whether a key that no widget used was overtaken by a new screen; then it waits for it.

        Its action would be looked for on a screen that may have nothing on it yet.
        """
        if not self._app.is_running or self._app.screen is self._open:
            return False
        self._held.appendleft(Key(key.key, key.character))
        if self._busy:
            self._watch()
        else:
            self._busy = True
            await self.go_on()
        return True

    def begin(self) -> int:
        """A deed begins that will ask for something; keys wait until it does."""
        self._deeds += 1
        self._opening = self._deeds
        return self._deeds

    def end(self, deed: int) -> None:
        """A deed is over; what was typed for a prompt that never came is no key."""
        if self._opening == deed:
            self._opening = 0
            self.drop_text()

    def drop_text(self) -> None:
        """What takes text has got it all: letters that follow at once are no keys.

        A letter taken for a key could run a job again, which costs money.
        """
        while self._held and _is_text(self._held[0]):
            self._held.popleft()

    def _ready(self) -> bool:
        waited = time.monotonic() - self._waits_since
        if self._opening and not self._takes_text() and waited < OPENS_WITHIN:
            return False
        self._opening = 0
        screen = self._app.screen
        if screen is not self._open:
            if not _is_open(screen) and waited < OPENS_WITHIN:
                return False
            self._open = screen
        return True

    def _takes_text(self) -> bool:
        focused = self._app.focused
        return focused is not None and focused.check_consume_key("a", "a")

    def _watch(self) -> None:
        """A key can be lost with the widget that should have passed it on: look after a while."""
        if not self._watched:
            self._watched = True
            self._app.set_timer(PATIENCE, self._look_after)

    async def _look_after(self) -> None:
        self._watched = False
        if self._busy and self._held:
            if self._opening or time.monotonic() - self._waits_since < PATIENCE:
                self._watch()
            else:
                await self.go_on()


def keys_of(node: DOMNode) -> KeyQueue:
    """The keys of the app that this is a part of."""
    return cast("Queued", node.app).keys


def drop_text(node: DOMNode) -> None:
    """Letters typed ahead of an answer are dropped."""
    keys_of(node).drop_text()


def _is_open(screen: Screen[Any]) -> bool:
    return screen.is_mounted and (screen.focused is not None or not screen.focus_chain)


def _is_text(typed: Typed) -> bool:
    return isinstance(typed, Paste) or typed.is_printable
