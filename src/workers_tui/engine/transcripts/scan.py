"""Transcripts folded in memory, without an index: what the files say today.

For a home that cannot be written, and to check the index against.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from operator import attrgetter

from workers_tui.engine.transcripts.cells import Counts, day_of, step_of, sums_of
from workers_tui.engine.transcripts.index_query import NO_FILES, CellRow, FileCounts
from workers_tui.engine.transcripts.indexer import read_files
from workers_tui.engine.transcripts.messages import Merging
from workers_tui.engine.transcripts.transcript_files import Source, list_files
from workers_tui.engine.transcripts.transcript_lines import Message, seconds


@dataclass(slots=True)
class Scanned:
    """Sums of everything that was read."""

    rows: list[CellRow] = field(default_factory=list)
    files: FileCounts = NO_FILES
    unreadable: list[str] = field(default_factory=list)


def scan(sources: Sequence[Source], *, processes: int | None = None) -> Scanned:
    """Read every transcript of the sources; owners are folded apart."""
    done = Scanned()
    for owner in dict.fromkeys(source.owner for source in sources):
        _scan_owner([source for source in sources if source.owner == owner], done, processes)
    return done


def _scan_owner(sources: list[Source], done: Scanned, processes: int | None) -> None:
    merging, paths = Merging(), dict[str, str]()
    found: list[tuple[str, list[Message]]] = []
    for source in sources:
        listing = list_files(source)
        done.unreadable += listing.unreadable
        for item in read_files(listing.files, {}, processes=processes):
            news = item.news
            if news.error:
                done.unreadable.append(f"{item.file.path}: {news.error}")
                continue
            project = item.file.project
            found.append((project, merging.add(news.messages)))
            if news.cwd:
                paths.setdefault(project, news.cwd)
            done.files = done.files.plus(news)
    done.rows += _rows(sources[0].owner, found, paths)


_counts: Callable[[Message], Counts] = attrgetter(
    "input", "output", "creation", "creation_1h", "read", "web", "flags"
)


def _rows(
    owner: str, found: list[tuple[str, list[Message]]], paths: dict[str, str]
) -> list[CellRow]:
    """Cells of the messages that were found first in some project."""
    cells: dict[tuple[str, str, str, int, int], list[Message]] = defaultdict(list)
    for project, messages in found:
        for m in messages:
            step = step_of(m.input + m.creation + m.read)
            cells[project, m.session, m.model, day_of(seconds(m.at)), step].append(m)
    return [
        CellRow(
            owner, project, paths.get(project, ""), session, model, day, step,
            sums_of([*map(_counts, some)]),
        )
        for (project, session, model, day, step), some in cells.items()
    ]  # fmt: skip
