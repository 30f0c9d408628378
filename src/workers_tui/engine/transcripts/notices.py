"""Says the savings in one line, per session and for all time, for the hooks to print.

For the user's eyes: no hook gives these lines to the model.
"""

from __future__ import annotations

from collections.abc import Sequence

from workers_tui.engine.transcripts.number_words import count, signed
from workers_tui.engine.transcripts.savings import Figures
from workers_tui.engine.transcripts.savings_book import Book
from workers_tui.home.notices import Notices

SESSIONS_KEPT = 100
"""Older sessions are not asked about any more."""
LONGEST_NAME = 24
NAMED = 2
"""Workers that a line names; of the others it says how many they are."""


def notices_of(book: Book) -> Notices:
    """The lines of every session that delegated, newest kept."""
    newest = book.jobs.sessions[-SESSIONS_KEPT:]
    lines = {
        session: session_line(book.session_figures(session), book.jobs.workers(session))
        for session in newest
    }
    told = {session: text for session, text in lines.items() if text}
    return Notices(all_time_line(book.ever()), told)


def session_line(found: Figures, workers: Sequence[tuple[str, int]]) -> str:
    """How a session's work was split; nothing while nobody worked. `workers`: most work first."""
    if not found.worker_fresh or found.percent is None:
        return ""
    rest = found.worker_fresh - sum(fresh for _, fresh in workers)
    everybody = [*workers, *([("others", rest)] if rest > 0 else [])]
    parts = [f"{_plain(name)} {count(fresh)}" for name, fresh in everybody[:NAMED]]
    parts += [f"+{len(everybody) - NAMED}"] if len(everybody) > NAMED else []
    own = count(found.all_fresh - found.worker_fresh)
    return (
        f"workers handled {found.percent:.0f} % of this session's tokens "
        f"({', '.join(parts)} vs Claude {own})"
    )


def _plain(name: str) -> str:
    """A name that a provider gave, for a terminal."""
    return "".join(one if one.isprintable() else "?" for one in name[:LONGEST_NAME])


def all_time_line(found: Figures) -> str:
    """What delegation saved so far; nothing when nothing was delegated."""
    if not found.jobs:
        return ""
    said = [] if found.percent is None else [f"workers handled {found.percent:.0f} % of the tokens"]
    if found.kept_out_tokens > 0:
        said.append(f"{count(found.kept_out_tokens)} tokens kept out of Claude's context")
    said.append(f"net {signed(found.net_low_pico)} to {signed(found.net_high_pico)}")
    return f"workers, so far: {', '.join(said)}"
