"""What the last line asks: a question for y or n, or a line of text.

Anything else that moves the focus away means no.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.widgets import Input, Static

from workers_tui.tui.key_queue import drop_text

Check = Callable[[str], str]
"""What to tell beside an input about the text so far; a text from `!` on refuses it."""


class Question(Static, can_focus=True):
    """A yes-or-no question; it has the focus until it is answered."""

    def __init__(self) -> None:
        super().__init__("", markup=False)
        self.answer: asyncio.Future[bool] | None = None

    def on_key(self, event: events.Key) -> None:
        """y and enter-less n; every other key waits."""
        event.stop()
        event.prevent_default()
        if event.key in {"y", "Y"}:
            self._settle(yes=True)
        elif event.key in {"n", "N", "escape", "ctrl+c", "q"}:
            self._settle(yes=False)

    def check_consume_key(self, key: str, character: str | None) -> bool:  # noqa: ARG002 - Textual's signature
        """It takes every key."""
        return True

    def on_blur(self) -> None:
        """The user went elsewhere: that is no."""
        self._settle(yes=False)

    def ask_anew(self, question: str) -> None:
        """What is asked about has changed; an empty question has become idle: that is no."""
        if question:
            self.update(f" {question} y/n")
        else:
            self._settle(yes=False)

    def _settle(self, *, yes: bool) -> None:
        if self.answer is not None and not self.answer.done():
            self.answer.set_result(yes)
            drop_text(self)


class Prompt(Horizontal):
    """A label, an input, and what there is to say about what is typed."""

    def __init__(self) -> None:
        super().__init__()
        self.answer: asyncio.Future[str | None] | None = None
        self.check: Check | None = None
        self.changed: Callable[[str], None] | None = None
        self.live = False

    def compose(self) -> ComposeResult:
        """Label, input, remark, in one line."""
        yield Static("", markup=False, id="prompt-label")
        yield Input(compact=True, id="prompt-input", select_on_focus=False)
        yield Static("", markup=False, id="prompt-remark")

    def on_input_changed(self, event: Input.Changed) -> None:
        """Tell about the text so far."""
        event.stop()
        if self.answer is None or self.answer.done():
            return  # typed after enter
        remark = self.check(event.value) if self.check else ""
        self.query_one("#prompt-remark", Static).update(remark.removeprefix("!"))
        self.set_class(remark.startswith("!"), "-wrong")
        if self.changed is not None:
            self.changed(event.value)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Take the text unless it is refused."""
        event.stop()
        if not (self.check and self.check(event.value).startswith("!")):
            self._settle(event.value)

    def on_key(self, event: events.Key) -> None:
        """Escape gives up."""
        if event.key == "escape":
            event.stop()
            self._settle(None)

    def on_descendant_blur(self) -> None:
        """The user went elsewhere: that gives up, too."""
        self._settle(None)

    def _settle(self, value: str | None) -> None:
        if self.answer is not None and not self.answer.done():
            self.answer.set_result(value)
            if not self.live:
                drop_text(self)
            self.screen.set_focus(None)  # what is typed next is no text; the screen swallows it
