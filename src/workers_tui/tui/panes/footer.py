"""The last line: the keys that do something now, or a question, or an input.

A question is asked here, not in a box; y and n answer it, anything else that
moves the focus away means no. Every hint can be clicked.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import ClassVar

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets import Input, Static

from workers_tui.tui import safe
from workers_tui.tui.ink import ink
from workers_tui.tui.key_queue import drop_text
from workers_tui.tui.panes.one_line import OneLine

Hint = tuple[str, str, str]
"""A key as it is written, its label, and the action a click runs; empty for none."""

MOST_LINES = 3
"""Lines that a message may take."""

Check = Callable[[str], str]
"""What to tell beside an input about the text so far; a text from `!` on refuses it."""


class Hints(OneLine, can_focus=False):
    """Keys and what they do, as many as fit."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        f"hints--{name}" for name in ("key", "label", "message", "warn", "bad")
    }

    def __init__(self) -> None:
        super().__init__()
        self._hints: tuple[Hint, ...] = ()
        self._message = ""
        self._style = "message"

    def show_hints(self, hints: tuple[Hint, ...]) -> None:
        """Show these keys; the last two always keep their place."""
        if hints != self._hints:
            self._hints = hints
            self.refresh()

    def show_message(self, message: str, style: str) -> None:
        """Show this instead of the keys; an empty one brings them back."""
        if (message, style) != (self._message, self._style):
            self._message, self._style = message, style
            self.refresh()

    def lines_at(self, width: int) -> list[str]:
        """The message as lines at a width; one that is cut all the same says so."""
        lines = safe.wrap(self._message, max(1, width - 1))
        if len(lines) > MOST_LINES:
            rest = " ".join(lines[MOST_LINES - 1 :])
            lines[MOST_LINES - 1 :] = [safe.fit(rest, width - 1)]
        return lines

    def render_line(self, y: int) -> Strip:
        """A long message takes more lines than one."""
        lines = self.lines_at(self.size.width) if y and self._message else []
        if y >= len(lines):
            return super().render_line(y)
        style = self.rich_style + ink(self, f"hints--{self._style}")
        return Strip([Segment(" " + lines[y], style)]).adjust_cell_length(
            self.size.width, self.rich_style
        )

    @property
    def text(self) -> str:
        """What the line says."""
        return self._message or "   ".join(f"{key} {label}" for key, label, _ in self._hints)

    def line(self) -> Strip:
        """The message, or the keys that fit."""
        width = self.size.width
        base = self.rich_style
        if self._message:
            style = base + ink(self, f"hints--{self._style}")
            return Strip([Segment(" " + self.lines_at(width)[0], style)])
        key_style = base + ink(self, "hints--key")
        label_style = base + ink(self, "hints--label")
        segments = [Segment(" ", base)]
        for key, label, action in self._fitting(width - 1):
            click = Style.from_meta({"@click": action}) if action else Style.null()
            segments += [
                Segment(key, key_style + click),
                Segment(f" {label}", label_style + click),
                Segment("   ", base),
            ]
        return Strip(segments)

    def _fitting(self, width: int) -> list[Hint]:
        always = self._hints[-2:]
        room = width - sum(map(_hint_width, always))
        fitting: list[Hint] = []
        for hint in self._hints[:-2]:
            if _hint_width(hint) > room:
                break
            fitting.append(hint)
            room -= _hint_width(hint)
        return [*fitting, *always]


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


class Footer(Widget):
    """Hints, a question or a prompt in one line."""

    def __init__(self) -> None:
        super().__init__(id="footer")

    def compose(self) -> ComposeResult:
        """All three; a class says which one shows."""
        yield Hints()
        yield Question()
        yield Prompt()

    @property
    def hints(self) -> Hints:
        """The keys."""
        return self.query_one(Hints)

    def show_message(self, message: str, style: str = "message") -> None:
        """Show a message instead of the keys, on as many lines as it needs."""
        self.hints.show_message(message, style)
        self._make_room()

    def on_resize(self) -> None:
        """A message may need another number of lines."""
        self._make_room()

    def _make_room(self) -> None:
        lines = len(self.hints.lines_at(self.size.width))
        self.set_class(lines == 2, "-two")
        self.set_class(lines > 2, "-three")

    @property
    def busy(self) -> bool:
        """Whether something is being asked."""
        return self.has_class("-asks") or self.has_class("-prompts")

    async def ask(self, question: str) -> bool:
        """Ask for y or n; the focus comes back afterwards."""
        if self.busy:
            return False
        asked = self.query_one(Question)
        asked.update(f" {question} y/n")
        asked.answer = asyncio.get_running_loop().create_future()
        before = self.screen.focused
        self.add_class("-asks")
        asked.focus()
        try:
            return await asked.answer
        finally:
            self.remove_class("-asks")
            self._give_back(before)

    async def prompt(
        self,
        label: str,
        value: str = "",
        *,
        check: Check | None = None,
        changed: Callable[[str], None] | None = None,
        hidden: bool = False,
        live: bool = False,
    ) -> str | None:
        """Ask for a line of text; None when the user gave up.

        `live`: it acts while it is typed, so what follows the enter are keys.
        """
        if self.busy:
            return None
        prompt = self.query_one(Prompt)
        shown = f" {label} "
        name = prompt.query_one("#prompt-label", Static)
        name.update(shown)
        name.styles.width = cell_len(shown)
        entry = prompt.query_one(Input)
        prompt.check, prompt.changed, prompt.live = check, None, live
        entry.password = hidden
        entry.value = value
        entry.cursor_position = len(value)
        remark = check(value) if check else ""
        prompt.query_one("#prompt-remark", Static).update(remark.removeprefix("!"))
        prompt.changed = changed
        prompt.answer = asyncio.get_running_loop().create_future()
        before = self.screen.focused
        self.add_class("-prompts")
        entry.focus()
        try:
            return await prompt.answer
        finally:
            prompt.check = prompt.changed = None
            self.remove_class("-prompts")
            entry.value = ""
            self._give_back(before)

    def _give_back(self, before: Widget | None) -> None:
        if before is not None and before.is_attached and self.is_attached:
            before.focus(scroll_visible=False)


def _hint_width(hint: Hint) -> int:
    key, label, _ = hint
    return cell_len(key) + cell_len(label) + 4
