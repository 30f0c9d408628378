"""Turns what a provider says when it refuses into one clear line and a decision.

Reads the status, the headers and the body of an answer that is no stream, and
the error objects inside one. Knows which refusals may be tried again and when.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from workers_tui.engine.errors import KeyRejected, PaymentRequired, UpstreamFailed

SHOWN = 300
RETRIED = frozenset({408, 429, 500, 502, 503, 504, 524, 529})
MAYBE_BILLED = frozenset({408, 504, 524})
"""Timeouts on the way: the model may have worked, and be billed."""
STATUS = re.compile(r"[45][0-9][0-9]")
FOREVER = 1e9
"""Seconds; a provider may send any number, also one that no float holds."""

STANDARD = {
    400: "the request was not accepted",
    401: "the key was not accepted",
    402: "no credit is left",
    403: "not permitted",
    404: "not found",
    429: "too many requests",
    500: "the provider failed",
    502: "the model's provider failed",
    503: "the provider is overloaded",
    529: "the provider is overloaded",
}


def refusal(
    provider: str,
    status: int,
    headers: Mapping[str, str],
    body: bytes,
    now: datetime,
) -> UpstreamFailed:
    """The error for an answer that is not a stream."""
    error = _error_object(body)
    text = describe(error) if error is not None else page_text(headers, body)
    return build(provider, status, text, error or {}, headers, now)


def stream_failure(provider: str, error: Any, generation_id: str | None) -> UpstreamFailed:
    """The error for an error object inside a stream. Never tried again: it was answered."""
    found = error if isinstance(error, dict) else {"message": str(error)}
    status = status_of(found)
    failure = build(provider, status, describe(found), found, {}, datetime.now(UTC))
    failure.retryable = False
    failure.generation_id = generation_id
    return failure


def build(
    provider: str,
    status: int | None,
    text: str,
    error: Mapping[str, Any],
    headers: Mapping[str, str],
    now: datetime,
) -> UpstreamFailed:
    """Choose the class, the line and the decision."""
    said = text or STANDARD.get(status or 0, "the provider failed")
    number = f" {status}" if status else ""
    line = f"{provider} said{number}: {said}"
    if status == 401:
        return KeyRejected(
            f"{line}; put in a good key with `workers-tui key set {provider}`", status=status
        )
    if status == 402 or (status == 403 and _is_key_limit(said)):
        return PaymentRequired(line, status=status)
    return UpstreamFailed(
        line,
        status=status,
        retryable=_retryable(status, error),
        retry_after=retry_hint(error, headers, now),
    )


def status_of(error: Mapping[str, Any]) -> int | None:
    """The number in an error object, where there is one."""
    for value in (error.get("code"), error.get("http_status")):
        if isinstance(value, int) and not isinstance(value, bool) and 400 <= value < 600:
            return value
        if isinstance(value, str) and STATUS.fullmatch(value):
            return int(value)
    return None


def _error_object(body: bytes) -> dict[str, Any] | None:
    try:
        raw = json.loads(body)
    except (ValueError, RecursionError):
        return None
    if not isinstance(raw, dict):
        return None
    error = raw.get("error", raw)
    if isinstance(error, str):
        return {"message": error}
    return error if isinstance(error, dict) else None


def describe(error: Mapping[str, Any]) -> str:
    """An error object in one line: its message, what lies behind it, and what shut it out."""
    parts = [_line(error.get("message"))]
    metadata = error.get("metadata")
    if isinstance(metadata, dict):
        parts += _behind(metadata, parts[0])
    availability = error.get("availability")
    if isinstance(availability, dict):
        parts += _constraints(availability)
    return "; ".join(part for part in parts if part)[: SHOWN * 2]


def _behind(metadata: Mapping[str, Any], message: str) -> list[str]:
    name, raw = _line(metadata.get("provider_name")), _raw_text(metadata.get("raw"))
    behind = [f"{name}: {raw}" if name and raw else name or raw]
    reasons = metadata.get("reasons")
    if isinstance(reasons, list) and reasons:
        behind.append("reasons: " + ", ".join(_line(reason) for reason in reasons))
    hint = _line(metadata.get("remedy_hint"))
    return [part for part in [*behind, hint] if part and part not in message]


def _raw_text(raw: Any) -> str:
    """What the provider behind the router said; often JSON inside a string."""
    if isinstance(raw, str):
        inner = _error_object(raw.encode("utf-8", "replace"))
        return _line(inner.get("message") if inner else None) or _line(raw)
    return _line(raw.get("message")) if isinstance(raw, dict) else ""


def _constraints(availability: Mapping[str, Any]) -> list[str]:
    found = []
    excluded = availability.get("excluded_by")
    if excluded:
        names = excluded if isinstance(excluded, list) else [excluded]
        found.append("shut out by " + ", ".join(_line(name) for name in names))
    constraint = availability.get("constraint")
    if isinstance(constraint, dict):
        field, detail = _line(constraint.get("field")), _line(constraint.get("detail"))
        found.append(f"{field}: {detail}" if detail else field)
    instead = availability.get("fallback_models")
    if isinstance(instead, list) and instead:
        found.append("models that would do: " + ", ".join(_line(name) for name in instead[:3]))
    return found


def page_text(headers: Mapping[str, str], body: bytes) -> str:
    """A web page or plain text in one line."""
    text = body.decode("utf-8", errors="replace")
    if "html" in headers.get("content-type", "") or text.lstrip()[:1] == "<":
        title = re.search(r"<title[^>]*>(.*?)</title>", text, re.IGNORECASE | re.DOTALL)
        plain = re.sub(r"<(script|style)\b.*?</\1>|<[^>]+>", " ", text, flags=re.DOTALL)
        return f"a web page instead of an answer: {_line(title.group(1) if title else plain)}"
    return _line(text)


def _line(value: Any) -> str:
    """Text on one line, cut; anything else is no text."""
    if not isinstance(value, str):
        return ""
    line = " ".join("".join(c if c.isprintable() else " " for c in value).split())
    return line if len(line) <= SHOWN else line[: SHOWN - 1] + "…"


def _is_key_limit(text: str) -> bool:
    lowered = text.lower()
    return "key limit" in lowered or ("limit" in lowered and "key" in lowered)


def _retryable(status: int | None, error: Mapping[str, Any]) -> bool:
    availability = error.get("availability")
    if isinstance(availability, dict) and isinstance(availability.get("retryable"), bool):
        return bool(availability["retryable"])
    return status in RETRIED


def retry_hint(error: Mapping[str, Any], headers: Mapping[str, str], now: datetime) -> float | None:
    """Seconds to wait, in the order of trust: availability, Retry-After, rate-limit reset."""
    availability = error.get("availability")
    if isinstance(availability, dict):
        seconds = availability.get("retry_after")
        if isinstance(seconds, int | float) and seconds >= 0:
            return float(min(seconds, FOREVER))
    metadata = error.get("metadata")
    inside = metadata.get("headers") if isinstance(metadata, dict) else None
    quoted = inside if isinstance(inside, dict) else {}
    lowered = {str(k).lower(): str(v) for k, v in quoted.items()} | {
        key.lower(): value for key, value in headers.items()
    }
    after = _after(lowered.get("retry-after"), now)
    return after if after is not None else _until(lowered.get("x-ratelimit-reset"), now)


def _after(value: str | None, now: datetime) -> float | None:
    """Retry-After: seconds or a date."""
    if not value:
        return None
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        date = parsedate_to_datetime(value)
    except (ValueError, OverflowError):
        return None
    date = date if date.tzinfo else date.replace(tzinfo=UTC)
    return max(0.0, (date - now).total_seconds())


def _until(value: str | None, now: datetime) -> float | None:
    """X-RateLimit-Reset: a Unix time, in milliseconds in the field."""
    try:
        moment = float(value or "")
    except ValueError:
        return None
    if moment > 10**11:
        moment /= 1000
    return max(0.0, moment - now.timestamp())
