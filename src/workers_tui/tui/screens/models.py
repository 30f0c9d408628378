"""Choosing a tier's model from its provider's list: price and context beside each."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING

from workers_tui.engine.errors import WorkersError
from workers_tui.tui import safe, words
from workers_tui.tui.lines import Row, row
from workers_tui.tui.panes.tiers import price_of
from workers_tui.tui.screens.face import Face
from workers_tui.tui.screens.pick import Choice, Picker

if TYPE_CHECKING:
    from workers_tui.engine.calls.tiers import TierView
    from workers_tui.engine.engine import Engine
    from workers_tui.engine.pricing.model_lists import ModelInfo
    from workers_tui.engine.pricing.price import Price

PRICES, CONTEXT = 14, 8


async def choose_model(face: Face, tier: TierView) -> str | None:
    """Another model for a tier; to be awaited in a worker."""
    engine = face.engine
    if engine is None:
        return None
    now = f"{words.model_name(tier.model)} {price_of(tier)}"
    picker = Picker(
        f"{safe.one_line(tier.name)}: now {safe.one_line(now)}",
        choices_of(engine.prices.models(tier.provider), tier),
        current=tier.model,
        as_typed=lambda typed: _about(tier, typed, engine.prices.find(tier.provider, typed)),
    )
    asking = _ask_provider(engine, tier, picker)
    face.run_worker(asking, group="models", exclusive=True)
    return await face.app.push_screen_wait(picker)


async def _ask_provider(engine: Engine, tier: TierView, picker: Picker) -> None:
    """Show the provider's newest list when it is here, or why it cannot be had."""
    known = len(engine.prices.models(tier.provider))
    await engine.prices.load_table()  # a name that is typed may be in no provider's list
    try:
        await engine.prices.refresh(tier.provider)
    except WorkersError as error:
        if picker.is_mounted and not known:
            picker.remark(f"No list: {error}. Type a model's full name.")
        return
    if picker.is_mounted and len(engine.prices.models(tier.provider)) != known:
        picker.offer(choices_of(engine.prices.models(tier.provider), tier))


def choices_of(models: Iterable[ModelInfo], tier: TierView) -> list[Choice]:
    """The models in order of their names."""
    return [
        Choice(
            model.id,
            partial(_row, model, model.id == tier.model),
            f"{model.id} {model.name}",
            _about(tier, model.id, model.price),
        )
        for model in sorted(models, key=lambda model: model.id)
    ]


def _row(model: ModelInfo, present: bool, width: int) -> Row:
    price = words.prices(model.price.input, model.price.output) if model.price else words.UNKNOWN
    context = words.count(model.context) if model.context else words.UNKNOWN
    name = max(8, width - PRICES - CONTEXT - 1)
    return row(
        (safe.fit(" " + safe.one_line(model.id), name), "strong" if present else ""),
        (safe.fit_right(price, PRICES), "dim"),
        (safe.fit_right(context, CONTEXT) + " ", "dim"),
    )


def _about(tier: TierView, model: str, price: Price | None) -> str:
    """What saving would mean."""
    if model == tier.model:
        return "This is the present model."
    if price is None:
        return "No price is known: strict mode refuses it until `prices` in models.json has one."
    new = words.prices(price.input, price.output)
    return f"enter: the next call on {safe.one_line(tier.name)} costs {new}, now {price_of(tier)}."
