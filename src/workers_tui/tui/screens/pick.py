"""Choosing one of many by search: tiers, themes, models. Escape leaves things as they were."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widgets import Input, Static

from workers_tui.engine.board import Key, Topic
from workers_tui.tui import safe
from workers_tui.tui.lines import LineView, Row, row
from workers_tui.tui.panes.frame import Frame
from workers_tui.tui.panes.tiers import price_of
from workers_tui.tui.screens.box import Box
from workers_tui.tui.screens.face import Face

if TYPE_CHECKING:
    from workers_tui.engine.calls.tiers import TierView
    from workers_tui.tui.shell import Shell


@dataclass(frozen=True, slots=True)
class Choice:
    """One thing to choose."""

    value: str
    row: Callable[[int], Row]
    """The row at a width."""
    said: str
    """What the search looks in."""
    note: str = ""
    """What choosing it would mean."""


class ChoiceList(LineView):
    """The choices that match."""

    SELECTS: ClassVar[bool] = True
    ALWAYS_SHOWS_CURSOR: ClassVar[bool] = True

    def __init__(self) -> None:
        super().__init__()
        self._choices: Sequence[Choice] = ()

    def show(self, choices: Sequence[Choice]) -> None:
        """Show these, or that there is none."""
        self._choices = choices
        width = self.row_width
        none = row((" Nothing matches.", "dim"))
        self.show_rows([choice.row(width) for choice in choices] or (none,))

    def on_resize(self) -> None:
        """Columns follow the width."""
        self.show(self._choices)
        super().on_resize()


class Picker(Box[str | None]):
    """A search above the choices."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "give_up", "back", show=False),
        Binding("down", "move(1)", "down", show=False, priority=True),
        Binding("up", "move(-1)", "up", show=False, priority=True),
        Binding("pagedown", "move(10)", "page down", show=False, priority=True),
        Binding("pageup", "move(-10)", "page up", show=False, priority=True),
        Binding("enter", "take", "choose", show=False, priority=True),
    ]

    def __init__(
        self,
        title: str,
        choices: Sequence[Choice],
        *,
        current: str | None = None,
        moved: Callable[[str], None] | None = None,
        as_typed: Callable[[str], str] | None = None,
    ) -> None:
        """`as_typed` allows a text that is no choice, and says what it would mean."""
        super().__init__()
        self._heading = title
        self._choices = list(choices)
        self._shown = self._choices
        self._current = current
        self._moved = moved
        self._as_typed = as_typed

    def compose(self) -> ComposeResult:
        """Title, search, choices, and a line about the choice."""
        search = Input(placeholder="type to search", compact=True)
        note = Static("", markup=False, id="note")
        yield Frame(self._heading, Vertical(search, ChoiceList(), note), id="picker")

    def opened(self) -> None:
        """Start at the present value."""
        self._show("")
        at = next((i for i, choice in enumerate(self._shown) if choice.value == self._current), 0)
        self.query_one(ChoiceList).move_cursor(at)
        self.query_one(Input).focus()
        self._tell()

    def offer(self, choices: Sequence[Choice]) -> None:
        """Show choices that came later."""
        self._choices = list(choices)
        self._show(self.query_one(Input).value)
        self._tell()

    def remark(self, text: str) -> None:
        """One line below the choices."""
        self.query_one("#note", Static).update(text)

    def on_input_changed(self, event: Input.Changed) -> None:
        """Search while typing."""
        self._show(event.value)
        self.query_one(ChoiceList).move_cursor(0)
        self._tell()

    @on(LineView.Moved)
    def _cursor_moved(self) -> None:
        self._tell()

    @on(LineView.Chosen)
    def _row_chosen(self) -> None:
        self.action_take()

    def _show(self, typed: str) -> None:
        terms = typed.lower().split()
        self._shown = [c for c in self._choices if all(term in c.said.lower() for term in terms)]
        self.query_one(ChoiceList).show(self._shown)

    def _choice(self) -> Choice | None:
        at = self.query_one(ChoiceList).cursor
        return self._shown[at] if at < len(self._shown) else None

    def _tell(self) -> None:
        choice, typed = self._choice(), self.query_one(Input).value.strip()
        if choice is not None:
            self.remark(choice.note)
            if self._moved is not None:
                self._moved(choice.value)
        elif self._as_typed is not None and typed:
            self.remark(self._as_typed(typed))
        else:
            self.remark("")

    def action_move(self, rows: int) -> None:
        """Move the cursor while the search keeps the focus."""
        listed = self.query_one(ChoiceList)
        listed.move_cursor(listed.cursor + rows)

    def action_take(self) -> None:
        """Choose."""
        choice, typed = self._choice(), self.query_one(Input).value.strip()
        if choice is not None:
            self.dismiss(choice.value)
        elif self._as_typed is not None and typed:
            self.dismiss(typed)

    def action_give_up(self) -> None:
        """Leave things as they were."""
        self.dismiss(None)


async def choose_tier(face: Face, title: str) -> str | None:
    """One of the tiers; to be awaited in a worker."""
    board = face.board
    views = [board.get(Key(Topic.TIER, name)) for name in board.names(Topic.TIER)] if board else []
    choices = [
        Choice(
            view.name,
            partial(_tier_row, view),
            f"{view.name} {view.model} {view.use}",
            safe.one_line(view.use),
        )
        for view in views
    ]
    return await face.app.push_screen_wait(Picker(title, choices))


def _tier_row(view: TierView, width: int) -> Row:
    name, price = 10, 13
    return row(
        (safe.fit(" " + safe.one_line(view.name), name), "strong"),
        (safe.fit(safe.one_line(view.model), max(8, width - name - price - 1)), ""),
        (safe.fit_right(price_of(view), price) + " ", "dim"),
    )


def _name_row(name: str, width: int) -> Row:
    return row((safe.fit(f" {name}", width), ""))


def pick_theme(app: Shell) -> None:
    """Choose a theme, seen while moving; the choice is remembered."""
    before = app.theme
    choices = [
        Choice(name, partial(_name_row, name), name, "light" if not theme.dark else "dark")
        for name, theme in sorted(app.available_themes.items())
    ]

    def show(name: str) -> None:
        app.theme = name

    def settle(name: str | None) -> None:
        app.theme = name or before
        if name is not None:
            app.memory.remember(theme=name)

    app.push_screen(Picker("Theme", choices, current=before, moved=show), settle)
