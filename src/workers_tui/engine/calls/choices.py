"""The tiers that a call may choose among."""

from __future__ import annotations

from workers_tui.engine.calls.parts import Parts
from workers_tui.engine.settings.config import unknown_tier
from workers_tui.engine.settings.settings import Settings, Tier


def choices(parts: Parts, tier: str) -> Settings:
    """The settings with the tiers that `auto` may choose among: those that can work, if any.

    Raises ConfigError when the settings never made sense.
    """
    settings = parts.config.usable()
    if tier != "auto":
        return settings
    able = {name: one for name, one in settings.tiers.items() if _can_work(parts, settings, one)}
    return settings.model_copy(update={"tiers": able}) if able else settings


def named(settings: Settings, name: str) -> Tier:
    """The tier of this name. Raises UnknownTier."""
    if name not in settings.tiers:
        raise unknown_tier(name, settings.tiers)
    return settings.tiers[name]


def _can_work(parts: Parts, settings: Settings, tier: Tier) -> bool:
    """The tier's provider is there, has a key or needs none, and is not paused."""
    name = settings.tier_provider(tier)
    provider = parts.providers.find(name)
    if provider is None or parts.providers.paused(name) is not None:
        return False
    return provider.loopback or parts.providers.key_or_none(provider) is not None
