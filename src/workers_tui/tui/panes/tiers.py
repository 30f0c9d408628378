"""The tiers: what each name stands for, what it costs, how often it was picked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, ClassVar

from workers_tui.tui import safe, words
from workers_tui.tui.lines import LineView, Row, row

if TYPE_CHECKING:
    from workers_tui.engine.calls.tiers import TierView

NAME, PRICE, PICKS = 8, 12, 5


class TierList(LineView):
    """One row a tier: name, model, price, picks."""

    SELECTS: ClassVar[bool] = True

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's own name
        super().__init__(id=id)
        self.tiers: tuple[TierView, ...] = ()

    @property
    def selected(self) -> TierView | None:
        """The tier under the cursor."""
        return self.tiers[self.cursor] if self.cursor < len(self.tiers) else None

    def show(self, tiers: Sequence[TierView]) -> None:
        """Show these tiers in this order."""
        self.tiers = tuple(tiers)
        self._lay_out()

    def on_resize(self) -> None:
        """Columns follow the width."""
        self._lay_out()
        super().on_resize()

    def model_column(self) -> tuple[int, int]:
        """Where the model stands in a row, for editing it in place: start and width."""
        return NAME + 1, max(6, self.row_width - NAME - 1 - PRICE - PICKS)

    def _lay_out(self) -> None:
        if not self.tiers:
            self.show_rows((row((" No tier in models.json. Add one under `tiers`.", "dim")),))
            return
        self.show_rows([self._row(tier) for tier in self.tiers])

    def _row(self, tier: TierView) -> Row:
        _, model_width = self.model_column()
        name = safe.fit(" " + safe.one_line(tier.name), NAME + 1)
        model = safe.fit(safe.one_line(words.model_name(tier.model)), model_width)
        if tier.problem:
            return row(
                (name, "strong"),
                (safe.fit(safe.one_line(tier.problem), self.row_width - NAME - 2), "bad"),
            )
        return row(
            (name, "strong"),
            (model, ""),
            (safe.fit_right(price_of(tier), PRICE), "dim"),
            (safe.fit_right(words.count(tier.picks), PICKS), ""),
        )


def price_of(tier: TierView) -> str:
    """The tier's list price."""
    return words.prices(tier.price.input, tier.price.output) if tier.price else words.UNKNOWN


def picks(tiers: Iterable[TierView]) -> str:
    """How often a tier was picked, of the newest calls."""
    found = sum(tier.picks for tier in tiers)
    return words.newest(found) + words.plural(found, "pick")


def summary(tiers: Sequence[TierView]) -> str:
    """`fast .11 / .21 · code .12 / .80` for one line."""
    return " · ".join(f"{safe.one_line(tier.name)} {price_of(tier)}" for tier in tiers)
