"""The words of the first steps: how each stands, and the key that does it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from workers_tui.tui import safe, words
from workers_tui.tui.lines import Row, row

EXAMPLE = "Have the workers summarise README.md."
UNDO = ("u undoes it.", "dim")
NAME = 10


@dataclass(frozen=True, slots=True)
class Tried:
    """How a tier's test went."""

    worked: bool
    said: str


def key(ready: Sequence[str], offered: Sequence[str]) -> list[Row]:
    """A key for a provider: `ready` names those that have one, `offered` servers found here."""
    rows = _step(1, "A key for a provider", done=bool(ready))
    if ready:
        rows.append(_line(f"There is one for {', '.join(map(safe.one_line, ready))}."))
    else:
        does = " types one for OpenRouter; it stays in a file that only you can read."
        rows.append(row("     ", ("k", "key"), does))
        rows.append(_line("Or in another terminal: workers-tui login, which asks in the browser."))
    rows += [_line(f"Found here: {safe.one_line(told)}.") for told in offered]
    if offered:
        rows.append(row("     ", ("l", "key"), " adds it as a tier; it costs nothing. ", UNDO))
    return rows


def all_work(names: Sequence[str], tried: Mapping[str, Tried]) -> bool:
    """Whether every tier was tried and answered."""
    return bool(names) and all(name in tried and tried[name].worked for name in names)


def tiers(names: Sequence[str], tried: Mapping[str, Tried], trying: str) -> list[Row]:
    """The tiers tried, and the one whose answer is awaited."""
    rows = _step(2, "The tiers tried", done=all_work(names, tried))
    whom = "the tier" if len(names) == 1 else f"each of {len(names)} tiers"
    does = f" sends one short call to {whom}; it costs well below a cent."
    rows.append(row("     ", ("t", "key"), does))
    for name, one in tried.items():
        mark = ("✓ ", "good") if one.worked else ("✗ ", "warn")
        rows.append(_tier(name, mark, (safe.one_line(one.said), "")))
    if trying:
        rows.append(_tier(trying, ("▶ ", "run"), ("its answer is awaited", "dim")))
    return rows


def client(clients: int, planned: Sequence[str]) -> list[Row]:
    """Claude Code connected; `planned` is what registering would change, while it is asked."""
    rows = _step(3, "Claude Code connected", done=clients > 0)
    if clients:
        rows.append(_line(f"{words.plural(clients, 'client')} connected. Ask Claude, for example:"))
        rows.append(row(f"     {EXAMPLE}"))
    else:
        rows.append(row("     ", ("m", "key"), " registers with it; shows first what it changes."))
        rows.append(_line("Or in another terminal: workers-tui connect."))
        rows.append(_line("Then start a new Claude Code session; this line notices."))
    return rows + [row("       ", safe.one_line(line)) for line in planned]


def _step(number: int, title: str, *, done: bool) -> list[Row]:
    mark = ("✓", "good") if done else (str(number), "key")
    return [row(), row("  ", mark, "  ", (title, "strong"))]


def _tier(name: str, mark: tuple[str, str], said: tuple[str, str]) -> Row:
    return row(f"     {safe.fit(safe.one_line(name), NAME)}", mark, said)


def _line(text: str) -> Row:
    return row(("     " + text, "dim"))
