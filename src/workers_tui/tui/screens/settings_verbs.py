"""Changes of the settings from the screen: cap and tiers in place, pause, undo."""

from __future__ import annotations

import re
from collections.abc import Awaitable
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, TypeVar

from workers_tui.engine.board import Key, Topic
from workers_tui.engine.jobs.job import CallRequest, Origin
from workers_tui.engine.money import from_usd, to_usd
from workers_tui.tui import words
from workers_tui.tui.deeds import asks, does
from workers_tui.tui.panes.header import Header
from workers_tui.tui.screens.face import CLIENT, Face

if TYPE_CHECKING:
    from workers_tui.engine.calls.tiers import TierView
    from workers_tui.engine.spending.spend import Spend

T = TypeVar("T")

TEST_TASK = "Answer with the single word: ready"
TEST_TOKENS = 64
MOST_USD = Decimal(1_000_000)
CENT = Decimal("0.01")
THOUSANDS = re.compile(r",\d{3}(\D|$)")


class SettingsVerbs(Face):
    """A face from which settings are changed."""

    def tier(self) -> TierView | None:
        """The tier in view."""
        raise NotImplementedError

    @asks
    async def action_cap(self) -> None:
        """Edit the cap where it stands, in the header."""
        engine = self.engine
        spend: Spend | None = self.board.get(Key(Topic.SPEND)) if self.board else None
        if engine is None or spend is None:
            self.say("The engine is still starting.")
            return
        now = "" if spend.cap_pico is None else cap_typed(to_usd(spend.cap_pico))
        header = self.query_one(Header)
        typed = await self.edit(header.cap_region, now, lambda text: about_cap(text, spend))
        if typed is None:
            return
        cap = read_cap(typed)
        before = await self.attempt(_with_result(engine.config.set_cap(cap)))
        if before is None:
            return
        old: Decimal | None = before[0]
        self.dashboard.undo.push(
            f"the cap is {cap_words(old)} again", lambda: engine.config.set_cap(old)
        )
        self.say(f"The cap is {cap_words(cap)} from the next call on. u undoes it.")

    @asks
    async def action_edit(self) -> None:
        """Choose another model for the tier in view."""
        tier, engine = self.tier(), self.engine
        if engine is None or tier is None:
            self.say("No tier is selected." if engine else "The engine is still starting.")
            return
        from workers_tui.tui.screens.models import choose_model  # loaded when first wanted

        model = await choose_model(self, tier)
        if model is not None and model != tier.model:
            await self.save_tier(tier.name, model=model)

    async def save_tier(self, name: str, **changes: object) -> bool:
        """Save fields of a tier and remember how to undo it."""
        engine = self.engine
        if engine is None:
            return False
        saved = await self.attempt(_with_result(engine.config.set_tier(name, **changes)))
        if saved is None:
            return False
        before = dict(saved[0])
        self.dashboard.undo.push(
            f"{name} is as before", lambda: engine.config.set_tier(name, **before)
        )
        said = ", ".join(f"{field} {_value(value)}" for field, value in changes.items())
        self.say(f"The next call on {name} uses {said}. u undoes it.")
        return True

    @does
    async def action_undo(self) -> None:
        """Take the last change of the settings back."""
        said = await self.attempt(self.dashboard.undo.pop())
        if said is not None:
            self.say(said)

    @does
    async def action_try_tier(self) -> None:
        """One short call to the tier in view."""
        tier, engine = self.tier(), self.engine
        if engine is None or tier is None:
            self.say("No tier is selected." if engine else "The engine is still starting.")
            return
        origin = Origin(roots=(), client=CLIENT)
        request = CallRequest(task=TEST_TASK, tier=tier.name, max_tokens=TEST_TOKENS)
        job = await self.attempt(engine.delegate(request, origin))
        if job is None:
            return
        self.say(f"Testing {tier.name} with {tier.model}: {job.id}.")
        ended = await self.attempt(engine.ended(job.id))
        if ended is None:
            return
        if ended.error:
            self.say(f"{tier.name} does not work: {ended.error}")
        else:
            cost = words.cost(ended.cost)
            self.say(f"{tier.name} works: {words.took(ended.ms or 0)}, {cost}.")

    def action_pause(self) -> None:
        """Pause the queue, or resume it and every paused provider."""
        if self.engine is None:
            return
        if self.engine.queue.paused or self._paused_providers():
            self.engine.resume()
            self.say("Calls start again.")
        else:
            self.engine.pause()
            self.say("No new call starts; running ones go on. p resumes.")
        self.dashboard.pulse()

    def _paused_providers(self) -> bool:
        board = self.board
        names = board.names(Topic.PROVIDER) if board else []
        return (
            any(board.get(Key(Topic.PROVIDER, name)).paused for name in names) if board else False
        )


def cap_typed(cap: Decimal) -> str:
    """A cap as one would type it: to the last digit, `0.80` and not `0.8`."""
    exact = cap.normalize()
    return f"{exact if exact.as_tuple().exponent < -2 else exact.quantize(CENT):f}"  # type: ignore[operator]


def read_cap(typed: str) -> Decimal | None:
    """A cap as typed; nothing, `none` and `no` mean no cap. Raises ValueError."""
    text = typed.strip().lower().removeprefix("$").strip()
    if text in {"", "none", "no", "no cap"}:
        return None
    if THOUSANDS.search(text):
        raise ValueError("type 1000 or 1.000: a comma can mean both")
    try:
        cap = Decimal(text.replace(",", "."))
    except InvalidOperation:
        raise ValueError("type dollars, like 3 or 0.50, or none") from None
    if not cap.is_finite() or cap < 0 or cap > MOST_USD:
        raise ValueError("type an amount from 0 to 1,000,000, or none")
    return cap


def about_cap(typed: str, spend: Spend) -> str:
    """What this cap would mean now; from `!` on, why it cannot be."""
    try:
        cap = read_cap(typed)
    except ValueError as error:
        return f"!{error}"
    if cap is None:
        return "no cap: nothing is blocked"
    free = from_usd(cap) - spend.spent_pico - spend.held_pico
    if free < 0:
        return "below spent and held: new calls are refused"
    return f"leaves {words.money(free)} free until {words.clock(spend.resets_at)}"


def cap_words(cap: Decimal | None) -> str:
    """A cap in a sentence."""
    return "gone" if cap is None else words.money(from_usd(cap))


def _value(value: object) -> str:
    return "the default" if value is None else str(value)


async def _with_result(deed: Awaitable[T]) -> tuple[T]:
    """The result in a tuple, so that a result of None is not taken for a refusal."""
    return (await deed,)
