"""Token counts of one request, in one meaning for every provider.

OpenAI-style answers count cached tokens inside the prompt and reasoning inside
the completion; Anthropic-style ones count cache reads and writes beside the
input. Here `input` is always the whole prompt and `output` the whole answer.
"""

from __future__ import annotations

from dataclasses import dataclass

MOST_TOKENS = 10**12
"""A larger count is a mistake of the writer, and would not fit sums."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one request. Parts are never added on top of their whole."""

    input: int = 0
    """All prompt tokens, cached ones included."""
    output: int = 0
    """All completion tokens, reasoning included."""
    cached: int = 0
    """Part of `input` read from the provider's cache."""
    cache_write: int = 0
    """Part of `input` written to the cache for 5 minutes."""
    cache_write_1h: int = 0
    """Part of `input` written to the cache for an hour."""
    reasoning: int = 0
    """Part of `output` spent on thinking."""

    @property
    def fresh(self) -> int:
        """Tokens counted as work: everything but cache reads."""
        return self.input - self.cached + self.output

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.input + other.input,
            self.output + other.output,
            self.cached + other.cached,
            self.cache_write + other.cache_write,
            self.cache_write_1h + other.cache_write_1h,
            self.reasoning + other.reasoning,
        )
