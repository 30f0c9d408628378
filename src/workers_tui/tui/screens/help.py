"""Every key, every mark and every number's meaning, made from the same tables the program uses."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from workers_tui.tui import marks, words
from workers_tui.tui.keymap import DEEDS, GROUPS, MOVE_BINDINGS, MOVES, read_keymap
from workers_tui.tui.lines import Row, row
from workers_tui.tui.panes.frame import Frame
from workers_tui.tui.panes.prose import Prose
from workers_tui.tui.screens.box import Box

KEYS = 16

NUMBERS = (
    ("840 1.2k 3.4M", "counts, of tokens mostly"),
    ("$1.07 .0004", "dollars; below a cent four digits"),
    ("~", "estimated here, not yet confirmed by the provider"),
    ("…", "pending: the provider will be asked"),
    ("?", "unknown; it counts against the cap as its estimate"),
    (words.NOTHING, "nothing yet"),
    (".11 / .21", "price of a million tokens in and out, in dollars"),
)

SHOWN = {
    "slash": "/",
    "question_mark": "?",
    "escape": "esc",
    "pageup": "page up",
    "pagedown": "page down",
}


class HelpText(Prose):
    """The help, scrolled like every list."""

    BINDINGS: ClassVar[list[BindingType]] = [*MOVE_BINDINGS]


class HelpScreen(Box[None]):
    """Help over whatever is in front."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,question_mark,f1,q,enter", "close", "close", show=False)
    ]

    def compose(self) -> ComposeResult:
        """One scrolled list."""
        yield Frame("Help", HelpText(), id="help")

    def opened(self) -> None:
        """Show it."""
        chosen, _ = read_keymap(self.app.home)  # type: ignore[attr-defined]
        self.query_one("#help", Frame).tell(note=[("esc", "key"), " closes"])
        text = self.query_one(HelpText)
        text.say(rows_of(chosen))
        text.focus()

    def action_close(self) -> None:
        """Back to work."""
        self.dismiss(None)


def rows_of(chosen: dict[str, str]) -> list[Row]:
    """The whole help; `chosen` are the user's own keys by action."""
    rows: list[Row] = []
    for group, deeds in GROUPS.items():
        rows += [row((f" {group}", "strong"))]
        rows += [
            _pair(key_names(chosen.get(name, deed.keys)), deed.help) for name, deed in deeds.items()
        ]
        rows.append(row())
    rows += [
        row((" Moving", "strong")),
        *(_pair(key_names(chosen.get(name, move.keys)), move.help) for name, move in MOVES.items()),
        row(),
    ]
    rows += [row((" Marks of jobs", "strong")), *_marks(), row()]
    rows += [row((" Numbers", "strong")), *(_pair(sign, text) for sign, text in NUMBERS), row()]
    rows += [
        row((" Filters", "strong")),
        _pair("state:failed", "a state; also tier: worker: model: project: session: kind: id:"),
        _pair("disk full", "jobs that hold both words; fields and words join"),
        row(),
        row((" Other keys", "strong")),
        row(" A file keymap.json beside models.json gives actions other keys:"),
        row((' {"cancel": "delete,c"}', "key")),
        row(" The actions by their names:"),
        row((" " + " ".join(sorted({*DEEDS, *MOVES})), "dim")),
    ]
    return rows


def key_names(keys: str) -> str:
    """Keys as one writes them: `c, delete`."""
    return ", ".join(SHOWN.get(key, key) for key in keys.split(","))


def _marks() -> list[Row]:
    every = (
        marks.QUEUED, marks.HELD, marks.RUNNING, marks.ASKING, marks.RETRY, marks.DONE,
        marks.FAILED, marks.CANCELLED, marks.LOST,
    )  # fmt: skip
    return [row((f" {mark.symbol:<{KEYS}}", mark.style), (_marked(mark), "")) for mark in every]


def _marked(mark: marks.Mark) -> str:
    return "cancelled or refused" if mark is marks.CANCELLED else mark.word


def _pair(name: str, text: str) -> Row:
    return row((f" {name:<{KEYS - 2}}  ", "key"), (text, ""))
