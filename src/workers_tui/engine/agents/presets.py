"""Providers that an agent worker can be made for: address, models, how the key is sent.

Facts of providers live here and nowhere else; models can be changed afterwards
in the identity's settings.json.
"""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit


@dataclass(frozen=True, slots=True)
class Preset:
    """A ready-made identity but for its key."""

    name: str
    title: str
    base_url: str
    """What Claude Code calls ANTHROPIC_BASE_URL."""
    sonnet: str
    opus: str
    haiku: str
    key_from: str = ""
    """Where the user gets a key."""
    needs_key: bool = True


PRESETS = (
    Preset(
        "zai", "Z.AI (GLM)", "https://api.z.ai/api/anthropic",
        "glm-5.3", "glm-5.3", "glm-5.3-flash", "z.ai, API keys",
    ),
    Preset(
        "kimi", "Moonshot AI (Kimi)", "https://api.moonshot.ai/anthropic",
        "kimi-k3", "kimi-k3", "kimi-k2.7-code", "platform.moonshot.ai, API keys",
    ),
    Preset(
        "minimax", "MiniMax", "https://api.minimax.io/anthropic",
        "MiniMax-M3", "MiniMax-M3", "MiniMax-M2.7", "platform.minimax.io, API keys",
    ),
    Preset(
        "deepseek", "DeepSeek", "https://api.deepseek.com/anthropic",
        "deepseek-v4-pro", "deepseek-v4-pro", "deepseek-flash", "platform.deepseek.com, API keys",
    ),
    Preset("ollama", "Ollama on this machine", "http://localhost:11434", "", "", "", "", False),
    Preset(
        "openrouter", "OpenRouter", "https://openrouter.ai/api",
        "qwen/qwen3-coder-next", "deepseek/deepseek-v4-pro", "deepseek/deepseek-v4-flash",
        "openrouter.ai, Keys",
    ),
    Preset("custom", "Any Anthropic-compatible address", "", "", "", ""),
)  # fmt: skip
BY_NAME = {preset.name: preset for preset in PRESETS}

PRICE_SOURCES = {
    "api.z.ai": "zai",
    "open.bigmodel.cn": "zai",
    "api.moonshot.ai": "moonshotai",
    "api.moonshot.cn": "moonshotai",
    "api.kimi.com": "moonshotai",
    "api.minimax.io": "minimax",
    "api.minimaxi.com": "minimax",
    "api.deepseek.com": "deepseek",
    "openrouter.ai": "openrouter",
    "api.anthropic.com": "anthropic",
}
"""Name under which the price sources know a host."""

FLAT_RATE = ("api.kimi.com", "api.kimi.ai")
"""Hosts that only sell plans."""

HEADER_KEY = ("api.deepseek.com", "api.minimax.io", "api.minimaxi.com")
"""Hosts that document `x-api-key` and not a bearer token."""


def host_of(url: str) -> str:
    """The host of an address, in lower case."""
    return (urlsplit(url).hostname or "").lower()


def price_source(url: str) -> str:
    """Whose prices count at this address; the host itself where nobody is known."""
    return PRICE_SOURCES.get(host_of(url), host_of(url))
