"""Says the savings in one line, per session and for all time, for the hooks to print."""

from __future__ import annotations

from workers_tui.engine.money import Pico, to_usd
from workers_tui.engine.savings import Figures
from workers_tui.engine.savings_book import Book
from workers_tui.home.notices import Notices

SESSIONS_KEPT = 100
"""Older sessions are not asked about any more."""


def notices_of(book: Book, all_time: Figures) -> Notices:
    """The lines of every session that delegated, newest kept."""
    newest = book.delegating_sessions()[-SESSIONS_KEPT:]
    lines = {session: line("this session", book.session_figures(session)) for session in newest}
    return Notices(
        line("so far", all_time), {session: text for session, text in lines.items() if text}
    )


def line(when: str, found: Figures) -> str:
    """One line; nothing when nothing was delegated."""
    if not found.jobs:
        return ""
    said = [] if found.percent is None else [f"workers did {found.percent:.0f} % of the work"]
    if found.kept_out_tokens > 0:
        said.append(f"{count(found.kept_out_tokens)} tokens kept out of Claude's context")
    said.append(f"net {signed(found.net_low_pico)} to {signed(found.net_high_pico)}")
    return f"workers, {when}: {', '.join(said)}"


def count(number: int) -> str:
    """Tokens as people say them: 840, 1.2k, 363k, 1.2M."""
    for unit, size in (("G", 10**9), ("M", 10**6), ("k", 10**3)):
        if abs(number) >= size:
            value = number / size
            return f"{value:.1f}{unit}" if abs(value) < 100 else f"{value:.0f}{unit}"
    return str(number)


def signed(pico: Pico | None) -> str:
    """Dollars with their sign; `?` when nobody knows."""
    if pico is None:
        return "?"
    usd = abs(to_usd(pico))
    text = f"{usd:.4f}" if 0 < usd < 1 and usd * 100 % 1 else f"{usd:,.2f}"
    return f"{'-' if pico < 0 else '+'}${text}"
