"""The tiers in full: a row each with how they did, and the fields of one of them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from textual.geometry import Region

from workers_tui.tui import safe, words
from workers_tui.tui.lines import LineView, Part, Row, row
from workers_tui.tui.panes.tiers import TierList, price_of

if TYPE_CHECKING:
    from workers_tui.engine.calls.tiers import TierView
    from workers_tui.engine.jobs.job import Job
    from workers_tui.engine.settings.settings import Settings, Tier

NAME = 10
FIGURES = (("price", 14), ("context", 9), ("picks", 7), ("worked", 8), ("median", 8), ("$ / 1k", 9))
FIELD = 16

FIELDS = (
    ("model", "what is asked for; e chooses from the provider's list"),
    ("provider", "a key of `providers`; empty is openrouter"),
    ("use", "what it is good for; `auto` picks by these words"),
    ("max_tokens", "longest answer in tokens"),
    ("max_file_bytes", "larger files are cut at a line end"),
    ("context", "tokens the model takes, prompt and answer together"),
    ("fallbacks", "models to try in order, separated by commas"),
    ("params", "JSON that goes with every request"),
)


class TierTable(TierList):
    """One row a tier with every figure."""

    ALWAYS_SHOWS_CURSOR: ClassVar[bool] = True

    def head(self) -> str:
        """The names of the columns."""
        figures = "".join(f"{name:>{width}}" for name, width in self._figures())
        return f" {safe.fit('tier', NAME)}{safe.fit('model', self._model())}{figures}"

    def _figures(self) -> Sequence[tuple[str, int]]:
        room = self.row_width - NAME - 22
        fitting: list[tuple[str, int]] = []
        for figure in FIGURES:
            if figure[1] > room:
                break
            fitting.append(figure)
            room -= figure[1]
        return fitting

    def _model(self) -> int:
        return max(8, self.row_width - NAME - 1 - sum(width for _, width in self._figures()))

    def _row(self, tier: TierView) -> Row:
        said = {
            "price": price_of(tier),
            "context": words.count(tier.context) if tier.context else words.UNKNOWN,
            "picks": words.count(tier.picks),
            "worked": words.NOTHING
            if tier.success_rate is None
            else words.share(tier.success_rate, 1),
            "median": words.took(tier.median_ms) if tier.median_ms else words.NOTHING,
            "$ / 1k": words.money_cell(tier.cost_per_1k_pico)
            if tier.cost_per_1k_pico
            else words.NOTHING,
        }
        figures = "".join(f"{said[name]:>{width}}" for name, width in self._figures())
        return row(
            (f" {safe.fit(safe.one_line(tier.name), NAME)}", "bad" if tier.problem else "strong"),
            (safe.fit(safe.one_line(tier.model), self._model()), ""),
            (figures, "dim"),
        )


class FieldList(LineView):
    """The fields of one tier; enter edits one where it stands."""

    SELECTS: ClassVar[bool] = True

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's own name
        super().__init__(id=id)
        self._said: tuple[tuple[str, str, str], ...] = ()
        self._below: tuple[Part, ...] = ()

    @property
    def selected(self) -> tuple[str, str] | None:
        """Name and value, as text, of the field under the cursor."""
        return self._said[self.cursor][:2] if self.cursor < len(self._said) else None

    def show(self, view: TierView, settings: Settings, picked: Sequence[Job]) -> None:
        """Show a tier's fields, and why it was picked lately."""
        tier = settings.tiers.get(view.name)
        self._said = tuple(
            (name, text_of(tier, name), hint_of(settings, name, hint)) for name, hint in FIELDS
        )
        self._below = _below(view, picked)
        self._lay_out()

    def cell(self) -> Region:
        """Where the value under the cursor stands."""
        y = self.region.y + self.cursor - self.scroll_offset.y
        return Region(self.region.x + FIELD, y, max(20, self.row_width - FIELD), 1)

    def on_resize(self) -> None:
        """Values follow the width."""
        self._lay_out()
        super().on_resize()

    def move_cursor(self, index: int) -> None:
        """Stay on the fields."""
        super().move_cursor(min(index, len(self._said) - 1))

    def _lay_out(self) -> None:
        width = max(10, self.row_width - FIELD)
        rows = []
        for name, value, hint in self._said:
            shown = safe.one_line(value)
            said = (safe.fit(shown, width), "") if shown else (safe.fit(hint, width), "dim")
            rows.append(row((safe.fit(f" {name}", FIELD), "dim"), said))
        below = (wrapped for text, style in self._below for wrapped in self._wrapped(text, style))
        self.show_rows([*rows, *below])

    def _wrapped(self, text: str, style: str) -> Iterator[Row]:
        for line in safe.wrap(text, max(10, self.row_width - 2)):
            yield row((f" {line}", style))


def text_of(tier: Tier | None, name: str) -> str:
    """A field as one would type it; empty when it is not set."""
    if tier is None or name not in tier.model_fields_set:
        return ""
    value: Any = getattr(tier, name)
    if name == "params":
        return json.dumps(value, ensure_ascii=False)
    return ", ".join(value) if name == "fallbacks" else "" if value is None else str(value)


def read_field(name: str, typed: str) -> object:
    """The value of a field as typed; None leaves it to the default. Raises ValueError."""
    text = typed.strip()
    if not text:
        if name == "model":
            raise ValueError("a tier needs a model")
        return None
    if name == "params":
        return _read_params(text)
    if name == "fallbacks":
        return [part.strip() for part in text.split(",") if part.strip()]
    if name in {"max_tokens", "max_file_bytes", "context"}:
        plain = text.replace(",", "").replace("_", "")
        if not plain.isdecimal() or int(plain) < 1:
            raise ValueError("type a whole number from 1 on")
        return int(plain)
    return text


def hint_of(settings: Settings, name: str, hint: str) -> str:
    """What holds while a field is not set."""
    if name == "max_tokens":
        return f"{settings.default_max_tokens:,} by default: {hint}"
    if name == "max_file_bytes":
        return f"{settings.max_file_bytes:,} by default: {hint}"
    return hint


def _read_params(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError:
        raise ValueError('type a JSON object, like {"temperature": 0}') from None
    if not isinstance(value, dict):
        raise ValueError(  # noqa: TRY004 - the user typed it
            'type a JSON object, like {"temperature": 0}'
        )
    return value


def _below(view: TierView, picked: Sequence[Job]) -> tuple[Part, ...]:
    """What is to be said below the fields, a line each."""
    said: list[Part] = [("", "")]
    if view.problem:
        said += [(safe.one_line(view.problem), "bad"), ("", "")]
    source = f", from {view.price.source}" if view.price else ""
    said.append((f"{price_of(view)} dollars a million tokens in and out{source}", "dim"))
    if picked:
        said += [("", ""), ("Picked lately", "strong")]
        said += [
            (f"{job.id}  {safe.one_line(job.tier_reason or 'as asked')}", "") for job in picked
        ]
    return tuple(said)
