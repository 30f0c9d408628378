"""What the user is told when the cap stands in the way of a request. Words only, no decisions."""

from __future__ import annotations

from workers_tui.engine.money import Pico, text_usd
from workers_tui.engine.spending.spend import Spend


def why_refused(pico: Pico, spend: Spend) -> str:
    """There is no room, and none will come today by itself."""
    ends = f"the day ends {spend.resets_at:%Y-%m-%d %H:%M} UTC ({spend.timezone})"
    return f"no room under the daily cap: {_figures(pico, spend)}; {ends}"


def why_it_waits(pico: Pico, spend: Spend) -> str:
    """There will be room when others cost less than they may."""
    return f"waits for {spend.holds} running calls to settle: {_figures(pico, spend)}"


def _figures(pico: Pico, spend: Spend) -> str:
    return (
        f"spent {text_usd(spend.spent_pico)}, held {text_usd(spend.held_pico)},"
        f" this call up to {text_usd(pico)}, cap {text_usd(spend.cap_pico or 0)}"
    )
