"""Whether a run did what was asked: from its result event, never from its exit code. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from workers_tui.engine.errors import Incomplete, UpstreamFailed, WorkFailed
from workers_tui.engine.money import MOST_USD

GO_ON = "delegate_followup goes on from here"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a run came to."""

    text: str
    """The worker's last words."""
    failure: WorkFailed | None
    """None when it did what was asked."""
    truncated: bool = False
    stop_reason: str | None = None
    own_cost_usd: float | None = None
    """Claude Code's own figure, which knows nothing of other providers' prices."""


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What is known beside the result."""

    code: int | None = None
    """Exit code; only named, never judged by."""
    complaint: str = ""
    """The end of standard error."""
    refused: str | None = None
    """The cap's words, when it said no to a request."""
    stalled: str | None = None
    trouble: str | None = None
    """The last thing the provider complained of."""


def judge(result: Mapping[str, Any] | None, known: Circumstances) -> Verdict:
    """The verdict on a run."""
    if result is None:
        return Verdict("", _without_result(known))
    said = result.get("result")
    text = said if isinstance(said, str) else ""
    stop = result.get("stop_reason")
    return Verdict(
        text,
        _failure(result, text, known),
        stop == "max_tokens",
        stop if isinstance(stop, str) else None,
        _dollars(result.get("total_cost_usd")),
    )


def _without_result(known: Circumstances) -> WorkFailed:
    if known.stalled or known.refused:
        return Incomplete(f"{known.stalled or known.refused}; {GO_ON}")
    said = known.complaint or known.trouble or "it said nothing"
    if "No conversation found" in said:
        return WorkFailed("its session is gone, so it cannot go on; start it anew")
    code = "" if known.code is None else f" (exit code {known.code})"
    return WorkFailed(f"the agent ended without a result{code}: {said}")


def _failure(result: Mapping[str, Any], text: str, known: Circumstances) -> WorkFailed | None:
    subtype, reason = result.get("subtype"), result.get("terminal_reason")
    if known.stalled:
        return Incomplete(f"{known.stalled}; {GO_ON}")
    if subtype == "error_max_turns":
        return Incomplete(f"the limit of turns was reached; {GO_ON} with more `max_turns`")
    if known.refused and result.get("is_error"):
        return Incomplete(f"stopped at the cap: {known.refused}")
    if result.get("is_error") or subtype != "success":
        status = result.get("api_error_status")
        words = text or _errors(result) or known.trouble or str(subtype)
        return UpstreamFailed(
            _joined(words, known.trouble), status=status if isinstance(status, int) else None
        )
    if reason is not None and reason != "completed":
        return Incomplete(f"the agent broke off ({reason}); {GO_ON}")
    return None if text.strip() else WorkFailed("no answer: the agent ended without a word")


def _dollars(own: Any) -> float | None:
    return float(own) if isinstance(own, int | float) and 0 <= own <= MOST_USD else None


def _joined(words: str, trouble: str | None) -> str:
    return f"{words} ({trouble})" if trouble and trouble not in words else words


def _errors(result: Mapping[str, Any]) -> str:
    errors = result.get("errors")
    return "; ".join(map(str, errors)) if isinstance(errors, list) else ""
