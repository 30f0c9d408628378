"""Reads lines of usage.jsonl, ours and those of older programs; a bad line is None."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal, InvalidOperation
from typing import Any

import msgspec

from workers_tui.engine.jobs.job import JobKind
from workers_tui.engine.money import Cost, CostSource, Pico, from_usd
from workers_tui.engine.spending.entry import CORRECTION, MOST_PICO, Entry
from workers_tui.engine.usage import MOST_TOKENS, Usage

OURS = b'{"seq":'
"""How every line of ours begins."""
MILLISECONDS_FROM = 10**11
"""A numeric time stamp above this counts milliseconds."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line that makes sense."""

    number: int | None
    """Its row number, when we wrote it."""
    entry: Entry
    day: date | None
    """The day it was booked on, when it says so."""
    charge_pico: Pico | None
    """What it counts against the cap, when that is not its cost."""
    nameless: bool = False
    """It gave no id; the call is named for its content."""
    ordinal: int = 0
    """Corrections: which one of its call in this file, from 1."""

    @property
    def is_correction(self) -> bool:
        return self.entry.status == CORRECTION


def is_bad(text: bytes) -> bool:
    """True when a line counts nowhere. Lines of ours need only be whole to be good."""
    if text.startswith(OURS):
        try:
            _ours.decode(text)
        except (ValueError, RecursionError):
            return True
        return False
    return bool(text.strip()) and parse(text.rstrip(b"\r\n")) is None


class _Ours(msgspec.Struct):
    """What a line of ours surely has."""

    seq: int
    ts: str
    cost: float | None


_ours = msgspec.json.Decoder(_Ours)


def parse(text: bytes) -> Line | None:
    """A line's meaning, or None when it has no time, no sane amount or is no object at all."""
    try:
        fields = msgspec.json.decode(text.removeprefix(b"\xef\xbb\xbf"))
        return _line(fields, text) if isinstance(fields, dict) else None
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError):
        return None


def _line(fields: dict[str, Any], text: bytes) -> Line:
    correction = fields.get("status") == CORRECTION
    pico = _pico(fields.get("cost"), negative=correction)
    day, charge = fields.get("day"), fields.get("charge_usd")
    call = _text(fields.get("call"))
    entry = Entry(
        call=call or f"import-{hashlib.sha256(text).hexdigest()[:24]}",
        job=_text(fields.get("job")) or "",
        kind=JobKind.AGENT if fields.get("kind") == JobKind.AGENT else JobKind.CALL,
        tier=_text(fields.get("tier")),
        model=_text(fields.get("model")) or "",
        provider=_text(fields.get("provider")) or "",
        usage=_usage(fields),
        cost=Cost(pico, _source(fields, pico), _pico(fields.get("list_usd"))),
        ms=_count(fields.get("ms")),
        task=_text(fields.get("task")) or "",
        status=_text(fields.get("status")) or "ok",
        finish_reason=_text(fields.get("finish_reason")),
        project=_text(fields.get("project")),
        session=_text(fields.get("session")),
        generation_id=_text(fields.get("generation")),
        at=_moment(fields["ts"]),
    )
    number = fields.get("seq")
    return Line(
        number if type(number) is int and number > 0 else None,
        entry,
        date.fromisoformat(day) if isinstance(day, str) else None,
        _pico(charge, negative=correction),
        nameless=call is None,
    )


def _pico(value: object, *, negative: bool = False) -> Pico | None:
    """An amount, also as text; raises ValueError for what cannot be one."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise TypeError("not an amount of money")
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError("not an amount of money")
    try:
        pico = from_usd(Decimal(str(value).strip()))
    except InvalidOperation:
        raise ValueError("not an amount of money") from None
    if abs(pico) > MOST_PICO or (pico < 0 and not negative):
        raise ValueError("not an amount of money")
    return pico


def _source(fields: dict[str, Any], pico: Pico | None) -> CostSource:
    said = fields.get("cost_source")
    if said in set(CostSource):
        source = CostSource(said)
        known = source not in {CostSource.PENDING, CostSource.UNKNOWN}
        if known == (pico is not None):
            return source
    return CostSource.UNKNOWN if pico is None else CostSource.REPORTED


def _usage(fields: dict[str, Any]) -> Usage:
    names = ("in", "out", "cached", "cache_write", "cache_write_1h", "reasoning")
    return Usage(*(_count(fields.get(name)) for name in names))


def _count(value: object) -> int:
    """A count; missing is 0, what is no whole number from 0 up raises ValueError."""
    if value is None:
        return 0
    if isinstance(value, bool) or not isinstance(value, int | float) or value != int(value):
        raise ValueError("not a count")
    if not 0 <= value <= MOST_TOKENS:
        raise ValueError("not a count")
    return int(value)


def _moment(value: object) -> datetime:
    if isinstance(value, str):
        moment = datetime.fromisoformat(value.strip())
    elif isinstance(value, int | float) and not isinstance(value, bool):
        seconds = value / 1000 if value > MILLISECONDS_FROM else value
        moment = datetime.fromtimestamp(seconds, UTC)
    else:
        raise TypeError("not a moment")
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return moment.astimezone(UTC)


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None
