"""Today's money: spent, held and free, how fast it goes, and the day by hour."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from workers_tui.engine.money import Pico
from workers_tui.tui import words
from workers_tui.tui.lines import LineView, Part, Row, row
from workers_tui.tui.panes.header import level

if TYPE_CHECKING:
    from workers_tui.engine.spending.budget import Spend

BLOCKS = " ▁▂▃▄▅▆▇█"
FIGURES = 15
"""Cells of a figure with its name."""


class BudgetView(LineView):
    """A plot by hour above the figures."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's own name
        super().__init__(id=id)
        self._spend: Spend | None = None
        self._hour = 0

    def show(self, spend: Spend, now: datetime) -> None:
        """Show the day as it stands."""
        self._spend = spend
        self._hour = now.astimezone().hour
        self._lay_out()

    def on_resize(self) -> None:
        """The plot follows the size."""
        self._lay_out()
        super().on_resize()

    def _lay_out(self) -> None:
        if self._spend is None:
            self.show_rows((row((" Reading the ledger…", "dim")),))
            return
        figures = figures_of(self._spend)
        width, height = self.row_width, max(4, self.scrollable_content_region.height)
        beside = width >= 24 + FIGURES + 2
        chart_width = width - FIGURES - 2 if beside else width - 2
        tall = height - 1 if beside else height - 1 - len(figures)
        chart = plot(self._spend.by_hour_pico, self._hour, chart_width, max(1, min(tall, 8)))
        self.show_rows(_side_by_side(chart, chart_width, figures) if beside else [*chart, *figures])


def _side_by_side(chart: list[Row], width: int, figures: list[Row]) -> list[Row]:
    rows = []
    for index in range(max(len(chart), len(figures))):
        left = chart[index] if index < len(chart) else ()
        used = sum(len(text) for text, _ in left)
        right = figures[index] if index < len(figures) else ()
        rows.append((*left, (" " * (width + 1 - used), ""), *right))
    return rows


def figures_of(spend: Spend) -> list[Row]:
    """The numbers, one pair a line."""
    free = words.money(max(0, spend.free_pico or 0))
    rows = [_pair("spent", words.money(spend.spent_pico), level(spend))]
    if spend.estimated_pico:
        rows.append(_pair("of it", words.ESTIMATED + words.money(spend.estimated_pico)))
    rows += [
        _pair("held", words.money(spend.held_pico), "held" if spend.held_pico else ""),
        _pair("free", free if spend.cap_pico is not None else "no cap", level(spend)),
    ]
    if spend.pending_calls:
        rows.append(_pair("pending", words.plural(spend.pending_calls, "call")))
    if spend.unknown_calls:
        rows.append(_pair("unknown", words.plural(spend.unknown_calls, "call")))
    return rows


def burn(spend: Spend) -> str:
    """`$0.21/h`, empty while nothing is spent."""
    return f"{words.money(spend.burn_pico_per_hour)}/h" if spend.burn_pico_per_hour else ""


def summary(spend: Spend) -> str:
    """The budget in one line."""
    said = [burn(spend) or "nothing spent in the last hour"]
    if spend.cap_pico is None:
        said.append("no cap")
    elif spend.reaches_cap_at is not None:
        said.append(f"reaches the cap {words.clock(spend.reaches_cap_at)}")
    else:
        said.append(f"free {words.money(max(0, spend.free_pico or 0))}")
    said.append(words.plural(spend.calls, "call"))
    return " · ".join(said)


def plot(hours: Sequence[Pico], now_hour: int, width: int, height: int) -> list[Row]:
    """Columns by hour, the axis below; the present hour stands out."""
    wide = 3 if width >= 72 else 2 if width >= 48 else 1
    first = 0 if 24 * wide <= width else max(0, now_hour + 1 - width // wide)
    shown = list(hours[first : first + width // wide])
    highest = max(shown, default=0)
    rows = [
        _plot_row(shown, highest, level_from_top, height, wide, now_hour - first)
        for level_from_top in range(height)
    ]
    return [*rows, _axis(first, len(shown), wide, now_hour)]


def _plot_row(
    shown: Sequence[Pico], highest: Pico, from_top: int, height: int, wide: int, now: int
) -> Row:
    floor = (height - 1 - from_top) * 8
    parts: list[Part] = [(" ", "")]
    for hour, pico in enumerate(shown):
        eighths = round(pico / highest * height * 8) if highest else 0
        if pico and eighths == 0:
            eighths = 1
        block = BLOCKS[max(0, min(8, eighths - floor))]
        cells = block * max(1, wide - 1) + (" " if wide > 1 else "")
        parts.append((cells, "run" if hour == now else "soft"))
    return tuple(parts)


def _axis(first: int, hours: int, wide: int, now: int) -> Row:
    step = 2 if wide == 3 else 3 if wide == 2 else 6
    parts: list[Part] = [(" ", "")]
    hour = first
    while hour < first + hours:
        if hour % step == 0 and hour + 2 // wide < first + hours:
            cells = f"{hour:02}".ljust(step * wide)
            parts.append((cells, "run" if hour <= now < hour + step else "dim"))
            hour += step
        else:
            parts.append((" " * wide, "dim"))
            hour += 1
    return tuple(parts)


def _pair(name: str, value: str, style: str = "") -> Row:
    return row((f"{name:<7}", "dim"), (f"{value:>8}", style))
