"""Builds the body of a chat-completions request from a tier, a prompt and a bound. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from workers_tui.engine.calls.bounds import Bound
from workers_tui.engine.calls.prompt import Prompt, cache_name
from workers_tui.engine.settings.providers import Provider
from workers_tui.engine.settings.settings import Settings, Tier

CAPS = ("max_tokens", "max_completion_tokens")
OURS = frozenset({*CAPS, "provider", "n"})
"""Never the tier's choice: `n` answers would cost as often as the one that is read and held."""


def build_body(
    settings: Settings, tier: Tier, provider: Provider, prompt: Prompt, cap: int, bound: Bound
) -> dict[str, Any]:
    """The request as it is sent. The output cap and the streaming are never the tier's choice."""
    own = {key: value for key, value in tier.params.items() if key not in OURS}
    body: dict[str, Any] = {
        **own,
        "model": tier.model,
        "messages": list(prompt.messages),
        "stream": True,
        # OpenRouter sends usage unasked; everybody else needs to be told.
        "stream_options": {"include_usage": True},
        _cap_name(tier, provider): cap,
    }
    if provider.routes:
        body |= _routing(settings, tier, prompt, bound)
    elif "provider" in tier.params:
        body["provider"] = tier.params["provider"]
    return body


def _cap_name(tier: Tier, provider: Provider) -> str:
    """OpenRouter prefers the newer name; local servers know only the older one."""
    newer = provider.routes or "max_completion_tokens" in tier.params
    return "max_completion_tokens" if newer else "max_tokens"


def _routing(settings: Settings, tier: Tier, prompt: Prompt, bound: Bound) -> dict[str, Any]:
    """What the router is to keep to, the highest prices among it.

    A fee per request is held but not among them: whether `max_price.request`
    counts dollars a request or a million of them is not documented, and the
    wrong one would shut out every provider.
    """
    said = tier.params.get("provider")
    preferences = {**settings.provider, **(said if isinstance(said, Mapping) else {})}
    if bound.highest is not None:
        own = preferences.get("max_price")
        preferences["max_price"] = _lower(
            own if isinstance(own, Mapping) else {},
            {"prompt": bound.highest.input, "completion": bound.highest.output},
        )
    body: dict[str, Any] = {"provider": preferences} if preferences else {}
    if tier.fallbacks:
        body["models"] = [tier.model, *tier.fallbacks]
    if prompt.sent:
        body["session_id"] = cache_name(prompt)
    return body


def _lower(own: Mapping[str, Any], ours: Mapping[str, Decimal]) -> dict[str, Any]:
    """The user's own highest price where it is lower than ours."""
    highest = dict(own)
    for name, price in ours.items():
        try:
            given = Decimal(str(own[name]))
        except (KeyError, ArithmeticError):
            given = price
        highest[name] = float(min(given, price))
    return highest
