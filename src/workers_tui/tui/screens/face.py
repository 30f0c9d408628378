"""What every screen that shows the board has in common: header, footer, words, questions."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from datetime import UTC, datetime
from typing import TYPE_CHECKING, cast

from textual.app import ComposeResult
from textual.await_complete import AwaitComplete

from workers_tui.engine.board import Board, Key, Topic
from workers_tui.home.assets import asset
from workers_tui.tui.panes.editor import CellEditor
from workers_tui.tui.panes.footer import Footer
from workers_tui.tui.panes.header import Header, Pulse
from workers_tui.tui.panes.hints import Hint
from workers_tui.tui.screens.breakpoints import fit
from workers_tui.tui.screens.last_line import LastLine
from workers_tui.tui.screens.once import in_front, nothing_to_close, stands

if TYPE_CHECKING:
    from workers_tui.engine.engine import Engine
    from workers_tui.tui.shell import Shell

WIDE = 120
"""Columns from which there are two panes beside each other."""

CLIENT = "dashboard"
"""The client whose jobs are those from here."""

LAST_HINTS = ("help", "leave")

EDIT_HINTS: tuple[Hint, ...] = (("enter", "save", ""), ("esc", "back", ""))


def stylesheets() -> list[str]:
    """Every style file but the first picture's, the shared one first."""
    folder = asset("styles")
    return [str(folder / "app.tcss"), *sorted(map(str, folder.glob("*/*.tcss")))]


class Face(LastLine):
    """A screen with a header and a footer that is kept up to date from the board."""

    CSS_PATH = stylesheets()  # type: ignore[assignment]

    HORIZONTAL_BREAKPOINTS = [  # noqa: RUF012 - Textual's own way
        (0, "-tiny"),
        (70, "-narrow"),
        (WIDE, "-wide"),
    ]
    VERTICAL_BREAKPOINTS = [  # noqa: RUF012 - Textual's own way
        (0, "-low"),
        (18, "-flat"),
        (28, "-tall"),
    ]

    def __init__(self) -> None:
        super().__init__()
        self._hidden: AbstractSet[str] | None = None

    def on_compose(self) -> None:
        """Before the panes: they are laid out for this size at once."""
        fit(self)

    def compose(self) -> ComposeResult:
        """Header, what the screen is about, footer."""
        yield Header()
        yield from self.body()
        yield Footer()

    def body(self) -> ComposeResult:
        """What the screen is about."""
        raise NotImplementedError

    def show(self, keys: AbstractSet[Key]) -> None:
        """Show the newest values of these keys."""
        raise NotImplementedError

    def opened(self) -> None:
        """Its panes stand: give one the focus, ask for what is not on the board."""

    def rows_moved(self) -> None:
        """The order of the jobs changed without a new value."""

    def tick(self) -> None:
        """A second passed."""

    @property
    def dashboard(self) -> Shell:
        """The app, by its own type."""
        return cast("Shell", self.app)

    @property
    def engine(self) -> Engine | None:
        """The engine, once it runs."""
        return self.dashboard.engine

    @property
    def board(self) -> Board | None:
        """The engine's board, once it runs."""
        return self.engine.board if self.engine is not None else None

    @property
    def now(self) -> datetime:
        """The engine's present moment."""
        return self.engine.clock.now() if self.engine is not None else datetime.now(UTC)

    @property
    def narrow(self) -> bool:
        """Whether there is one column only."""
        return self.app.size.width < WIDE

    def on_mount(self) -> None:
        """Show what is known, and the keys."""
        if not stands(self):
            return
        self.opened()
        self.bindings_updated_signal.subscribe(self, lambda _: self.show_hints())
        self._opened = True
        self.show_all()
        self.dashboard.pulse()

    def on_screen_resume(self) -> None:
        """Changes were missed while another screen was in front."""
        if self.ready:
            self.show_all()
            self.show_hints()
            self.tell_on()

    def on_screen_suspend(self) -> None:
        """What was said here is old news when this screen comes back."""
        if self.ready:
            self.hush()

    def show_all(self) -> None:
        """Show everything the board has."""
        board = self.board
        keys = {Key(topic, name) for topic in Topic for name in board.names(topic)} if board else ()
        self.show(frozenset(keys))
        spend = board.get(Key(Topic.SPEND)) if board else None
        if spend is not None:
            self.query_one(Header).show_spend(spend)

    def show_pulse(self, pulse: Pulse) -> None:
        """Show how the program itself does."""
        self.query_one(Header).show_pulse(pulse)

    def show_spend(self, keys: AbstractSet[Key]) -> None:
        """Show the cap bar when the money moved."""
        if self.board is not None and Key(Topic.SPEND) in keys:
            self.query_one(Header).show_spend(self.board.get(Key(Topic.SPEND)))

    def hidden_hints(self) -> AbstractSet[str]:
        """Actions that would do nothing now: the footer leaves them out."""
        return frozenset()

    def update_hints(self) -> None:
        """Show the keys anew if others do something now; cheap when they are the same."""
        if self.hidden_hints() != self._hidden:
            self.show_hints()

    def show_hints(self) -> None:
        """Show the keys that do something now."""
        if not self.ready:
            return
        hidden = self._hidden = self.hidden_hints()
        hints: dict[str, Hint] = {}
        order = [getattr(binding, "id", None) for binding in self.BINDINGS]
        for active in self.active_bindings.values():
            binding = active.binding
            if binding.show and binding.id and binding.id not in hidden and active.enabled:
                key = self.app.get_key_display(binding)
                click = _click(binding.action, "app" if active.node is self.app else "screen")
                hints.setdefault(binding.id, (key, binding.description, click))
        if self.query(CellEditor):
            leave = (hints["leave"],) if "leave" in hints else ()
            self.query_one(Footer).hints.show_hints((*EDIT_HINTS, *leave))
            return
        ranked = sorted(
            hints, key=lambda name: (name in LAST_HINTS, order.index(name) if name in order else 99)
        )
        self.query_one(Footer).hints.show_hints(tuple(hints[name] for name in ranked))

    def action_back(self) -> None:
        """Leave this screen."""
        if len(self.app.screen_stack) > 2:
            self.dismiss(None)

    def dismiss(self, result: None = None) -> AwaitComplete:
        """Close once."""
        return super().dismiss(result) if in_front(self) else nothing_to_close()


def _click(action: str, owner: str) -> str:
    return action if action.startswith("app.") else f"{owner}.{action}"
