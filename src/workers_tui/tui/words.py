"""The one language in which the screen writes numbers, money and time.

Pure functions from a value to a short text. `~` is estimated, `…` pending,
`?` unknown, a dash nothing yet; no other mark is used anywhere on the screen.
"""

from __future__ import annotations

from datetime import datetime
from decimal import ROUND_HALF_UP, Decimal
from pathlib import PurePath

from workers_tui.engine.jobs.job import AT_HAND
from workers_tui.engine.money import Cost, CostSource, Pico, to_usd
from workers_tui.engine.transcripts import number_words

NOTHING = "–"  # noqa: RUF001 - a dash as wide as a digit
ESTIMATED = "~"
PENDING = "…"
UNKNOWN = "?"

CENT = Decimal("0.01")
TENTH_OF_A_MILL = Decimal("0.0001")

# Commands and notices write these, too; here they go on to cells, marks and times.
count, size, money = number_words.count, number_words.size, number_words.money
signed_money = number_words.signed


def duration(seconds: float) -> str:
    """How long: `6s`, `1m12`, `2h05`, `3d04`."""
    whole = max(0, int(seconds))
    if whole < 60:
        return f"{whole}s"
    if whole < 3_600:
        return f"{whole // 60}m{whole % 60:02}"
    if whole < 86_400:
        return f"{whole // 3_600}h{whole % 3_600 // 60:02}"
    return f"{whole // 86_400}d{whole % 86_400 // 3_600:02}"


def took(ms: int) -> str:
    """How long something took, to the nearest second; what took any time took `1s`."""
    return duration(max((ms + 500) // 1_000, 1 if ms > 0 else 0))


def clock(moment: datetime) -> str:
    """A local time of day: `17:40`."""
    return moment.astimezone().strftime("%H:%M")


def moment(then: datetime, now: datetime) -> str:
    """When something was: the time today, else the day as well."""
    there, here = then.astimezone(), now.astimezone()
    if there.date() == here.date():
        return there.strftime("%H:%M:%S")
    form = "%d %b %H:%M" if there.year == here.year else "%d %b %Y"
    return there.strftime(form)


def money_cell(pico: Pico) -> str:
    """An amount in a column headed `$`: `.0190`, from a dollar `1.07`."""
    usd = to_usd(abs(pico))
    sign = "-" if pico < 0 else ""
    if usd < 1:
        return sign + _four_digits(usd)
    return f"{sign}{_round(usd, CENT)}" if usd < 1_000 else f"{sign}{usd:.0f}"


def cost(value: Cost | None, *, cell: bool = False) -> str:
    """What something cost, with the mark that says how well it is known."""
    if value is None:
        return NOTHING
    if value.source is CostSource.UNKNOWN:
        return UNKNOWN
    if value.source is CostSource.PENDING or value.pico is None:
        return PENDING
    text = money_cell(value.pico) if cell else money(value.pico)
    return ESTIMATED + text if value.source is CostSource.ESTIMATED else text


def price(usd_per_million: Decimal | None) -> str:
    """A list price in dollars per million tokens: `.11`, `.075`, `1.5`, `15`."""
    if usd_per_million is None:
        return UNKNOWN
    if usd_per_million == 0:
        return "0"
    if usd_per_million >= 1:
        return _trim(f"{_round(usd_per_million, CENT)}")
    digits = f"{usd_per_million.normalize():f}".removeprefix("0.")
    wanted = 2 if len(digits) <= 2 or usd_per_million >= Decimal("0.1") else 3
    return f"{_round(usd_per_million, Decimal(1).scaleb(-wanted)):f}".removeprefix("0")


def prices(input_: Decimal | None, output: Decimal | None) -> str:
    """Input and output price of a model: `.11 / .21`, or `?` when neither is known."""
    if input_ is None and output is None:
        return UNKNOWN
    if input_ == 0 and output == 0:
        return "free"
    return f"{price(input_)} / {price(output)}"


def share(part: float, whole: float) -> str:
    """A part of a whole in percent: `22 %`."""
    return NOTHING if whole <= 0 else f"{100 * part / whole:.0f} %"


def newest(number: int) -> str:
    """What stands before a number that may leave older ones out."""
    return "newest " if number >= AT_HAND else ""


def plural(number: int, one: str, many: str | None = None) -> str:
    """A number with its noun: `1 call`, `3 calls`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def model_name(model: str) -> str:
    """A model without its maker: `deepseek-v4-flash`."""
    return model.rpartition("/")[2] or model


def folder(path: str) -> str:
    """The last part of a directory, which is what people call a project."""
    return PurePath(path).name or path


def _four_digits(usd: Decimal) -> str:
    """Four digits; what is not nothing is never shown as nothing."""
    rounded = _round(usd, TENTH_OF_A_MILL)
    if rounded == 0 and usd > 0:
        rounded = TENTH_OF_A_MILL
    return f"{rounded:f}".removeprefix("0")


def _round(usd: Decimal, step: Decimal) -> Decimal:
    return usd.quantize(step, ROUND_HALF_UP)


def _trim(number: str) -> str:
    return number.rstrip("0").rstrip(".") if "." in number else number
