"""The line that is always in sight: is it alive, what has it cost, how much is left.

The bar is solid where money is spent, hatched where it is held, empty where
the cap is free. On narrow screens words go first, the bar last.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from rich.cells import cell_len
from rich.segment import Segment
from textual import events
from textual.geometry import Region
from textual.message import Message
from textual.strip import Strip

from workers_tui.tui import safe, words
from workers_tui.tui.lines import Part
from workers_tui.tui.panes.one_line import OneLine

if TYPE_CHECKING:
    from workers_tui.engine.spending.budget import Spend

SPENT, HELD, FREE = "█", "▒", "░"
AMBER_FROM = 0.8


@dataclass(frozen=True, slots=True)
class Pulse:
    """What the header says about the program itself."""

    where: str = ""
    """The server's address, or what is awaited."""
    alive: bool = False
    clients: int = 0
    paused: str = ""
    """Why nothing starts, when the user or a provider paused it."""
    running: int = 0
    asking: int = 0


class Header(OneLine):
    """One line at the top of every screen."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        f"header--{name}"
        for name in ("name", "alive", "waiting", "text", "dim", "spent", "high", "full", "held",
                     "free", "bad", "warn")
    }  # fmt: skip

    class CapClicked(Message):
        """The cap was clicked: the user wants another one."""

    def __init__(self) -> None:
        super().__init__(id="header")
        self._pulse = Pulse()
        self._spend: Spend | None = None
        self._cap_at = (0, 0)

    def show_pulse(self, pulse: Pulse) -> None:
        """Show how the program itself does."""
        if pulse != self._pulse:
            self._pulse = pulse
            self.refresh()

    def show_spend(self, spend: Spend) -> None:
        """Show today's money."""
        if spend != self._spend:
            self._spend = spend
            self.refresh()

    @property
    def cap_region(self) -> Region:
        """Where the cap stands, for editing it in place."""
        start, width = self._cap_at
        return Region(self.region.x + start, self.region.y, max(8, width), 1)

    def on_click(self, event: events.Click) -> None:
        """A click on the cap edits it."""
        start, width = self._cap_at
        if start <= event.x < start + width:
            self.post_message(self.CapClicked())

    def line(self) -> Strip:
        """Left the program, right the money, the bar between the words for it."""
        width = self.size.width
        left = self._left(width)
        right = self._right(width - _width(left) - 2)
        gap = max(1, width - _width(left) - _width(right))
        parts = [*left, (" " * gap, "text"), *right]
        self._note_cap(parts)
        return Strip(Segment(text, self.style_of(f"header--{name}")) for text, name in parts)

    def _note_cap(self, parts: list[Part]) -> None:
        at = 0
        for text, _ in parts:
            if text.startswith((" of $", " no cap", " of .")):
                self._cap_at = (at + 1, cell_len(text) - 1)
            at += cell_len(text)

    def _left(self, width: int) -> list[Part]:
        pulse = self._pulse
        dot = ("●", "alive") if pulse.alive else ("○", "waiting")
        parts: list[Part] = [(" workers ", "name"), (" ", "text"), dot, (" ", "text")]
        if width < 70:
            parts = [(" ", "text"), dot, (" ", "text")]
        if pulse.paused:
            parts += [("paused", "warn"), (" · ", "dim")]
        if width < 70:
            state = f"{pulse.running} running" if pulse.alive else pulse.where
            return [*parts, (safe.fit(state, min(cell_len(state), 24)), "text"), *self._asking()]
        where = (
            pulse.where if width >= 100 or not pulse.alive else ":" + pulse.where.rpartition(":")[2]
        )
        room = width // 3
        if cell_len(where) > room:
            where = where.partition(", ")[0]  # `viewer of pid 7, which serves …`
        parts.append((safe.fit(where, min(cell_len(where), room)), "text"))
        if pulse.alive:
            parts.append((f" · {words.plural(pulse.clients, 'client')}", "dim"))
        return parts + self._asking()

    def _asking(self) -> list[Part]:
        asking = self._pulse.asking
        return [(f" · ◆ {asking} {'asks' if asking == 1 else 'ask'}", "bad")] if asking else []

    def _right(self, room: int) -> list[Part]:
        spend = self._spend
        if spend is None:
            return []
        for form in (_full, _plain, _short, _least):
            parts = form(spend, room)
            if _width(parts) <= room or form is _least:
                return parts
        return []


def _full(spend: Spend, room: int) -> list[Part]:
    tail = _reach(spend)
    fixed = [*_amounts(spend), *tail]
    return _with_bar(spend, fixed[:-1] if tail else fixed, tail, room, 28)


def _plain(spend: Spend, room: int) -> list[Part]:
    return _with_bar(spend, _amounts(spend), [], room, 20)


def _short(spend: Spend, room: int) -> list[Part]:
    return _with_bar(spend, [(_spent(spend), "text"), (" ", "text")], [], room, 14)


def _least(spend: Spend, room: int) -> list[Part]:
    return _with_bar(spend, [(_spent(spend), "text"), (" ", "text")], [], room, 6)


def _amounts(spend: Spend) -> list[Part]:
    return [
        ("spent ", "dim"),
        (_spent(spend), "text"),
        ("  held ", "dim"),
        (words.money(spend.held_pico), "text"),
        ("  ", "text"),
    ]


def _spent(spend: Spend) -> str:
    text = words.money(spend.spent_pico)
    return f"{text} + {spend.unknown_calls} unknown" if spend.unknown_calls else text


def _with_bar(spend: Spend, head: list[Part], tail: list[Part], room: int, most: int) -> list[Part]:
    if spend.cap_pico is None:
        return [*head, (" no cap ", "dim")]
    of: list[Part] = [(f" of {words.money(spend.cap_pico)} ", "text")]
    used = _width(head) + _width(of) + _width(tail) + 2
    cells = min(most, max(6, room - used))
    return [*head, ("▕", "dim"), *bar(spend, cells), ("▏", "dim"), *of, *tail]


def _reach(spend: Spend) -> list[Part]:
    if spend.cap_pico is None:
        return []
    if spend.free_pico is not None and spend.free_pico <= 0 and spend.spent_pico > 0:
        return [(f"  no room until {words.clock(spend.resets_at)} ", "warn")]
    if spend.reaches_cap_at is None:
        return []
    return [(f"  reaches the cap {words.clock(spend.reaches_cap_at)} ", level(spend) or "dim")]


def level(spend: Spend) -> str:
    """The style of a cap that nears its end: `warn` from 80 %, `bad` when it is used up."""
    if not spend.cap_pico:
        return ""
    used = spend.spent_pico / spend.cap_pico
    return "bad" if used >= 1 else "warn" if used >= AMBER_FROM else ""


def bar(spend: Spend, cells: int) -> list[Part]:
    """Spent, held and free as cells of a bar; what is not nothing shows at least once."""
    cap = max(1, spend.cap_pico or 0)
    spent = _cells(spend.spent_pico, cap, cells)
    held = min(_cells(spend.held_pico, cap, cells), cells - spent)
    if spend.spent_pico < cap and spent == cells:
        spent -= 1
    style = {"": "spent", "warn": "high", "bad": "full"}[level(spend)]
    free = cells - spent - held
    return [(SPENT * spent, style), (HELD * held, "held"), (FREE * free, "free")]


def _cells(part: int, whole: int, cells: int) -> int:
    return min(cells, max(1, round(cells * part / whole))) if part > 0 else 0


def _width(parts: list[Part]) -> int:
    return sum(cell_len(text) for text, _ in parts)


def starting(words_: str) -> Pulse:
    """The header before the server listens."""
    return replace(Pulse(), where=words_)
