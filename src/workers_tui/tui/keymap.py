"""Every key of the dashboard as data: what it does, its name in the footer, its help.

Screens pick their bindings from this table by action, so a key means the same
everywhere, and help, palette and footer are made from it. `keymap.json` in the
home gives actions other keys: `{"cancel": "delete,c"}`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from textual.binding import Binding, BindingType

from workers_tui.home.files import read_json
from workers_tui.home.places import Home


@dataclass(frozen=True, slots=True)
class Deed:
    """Something a key does."""

    keys: str
    """Keys by Textual's names, separated by commas."""
    label: str
    """One or two words for the footer; empty keeps it out."""
    help: str
    """One sentence for the help and the palette."""
    action: str = ""
    """Textual's action when it is not the deed's own name."""
    shown_as: str | None = None
    """How the key is written, when its name reads badly."""


GROUPS: dict[str, dict[str, Deed]] = {
    "Jobs": {
        "open": Deed("enter", "detail", "Open what the cursor is on.", shown_as="enter"),
        "cancel": Deed("c,delete", "cancel", "Cancel the selected job."),
        "cancel_all": Deed("C", "", "Cancel every job that has not ended; asks first."),
        "accept": Deed("a", "accept", "Accept what a job asks: it goes on."),
        "reject": Deed("x", "reject", "Reject what a job asks: nothing is sent."),
        "rerun": Deed("r", "run again", "Run the selected job again, on the same tier."),
        "rerun_on": Deed("R", "", "Run the selected job again on another tier."),
        "follow_up": Deed("f", "follow up", "Give an agent that has ended its next task."),
        "filter": Deed("slash", "filter", "Filter the list.", shown_as="/"),
        "history": Deed("h", "history", "All jobs of all days, searched in the store."),
        "pause": Deed("p", "pause", "Pause or resume the queue and paused providers."),
        "ask": Deed("n", "", "Give a worker a task from here."),
    },
    "Output": {
        "pager": Deed("o", "pager", "Open the whole output in $PAGER."),
        "copy": Deed("y", "copy", "Copy the output to the clipboard."),
        "save": Deed("w", "save", "Save the output to a file."),
        "steps": Deed("s", "steps", "An agent: change between its output and its steps."),
        "follow": Deed("F", "", "Follow the newest line, or stay where you are."),
    },
    "Tiers, cap and settings": {
        "edit": Deed("e", "edit tier", "Choose another model for the selected tier."),
        "try_tier": Deed("t", "test", "Send one short call to the selected tier."),
        "cap": Deed("b", "cap", "Raise or lower today's cap in place."),
        "undo": Deed("u", "", "Undo the last change of the settings."),
        "themes": Deed("T", "", "Choose a theme; it is remembered."),
        "type_key": Deed("k", "type a key", "First steps: type a provider's key."),
        "try_tiers": Deed("t", "try tiers", "First steps: send one short call to each tier."),
        "add_server": Deed("l", "add local", "First steps: add the model server found here."),
        "connect": Deed("m", "connect", "First steps: register with Claude Code; asks first."),
        "first_steps": Deed("S", "", "Show the first steps: key, tiers, Claude Code."),
    },
    "Panes": {
        "jobs": Deed("1", "", "Go to the jobs.", action="pane('jobs')"),
        "tiers": Deed(
            "2", "", "Go to the tiers; again: open them in full.", action="pane('tiers')"
        ),
        "budget": Deed(
            "3", "", "Go to the budget; again: open it in full.", action="pane('budget')"
        ),
        "savings": Deed(
            "4", "", "Go to the savings; again: open them in full.", action="pane('savings')"
        ),
        "events": Deed(
            "5", "", "Go to the events; again: open them in full.", action="pane('events')"
        ),
        "workers": Deed("W", "", "The agent workers: state, models, what they cost this month."),
        "formula": Deed("i", "formula", "Savings: show how the figures are counted."),
        "next_pane": Deed("tab", "", "Go to the next pane.", action="app.focus_next"),
        "previous_pane": Deed(
            "shift+tab", "", "Go to the previous pane.", action="app.focus_previous"
        ),
    },
    "Program": {
        "help": Deed("question_mark,f1", "help", "Show every key.", shown_as="?"),
        "palette": Deed("ctrl+p", "", "Search every action by name.", action="app.command_palette"),
        "back": Deed("escape", "back", "Go back: leave a screen, drop a filter.", shown_as="esc"),
        "redraw": Deed("ctrl+l", "", "Draw the screen again."),
        "suspend": Deed("ctrl+z", "", "Put the program in the background; `fg` brings it back."),
        "leave": Deed("q,ctrl+q,ctrl+c", "quit", "Quit; asks first while jobs run."),
    },
}

DEEDS: dict[str, Deed] = {name: deed for group in GROUPS.values() for name, deed in group.items()}

MOVES: dict[str, Deed] = {
    "up": Deed("up,k", "", "Move up."),
    "down": Deed("down,j", "", "Move down."),
    "page_up": Deed("pageup,ctrl+b", "", "Move up a page.", action="page(-1)"),
    "page_down": Deed("pagedown,ctrl+f,space", "", "Move down a page.", action="page(1)"),
    "first": Deed("home,g", "", "Move to the first row."),
    "last": Deed("end,G", "", "Move to the last row."),
}
"""Keys that every list knows; in no palette, for they are never looked for there."""


def bindings(*names: str) -> list[BindingType]:
    """The bindings of these deeds, in order of importance for the footer."""
    return [_binding(name, DEEDS[name]) for name in names]


def _binding(name: str, deed: Deed) -> Binding:
    return Binding(
        deed.keys,
        deed.action or name,
        deed.label or deed.help.rstrip("."),
        show=bool(deed.label),
        key_display=deed.shown_as,
        tooltip=deed.help,
        id=name,
    )


MOVE_BINDINGS: list[BindingType] = [_binding(name, deed) for name, deed in MOVES.items()]

ARROW_BINDINGS: list[BindingType] = [
    Binding(deed.keys.partition(",")[0], deed.action or name, show=False, id=name)
    for name, deed in MOVES.items()
]
"""The same without their letters, which on some screens mean something else."""


def read_keymap(home: Home) -> tuple[dict[str, str], list[str]]:
    """The user's own keys, and a line for each entry that means nothing."""
    if not home.keymap_json.exists():
        return {}, []
    raw = read_json(home.keymap_json)
    if not isinstance(raw, Mapping):
        return {}, [f"{home.keymap_json.name} is not a JSON object of action: keys; ignored"]
    return _known(raw)


def _known(raw: Mapping[Any, Any]) -> tuple[dict[str, str], list[str]]:
    chosen: dict[str, str] = {}
    wrong: list[str] = []
    for name, keys in raw.items():
        if name not in DEEDS and name not in MOVES:
            wrong.append(f"keymap.json: there is no action {name!r}")
        elif not isinstance(keys, str) or not keys.strip():
            wrong.append(f"keymap.json: the keys of {name!r} are not a text like 'c,delete'")
        else:
            chosen[name] = keys
    return chosen, wrong + _shared(chosen)


def _shared(chosen: Mapping[str, str]) -> list[str]:
    """A line for each key of the user's that something else has, too."""
    every = {name: deed.keys for name, deed in (DEEDS | MOVES).items()} | dict(chosen)
    return [
        f"keymap.json: {key!r} is the key of {name!r} and of {other!r}"
        for name, keys in chosen.items()
        for key in map(str.strip, keys.split(","))
        for other, others in every.items()
        if other != name and key in map(str.strip, others.split(","))
    ]
