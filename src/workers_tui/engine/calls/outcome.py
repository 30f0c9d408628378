"""What an answer is worth: whether it counts as done, and what it cost. Pure."""

from __future__ import annotations

import re
from typing import Any

from workers_tui.engine.calls.answer import Answer
from workers_tui.engine.errors import WorkFailed
from workers_tui.engine.jobs.job import JobState
from workers_tui.engine.money import Cost, CostSource, from_usd
from workers_tui.engine.pricing.price import FREE, Price
from workers_tui.engine.settings.providers import Provider
from workers_tui.engine.usage import Usage

BYTES_PER_TOKEN = 4
"""Where a provider said nothing, so many bytes or characters are taken as a token."""

FENCE = re.compile(r"\s*(`{3,}|~{3,})[^\n`]*\n(?P<inside>.*?)\n?\1\s*", re.DOTALL)


def judge(answer: Answer) -> WorkFailed | None:
    """Why a finished answer is none, or None when it is one."""
    reason = answer.finish_reason
    native = answer.native_finish_reason
    said = f" ({native})" if native and native != reason else ""
    if reason == "error":
        return WorkFailed(f"the model's provider failed in the middle of the answer{said}")
    if reason == "content_filter":
        return WorkFailed(f"a content filter stopped the answer{said}; what came is kept")
    if answer.chars and not answer.blank:
        return None
    return WorkFailed(f"no answer: {_why_empty(answer)}{said}")


def _why_empty(answer: Answer) -> str:
    if answer.chars:
        return "the model sent white space only"
    if answer.finish_reason == "length":
        return (
            "the whole output limit went into reasoning; raise max_tokens or turn reasoning down "
            "in the tier's params"
        )
    if answer.reasoning_chars or (answer.usage and answer.usage.reasoning):
        return "the model only reasoned; ask again or choose another tier"
    if answer.finish_reason == "tool_calls":
        return "the model wanted to call a tool; calls have none"
    return "the model sent no text"


def truncated(answer: Answer) -> bool:
    """The answer hit the output limit."""
    return answer.finish_reason == "length"


def done(answer: Answer) -> dict[str, Any]:
    """What becomes of a job whose answer counts."""
    return {
        "state": JobState.DONE,
        "finish_reason": answer.finish_reason,
        "truncated": truncated(answer),
    }


def cost_of(answer: Answer, provider: Provider, price: Price | None) -> Cost:
    """What a complete answer cost, and who says so (design 7)."""
    usage = answer.usage if answer.usage and answer.usage != Usage() else None
    if provider.plan:
        listed = price.cost_pico(usage) if price and usage else None
        return Cost(0, CostSource.ESTIMATED, list_pico=listed)
    if answer.cost_usd is not None:
        return Cost(from_usd(answer.cost_usd), CostSource.REPORTED)
    if answer.cached:
        return Cost(0, CostSource.REPORTED)
    if price is FREE:
        return Cost(0, CostSource.ESTIMATED)
    if usage is not None and price is not None:
        return Cost(price.cost_pico(usage), CostSource.ESTIMATED)
    return unpriced(answer, provider)


def broken_cost(answer: Answer, provider: Provider, price: Price | None, prompt_bytes: int) -> Cost:
    """What to book at once for an answer that was cancelled or broke off."""
    if provider.plan or answer.cost_usd is not None or answer.usage or answer.cached:
        return cost_of(answer, provider, price)
    if price is None:
        return unpriced(answer, provider)
    return Cost(price.cost_pico(guessed_usage(answer, prompt_bytes)), CostSource.ESTIMATED)


def unpriced(answer: Answer, provider: Provider) -> Cost:
    """Nobody knows yet; a router can be asked later."""
    ask_later = provider.routes and answer.generation_id is not None
    return Cost(None, CostSource.PENDING if ask_later else CostSource.UNKNOWN)


def usage_of(answer: Answer, prompt_bytes: int) -> Usage:
    """Tokens as reported, else as guessed from what went and came."""
    return answer.usage or guessed_usage(answer, prompt_bytes)


def guessed_usage(answer: Answer, prompt_bytes: int) -> Usage:
    """Tokens from the size of what went and came."""
    thinking = answer.reasoning_chars // BYTES_PER_TOKEN
    return Usage(
        input=-(-prompt_bytes // BYTES_PER_TOKEN),
        output=-(-answer.chars // BYTES_PER_TOKEN) + thinking,
        reasoning=thinking,
    )


def unfenced(text: str) -> str:
    """The text without the one code fence that stands around all of it."""
    match = FENCE.fullmatch(text)
    if match is None:
        return text
    inside = match["inside"]
    if re.search(rf"^{re.escape(match[1])}", inside, re.MULTILINE):
        return text  # several fences: they belong to the text
    return f"{inside}\n"
