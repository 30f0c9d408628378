"""Says the savings in one line, per session and for all time, for the hooks to print."""

from __future__ import annotations

from workers_tui.engine.transcripts.number_words import count, signed
from workers_tui.engine.transcripts.savings import Figures
from workers_tui.engine.transcripts.savings_book import Book
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
