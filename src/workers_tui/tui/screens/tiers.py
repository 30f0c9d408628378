"""The tiers in full: how each does, and its fields, edited where they stand."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING

from textual import on
from textual.app import ComposeResult
from textual.containers import Container

from workers_tui.engine.board import Key, Topic
from workers_tui.tui import safe
from workers_tui.tui.deeds import asks
from workers_tui.tui.job_table import JobTable
from workers_tui.tui.keymap import bindings
from workers_tui.tui.lines import LineView
from workers_tui.tui.panes import tiers
from workers_tui.tui.panes.frame import Frame
from workers_tui.tui.panes.one_line import ListHead
from workers_tui.tui.panes.tier_table import FieldList, TierTable, read_field
from workers_tui.tui.screens.moves import Moves
from workers_tui.tui.screens.settings_verbs import SettingsVerbs

if TYPE_CHECKING:
    from workers_tui.engine.calls.tiers import TierView
    from workers_tui.engine.settings.config import ConfigView

RECENT = 8


class TiersScreen(SettingsVerbs, Moves):
    """A table above one tier's fields."""

    BINDINGS = bindings("back", "edit", "open", "try_tier", "undo", "cap")

    def body(self) -> ComposeResult:
        """Table and fields."""
        with Container(id="columns"):
            table = TierTable(id="table")
            head = ListHead(table.head)
            yield Frame("Tiers", head, table, id="tiers", corners=("top", "top"))
            yield Frame("Fields", FieldList(id="fields"), id="tier", corners=("seam", "seam"))

    def opened(self) -> None:
        """The table has the focus."""
        self.query_one(TierTable).focus()

    def tier(self) -> TierView | None:
        """The tier under the table's cursor."""
        return self.query_one(TierTable).selected

    def show(self, keys: AbstractSet[Key]) -> None:
        """Hand on what changed."""
        self.show_spend(keys)
        if self.board is None or not {key.topic for key in keys} & {Topic.TIER, Topic.CONFIG}:
            return
        board, table = self.board, self.query_one(TierTable)
        views: list[TierView] = [
            board.get(Key(Topic.TIER, name)) for name in board.names(Topic.TIER)
        ]
        table.show(views)
        config: ConfigView | None = board.get(Key(Topic.CONFIG))
        frame = self.query_one("#tiers", Frame)
        picks = [tiers.picks(views)]
        if config is not None and config.error:
            frame.tell((safe.one_line(config.error), "bad"))
        elif config is not None:
            frame.tell(str(config.path), note=picks)
        self._show_fields()

    @on(LineView.Moved, "#table")
    def _show_fields(self) -> None:
        view = self.tier()
        config: ConfigView | None = self.board.get(Key(Topic.CONFIG)) if self.board else None
        if view is None or config is None:
            return
        table = self.dashboard.jobs or JobTable()
        picked = [job for job in map(table.get, table.rows) if job and job.tier == view.name]
        self.query_one(FieldList).show(view, config.settings, picked[:RECENT])
        self.query_one("#tier", Frame).tell(safe.one_line(view.use), name=safe.one_line(view.name))

    @on(LineView.Chosen, "#table")
    def _table_chosen(self) -> None:
        self.query_one(FieldList).focus()

    @on(LineView.Chosen, "#fields")
    def _field_chosen(self) -> None:
        self.action_open()

    def action_open(self) -> None:
        """From the table to the fields; from a field into it."""
        fields = self.query_one(FieldList)
        if not fields.has_focus:
            fields.focus()
        elif fields.selected is not None and fields.selected[0] == "model":
            self.action_edit()
        else:
            self._edit_field()

    @asks
    async def _edit_field(self) -> None:
        view, fields = self.tier(), self.query_one(FieldList)
        if view is None or fields.selected is None:
            return
        name, value = fields.selected
        typed = await self.edit(
            fields.cell(), value, lambda text: self._about(view.name, name, text)
        )
        if typed is not None and typed != value:
            await self.save_tier(view.name, **{name: read_field(name, typed)})

    def _about(self, tier: str, name: str, typed: str) -> str:
        try:
            value = read_field(name, typed)
        except ValueError as error:
            return f"!{error}"
        if name == "provider" and value is not None and self.engine is not None:
            names = self.engine.providers.names()
            if value not in names:
                return f"!there is no such provider; there are: {', '.join(names)}"
        if value is None:
            return f"the next call on {tier} uses the default"
        return f"enter: for the next call on {tier}"

    def action_back(self) -> None:
        """From the fields to the table, then leave."""
        if self.query_one(FieldList).has_focus:
            self.query_one(TierTable).focus()
        else:
            super().action_back()
