"""Picks a tier for a task and says why. Pure: sizes, words and prices in, a pick out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from workers_tui.engine.calls.kinds import Kind, kinds_of, offers
from workers_tui.engine.errors import ConfigError
from workers_tui.engine.pricing.price import Price
from workers_tui.engine.settings.settings import Settings, Tier

BYTES_PER_TOKEN = 3
"""Of source and logs; prose has more. Used only to choose, never to hold money."""

PriceOf = Callable[[Tier], Price | None]


@dataclass(frozen=True, slots=True)
class TierView:
    """What the board shows of a tier."""

    name: str
    model: str
    provider: str
    price: Price | None
    """None while nobody knows it."""
    use: str
    max_file_bytes: int
    context: int | None
    picks: int = 0
    """Calls that ran on it, of those still in the table."""
    success_rate: float | None = None
    """Share of its ended calls that are done; None before the first."""
    median_ms: int | None = None
    cost_per_1k_pico: int | None = None
    """Paid per thousand tokens, prompt and answer together."""
    problem: str | None = None
    """What is wrong with it: an unknown model with the nearest names, a paused provider."""


@dataclass(frozen=True, slots=True)
class Load:
    """What a task brings with it."""

    task: str
    sizes: tuple[int, ...]
    """Bytes of each file as it lies on disk, or of the lines asked for."""
    max_tokens: int | None = None

    @property
    def total(self) -> int:
        return sum(self.sizes)

    @property
    def largest(self) -> int:
        return max(self.sizes, default=0)


@dataclass(frozen=True, slots=True)
class Pick:
    """A tier and why."""

    name: str
    reason: str
    """In words: `fast, because summary of 1 file, 310 KB`."""


def file_limit(settings: Settings, tier: Tier) -> int:
    """Files larger than this are cut for the tier."""
    return tier.max_file_bytes or settings.max_file_bytes


def output_cap(settings: Settings, tier: Tier, asked: int | None = None) -> int:
    """The longest answer in tokens; always sent, a low balance is refused without one."""
    return asked or tier.max_tokens or settings.default_max_tokens


def largest_limit(settings: Settings) -> int:
    """The largest file that any tier takes whole."""
    return max(
        (file_limit(settings, tier) for tier in settings.tiers.values()),
        default=settings.max_file_bytes,
    )


def pick(settings: Settings, load: Load, price_of: PriceOf) -> Pick:
    """The tier for a task: it must fit, then be good at it, then be cheap.

    Raises ConfigError when there are no tiers.
    """
    if not settings.tiers:
        raise ConfigError("models.json has no tiers: add one under `tiers`, with a `model`")
    fitting = {
        name: tier
        for name, tier in settings.tiers.items()
        if fits(settings, tier, load, price_of(tier))
    }
    if not fitting:
        name = max(settings.tiers, key=lambda one: file_limit(settings, settings.tiers[one]))
        return Pick(name, f"{name}, because it takes the most and {what(load)} fits nowhere whole")
    wanted, good = _good_at(kinds_of(load.task), settings.tiers)
    able = {name: tier for name, tier in fitting.items() if name in good}
    name = _cheapest(able or fitting, load, price_of)
    return Pick(name, f"{name}, because {_why(wanted, load, fitting, able, settings)}")


def fits(settings: Settings, tier: Tier, load: Load, price: Price | None) -> bool:
    """True when every file goes whole and all of it, with the answer, fits the context."""
    if load.largest > file_limit(settings, tier):
        return False
    context = tier.context or (price.context if price else None)
    needed = (load.total + len(load.task)) // BYTES_PER_TOKEN
    return context is None or needed + output_cap(settings, tier, load.max_tokens) <= context


def _good_at(kinds: Sequence[Kind], tiers: Mapping[str, Tier]) -> tuple[Kind | None, set[str]]:
    """The first kind that any tier offers, and the tiers that do."""
    for kind in kinds:
        names = {name for name, tier in tiers.items() if offers(tier.use, kind)}
        if names:
            return kind, names
    return None, set()


def _cheapest(tiers: Mapping[str, Tier], load: Load, price_of: PriceOf) -> str:
    """By price of the whole task; unknown prices come last, ties go by order in the file."""

    def cost(name: str) -> Decimal:
        price = price_of(tiers[name])
        if price is None:
            return Decimal("Infinity")
        rates = price.highest((load.total + len(load.task)) // BYTES_PER_TOKEN)
        return rates.input * (load.total + len(load.task)) + rates.output * 1000 * BYTES_PER_TOKEN

    return min(tiers, key=cost)


def _why(
    kind: Kind | None,
    load: Load,
    fitting: Mapping[str, Tier],
    able: Mapping[str, Tier],
    settings: Settings,
) -> str:
    left_out = [one for one in settings.tiers if one not in fitting]
    if kind is not None and able:
        words = f"{kind.name} of {what(load)}" if load.sizes else kind.name
        return words if len(able) == 1 else f"{words}, cheapest of {len(able)}"
    if left_out and len(fitting) == 1:
        return f"{what(load)} is too large for {', '.join(left_out)}"
    if kind is not None:
        return f"{what(load)} is too large for what is good at {kind.name}; it is the cheapest left"
    return f"it is the cheapest that fits {what(load)}" if load.sizes else "it is the cheapest"


def what(load: Load) -> str:
    """A task's files in words: `3 files, 310 KB`."""
    if not load.sizes:
        return "a task without files"
    count = len(load.sizes)
    return f"{count} file{'' if count == 1 else 's'}, {size(load.total)}"


def size(count: int) -> str:
    """Bytes for people: `812 B`, `310 KB`, `2.1 MB`."""
    if count < 1000:
        return f"{count} B"
    if count < 1_000_000:
        return f"{count / 1000:.0f} KB"
    return f"{count / 1_000_000:.1f} MB"
