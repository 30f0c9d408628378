"""The day's money in full: by hour, by tier, by project, and all days together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING

from textual import work
from textual.app import ComposeResult
from textual.containers import Container

from workers_tui.engine.board import Key, Topic
from workers_tui.tui import safe, words
from workers_tui.tui.keymap import bindings
from workers_tui.tui.lines import LineView, Row, row
from workers_tui.tui.panes import budget
from workers_tui.tui.panes.budget import BudgetView
from workers_tui.tui.panes.frame import Frame
from workers_tui.tui.panes.header import Header
from workers_tui.tui.screens.moves import Moves
from workers_tui.tui.screens.settings_verbs import SettingsVerbs

if TYPE_CHECKING:
    from workers_tui.engine.calls.tiers import TierView
    from workers_tui.engine.spending.ledger import Totals
    from workers_tui.engine.spending.spend import Spend

AXES = (("tier", "By tier"), ("model", "By model"), ("project", "By project"))
NAME, FIGURES = 34, 34
AGENTS = "agents, on no tier"
WIDE_ENOUGH = 70
"""Columns from which there is room to say in which time zone the day is counted."""


class BudgetScreen(SettingsVerbs, Moves):
    """A plot above tables."""

    BINDINGS = bindings("back", "cap", "undo")

    def body(self) -> ComposeResult:
        """The plot and the tables."""
        with Container(id="columns"):
            yield Frame("Budget", BudgetView(), id="plot", corners=("top", "top"))
            yield Frame(
                "Where it went today", LineView(id="tables"), id="where", corners=("seam", "seam")
            )

    def opened(self) -> None:
        """The tables scroll."""
        self.query_one("#tables").focus()

    def main_pane(self) -> LineView:
        """The tables."""
        return self.query_one("#tables", LineView)

    def tier(self) -> TierView | None:
        """None: this screen is about money."""
        return None

    def show(self, keys: AbstractSet[Key]) -> None:
        """Hand on what changed."""
        self.show_spend(keys)
        spend: Spend | None = self.board.get(Key(Topic.SPEND)) if self.board else None
        if spend is not None and Key(Topic.SPEND) in keys:
            self.query_one(BudgetView).show(spend, self.now)
            said = [budget.summary(spend)]
            if spend.warning:
                said.append(f" · {spend.warning}")
            zone = [] if self.size.width < WIDE_ENOUGH else [f"day in {spend.timezone}"]
            self.query_one("#plot", Frame).tell(*said, note=zone)
            self._load(spend)

    @work(group="totals", exclusive=True)
    async def _load(self, spend: Spend) -> None:
        if self.engine is None:
            return
        tables: list[tuple[str, dict[str, Totals]]] = []
        for axis, title in AXES:
            found = await self.look_up(self.engine.ledger.totals(spend.day, by=axis))  # type: ignore[arg-type]
            tables.append((title, found or {}))
        tables[0][1].update(await self._agents(spend))
        tables.append(("All days", await self.look_up(self.engine.ledger.totals()) or {}))
        room = self.query_one("#tables", LineView).row_width - FIGURES - _widest_note(tables)
        name = max(8, min(NAME, room))
        rows: list[Row] = []
        for title, totals in tables:
            rows += [row((f" {title}", "strong")), _head(name), *_table(totals, name), row()]
        self.query_one("#tables", LineView).show_rows(rows[:-1])

    async def _agents(self, spend: Spend) -> dict[str, Totals]:
        """What no tier accounts for, so that the tiers add up to the day."""
        if self.engine is None:
            return {}
        kinds = await self.look_up(self.engine.ledger.totals(spend.day, by="kind")) or {}
        return {AGENTS: kinds["agent"]} if "agent" in kinds else {}

    async def on_header_cap_clicked(self, event: Header.CapClicked) -> None:
        """The cap was clicked."""
        event.stop()
        self.action_cap()


def _widest_note(tables: Iterable[tuple[str, Mapping[str, Totals]]]) -> int:
    return max((len(_note(sums)) for _, totals in tables for sums in totals.values()), default=0)


def _note(sums: Totals) -> str:
    """What a sum does not hold."""
    return f" + {sums.unknown_calls} unknown" if sums.unknown_calls else ""


def _head(name: int) -> Row:
    return row((f" {'':<{name}}{'calls':>7}{'in':>8}{'out':>8}{'$':>10}", "head"))


def _table(totals: Mapping[str, Totals], width: int) -> Iterable[Row]:
    ranked = sorted(totals.items(), key=lambda item: -item[1].cost_pico)
    for name, sums in ranked:
        shown = safe.one_line(words.folder(name) if name.startswith("/") else name) or "all"
        mark = words.ESTIMATED if sums.estimated_pico else ""
        yield row(
            (f" {safe.fit(shown, width)}", ""),
            (f"{words.count(sums.calls):>7}", ""),
            (f"{words.count(sums.usage.input):>8}{words.count(sums.usage.output):>8}", "dim"),
            (f"{mark + words.money_cell(sums.cost_pico):>10}", ""),
            (_note(sums), "warn"),
        )
    if not totals:
        yield row((" nothing yet", "dim"))
