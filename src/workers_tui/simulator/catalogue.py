"""The models the simulator knows and what a token of each costs.

Prices are US dollars per token as exact decimals, the way OpenRouter's /models
gives them; a model that is not listed costs what the cheapest one does.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

MILLION = Decimal(1_000_000)


@dataclass(frozen=True, slots=True)
class Model:
    """One model of the list."""

    id: str
    name: str
    input: Decimal
    """USD per million prompt tokens."""
    output: Decimal
    cache_read: Decimal
    cache_write: Decimal
    context: int
    max_output: int

    def cost(
        self, prompt: int, completion: int, cached: int = 0, written: int = 0, written_1h: int = 0
    ) -> Decimal:
        """USD for a request; `cached` and the written tokens are parts of `prompt`."""
        plain = prompt - cached - written - written_1h
        total = plain * self.input + completion * self.output + cached * self.cache_read
        total += written * self.cache_write + written_1h * self.input * 2
        return total / MILLION

    def listed(self) -> dict[str, Any]:
        """The entry in GET /models."""
        return {
            "id": self.id,
            "canonical_slug": self.id,
            "name": self.name,
            "created": 1_775_000_000,
            "description": f"{self.name} (simulated)",
            "context_length": self.context,
            "architecture": {
                "modality": "text->text",
                "input_modalities": ["text"],
                "output_modalities": ["text"],
                "tokenizer": "Other",
                "instruct_type": None,
            },
            "pricing": {
                "prompt": _per_token(self.input),
                "completion": _per_token(self.output),
                "request": "0",
                "image": "0",
                "web_search": "0",
                "internal_reasoning": "0",
                "input_cache_read": _per_token(self.cache_read),
                "input_cache_write": _per_token(self.cache_write),
            },
            "top_provider": {
                "context_length": self.context,
                "max_completion_tokens": self.max_output,
                "is_moderated": False,
            },
            "per_request_limits": None,
            "supported_parameters": ["max_tokens", "reasoning", "temperature", "tools"],
            "default_parameters": {"temperature": 0.6, "top_p": 0.95},
        }


def _per_token(per_million: Decimal) -> str:
    return format((per_million / MILLION).normalize(), "f")


def _model(slug: str, name: str, prices: str, context: int, max_output: int = 65_536) -> Model:
    one = [Decimal(part) for part in prices.split()]
    return Model(slug, name, one[0], one[1], one[2], one[3], context, max_output)


MODELS = (
    _model("deepseek/deepseek-v4-flash", "DeepSeek: V4 Flash", "0.105 0.21 0.021 0.105", 1_048_576),
    _model("deepseek/deepseek-v4-pro", "DeepSeek: V4 Pro", "0.43 0.87 0.086 0.43", 1_048_576),
    _model("qwen/qwen3-coder-next", "Qwen: Qwen3 Coder Next", "0.12 0.80 0.06 0.12", 262_144),
    _model("qwen/qwen3.8-flash", "Qwen: Qwen3.8 Flash", "0.15 0.47 0.015 0.1875", 1_000_000),
    _model(
        "google/gemini-3.1-flash-lite",
        "Google: Gemini 3.1 Flash Lite",
        "0.25 1.50 0.025 0.25",
        1_048_576,
    ),
    _model("openai/gpt-5.4-nano", "OpenAI: GPT-5.4 Nano", "0.20 1.25 0.02 0.20", 400_000, 128_000),
    _model("openai/gpt-oss-20b:free", "OpenAI: gpt-oss-20b (free)", "0 0 0 0", 131_072),
    _model("z-ai/glm-5.3", "Z.AI: GLM 5.3", "0.60 2.20 0.11 0.60", 202_752),
    _model("z-ai/glm-5.3-flash", "Z.AI: GLM 5.3 Flash", "0.15 0.50 0.03 0.15", 202_752),
    _model("moonshotai/kimi-k3", "MoonshotAI: Kimi K3", "0.60 2.50 0.15 0.60", 262_144),
    _model("minimax/minimax-m3", "MiniMax: MiniMax M3", "0.30 1.20 0.03 0.375", 204_800),
)
BY_ID = {model.id: model for model in MODELS}
UNLISTED = _model("unlisted", "Unlisted", "0.10 0.20 0.02 0.10", 131_072)


def find_model(name: str) -> Model:
    """The model by its slug; a `#fault` suffix, a variant or a bare name is looked through."""
    plain = name.partition("#")[0].removesuffix("[1m]")
    if plain in BY_ID:
        return BY_ID[plain]
    for model in MODELS:
        if plain in {model.id.partition("/")[2], model.id.partition(":")[0]}:
            return model
    return UNLISTED


def count_tokens(text: str) -> int:
    """The simulator's tokenizer: four characters are a token, begun ones count."""
    return -(-len(text) // 4)
