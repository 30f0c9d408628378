"""The same user and provider as in the contracts' tests, and a dashboard to look at."""

from __future__ import annotations

from tests.contracts.conftest import own_provider, program, provider, zygote

__all__ = ["own_provider", "program", "provider", "zygote"]
