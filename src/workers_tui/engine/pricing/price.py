"""One model's price as a value: what a usage costs, and the most a request can cost."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from workers_tui.engine.money import Pico, from_usd
from workers_tui.engine.usage import Usage

MILLION = 10**6


@dataclass(frozen=True, slots=True)
class Rates:
    """USD per million tokens."""

    input: Decimal
    output: Decimal
    cache_read: Decimal | None = None
    """None: as `input`."""
    cache_write: Decimal | None = None
    """None: as `input`."""
    cache_write_1h: Decimal | None = None
    """None: as `cache_write`."""
    above: int = 0
    """Holds for whole requests with more input tokens than this."""

    @property
    def dearest_input(self) -> Decimal:
        """The most a prompt token can cost."""
        rates = (self.input, self.cache_read, self.cache_write, self.cache_write_1h)
        return max(rate for rate in rates if rate is not None)


@dataclass(frozen=True, slots=True)
class Price:
    """What a model costs. Long prompts may have rates of their own."""

    input: Decimal
    """USD per million prompt tokens."""
    output: Decimal
    """USD per million answer tokens."""
    cache_read: Decimal | None = None
    cache_write: Decimal | None = None
    cache_write_1h: Decimal | None = None
    request: Decimal = Decimal(0)
    """USD for each request, whatever its size."""
    steps: tuple[Rates, ...] = ()
    """Rates of long prompts, shortest first."""
    source: str = ""
    """`models.json`, `openrouter list 2026-11-29`, `genai-prices`, `loopback`."""
    context: int | None = None
    """Tokens the model takes, where the source says."""

    @property
    def base(self) -> Rates:
        """The rates of an ordinary prompt."""
        return Rates(
            self.input, self.output, self.cache_read, self.cache_write, self.cache_write_1h
        )

    def rates_for(self, input_tokens: int) -> Rates:
        """The rates of a request with so many prompt tokens in all."""
        steps = (self.base, *self.steps)
        return [rates for rates in steps if rates.above == 0 or input_tokens > rates.above][-1]

    def cost_pico(self, usage: Usage) -> Pico:
        """What these tokens cost."""
        rates = self.rates_for(usage.input)
        read = rates.input if rates.cache_read is None else rates.cache_read
        write = rates.input if rates.cache_write is None else rates.cache_write
        write_1h = write if rates.cache_write_1h is None else rates.cache_write_1h
        plain = usage.input - usage.cached - usage.cache_write - usage.cache_write_1h
        total = (
            max(0, plain) * rates.input
            + usage.cached * read
            + usage.cache_write * write
            + usage.cache_write_1h * write_1h
            + usage.output * rates.output
        )
        return from_usd(total / MILLION + self.request)

    def highest(self, input_tokens: int) -> Rates:
        """The dearest rates that a prompt of at most so many tokens can meet."""
        steps = [self.base, *(rates for rates in self.steps if input_tokens > rates.above)]
        return Rates(
            max(rates.dearest_input for rates in steps), max(rates.output for rates in steps)
        )

    def bound_pico(self, input_tokens: int, output_tokens: int, margin: Decimal) -> Pico:
        """The most that a request within these bounds can cost; `margin` 0.25 adds a quarter."""
        rates = self.highest(input_tokens)
        total = (input_tokens * rates.input + output_tokens * rates.output) / MILLION
        return from_usd((total + self.request) * (1 + margin))


FREE = Price(Decimal(0), Decimal(0), source="loopback")
"""A model on this machine that nobody priced."""
