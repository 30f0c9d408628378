"""Transcripts folded in memory, without an index: what the files say today.

For a home that cannot be written, and to check the index against.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from workers_tui.engine.transcripts.cells import NOTHING, Sums, day_of, of_counts, step_of
from workers_tui.engine.transcripts.index_query import NO_FILES, CellRow, FileCounts
from workers_tui.engine.transcripts.indexer import read_files
from workers_tui.engine.transcripts.messages import Merging
from workers_tui.engine.transcripts.transcript_files import Source, list_files
from workers_tui.engine.transcripts.transcript_lines import seconds


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
    merging, homes, paths = Merging(), dict[str, str](), dict[str, str]()
    for source in sources:
        listing = list_files(source)
        done.unreadable += listing.unreadable
        for item in read_files(listing.files, {}, processes=processes):
            news = item.news
            if news.error:
                done.unreadable.append(f"{item.file.path}: {news.error}")
                continue
            project = item.file.project
            merging.add(news.messages)
            for message in news.messages:
                homes.setdefault(message.key, project)
            if news.cwd:
                paths.setdefault(project, news.cwd)
            done.files = done.files.plus(news)
    done.rows += _rows(sources[0].owner, merging, homes, paths)


def _rows(
    owner: str, merging: Merging, homes: dict[str, str], paths: dict[str, str]
) -> list[CellRow]:
    cells: dict[tuple[str, str, str, int, int], Sums] = {}
    for key, m in merging.messages.items():
        counts = (m.input, m.output, m.creation, m.creation_1h, m.read, m.web)
        step = step_of(m.input + m.creation + m.read)
        cell = (homes[key], m.session, m.model, day_of(seconds(m.at)), step)
        cells[cell] = cells.get(cell, NOTHING).plus(of_counts(counts, m.flags))
    return [
        CellRow(owner, project, paths.get(project, ""), session, model, day, step, sums)
        for (project, session, model, day, step), sums in cells.items()
    ]
