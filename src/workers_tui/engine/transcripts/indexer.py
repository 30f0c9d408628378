"""Brings the index up to date: lists files, reads what is new, applies it in short steps.

Synchronous, for a thread of its own or a command; the caller gives the
function that runs a transaction. A file's place is remembered, so a wake-up
for one file looks at nothing else.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from sqlite3 import Connection
from typing import Any, TypeVar

from workers_tui.engine.transcripts import index
from workers_tui.engine.transcripts.cells import CellKey, Sums
from workers_tui.engine.transcripts.index import FileNews
from workers_tui.engine.transcripts.transcript_child import Task
from workers_tui.engine.transcripts.transcript_files import (
    Listing,
    Source,
    TranscriptFile,
    file_at,
    list_files,
)
from workers_tui.engine.transcripts.transcript_place import Place
from workers_tui.engine.transcripts.transcript_pool import read_all

T = TypeVar("T")
Transact = Callable[[Callable[[Connection], T]], T]
Told = Callable[[int], None]
"""Hears how many bytes a step has read."""


@dataclass(slots=True)
class Refreshed:
    """What a refresh found."""

    deltas: list[dict[CellKey, Sums]] = field(default_factory=list)
    """What the cells gained, one transaction after the other."""
    paths: list[str] = field(default_factory=list)
    """Files that were read."""
    errors: int = 0
    """New messages by which Claude Code tells that the API failed."""
    delegated: bool = False
    """Something about delegation was among the news."""
    unreadable: list[str] = field(default_factory=list)
    """What could not be listed or read, with the reason."""
    left: int = 0
    """Bytes that are too many to be read here; nothing was read then."""

    @property
    def files(self) -> int:
        """How many files were read."""
        return len(self.paths)


class Indexer:
    """One process's view of how far every file was read."""

    def __init__(self, transact: Transact[Any], sources: Sequence[Source]) -> None:
        self._transact = transact
        self.sources = list(sources)
        self.ids: dict[Source, int] = transact(lambda conn: index.prepare_sources(conn, sources))
        self._places: dict[Source, dict[str, Place]] = {}
        self._looked: dict[Source, Listing] = {}
        """What `waiting` found, for the refresh that follows it."""
        self._refused: dict[str, TranscriptFile] = {}
        """Files as they were when they could not be read."""

    def refresh(self, told: Told | None = None) -> Refreshed:
        """Look at every directory and take what is new."""
        done = Refreshed()
        for source in self.sources:
            listing = self._looked.pop(source, None) or list_files(source)
            done.unreadable += listing.unreadable
            self._take(source, listing, done, told)
        return done

    def waiting(self, paths: Iterable[str] | None = None) -> int:
        """About how many bytes a refresh would read, of all files or of some.

        The refresh that follows a look at all need not look again. A file that
        could not be read waits for nobody until it changes.
        """
        if paths is None:
            looks = self._looked = {source: list_files(source) for source in self.sources}
        else:
            wanted = list(paths)
            looks = {source: Listing(_files_at(source, wanted)) for source in self.sources}
        return sum(
            _task(file, place).bytes
            for source, listing in looks.items()
            for file, place in self._new(source, listing.files)
            if self._refused.get(file.path) != file
        )

    def forget(self) -> None:
        """Look anew, and ask the index: another process went on with the files."""
        self._places.clear()
        self._looked.clear()

    def refresh_paths(self, paths: Iterable[str]) -> Refreshed:
        """Take what is new in these files."""
        done, wanted = Refreshed(), list(paths)
        for source in self.sources:
            self._take(source, Listing(_files_at(source, wanted)), done)
        return done

    def hot(self, within: int) -> list[str]:
        """Files written within so many nanoseconds."""
        begin = time.time_ns() - within
        known = (places.items() for places in self._places.values())
        return [path for places in known for path, place in places if place.mtime >= begin]

    def _take(
        self, source: Source, listing: Listing, done: Refreshed, told: Told | None = None
    ) -> None:
        new = [file for file, _ in self._new(source, listing.files)]
        for batch in index.batches(self._read(source, new, done)):
            done.deltas.append(self._apply(source, batch))
            places = self._places[source]
            for item in batch:
                places[item.file.path] = item.news.place
                done.paths.append(item.file.path)
                done.errors += item.news.errors
                news = item.news
                done.delegated |= bool(news.delegations or news.returns or news.reads)
            if told is not None:
                told(sum(_task(item.file, item.begun).bytes for item in batch))

    def _new(
        self, source: Source, files: list[TranscriptFile]
    ) -> list[tuple[TranscriptFile, Place | None]]:
        """The files that are not what was read, with how far they were."""
        if not files:
            return []  # and perhaps none of the index's sources
        known = self._known(source).get
        return [(file, place) for file in files if is_new(file, place := known(file.path))]

    def _apply(self, source: Source, batch: list[FileNews]) -> dict[CellKey, Sums]:
        number = self.ids[source]
        gained: dict[CellKey, Sums] = self._transact(lambda conn: index.apply(conn, number, batch))
        return gained

    def _known(self, source: Source) -> dict[str, Place]:
        if source not in self._places:
            number = self.ids[source]
            self._places[source] = self._transact(lambda conn: index.places(conn, number))
        return self._places[source]

    def _read(
        self, source: Source, files: list[TranscriptFile], done: Refreshed
    ) -> Iterator[FileNews]:
        # A second process would hand over what it found: two readers and the one who writes
        # take a third more of the processors than one that does both.
        for item in read_files(files, self._places.get(source, {}), processes=1):
            if item.news.error:
                done.unreadable.append(f"{item.file.path}: {item.news.error}")
                self._refused[item.file.path] = item.file
            else:
                yield item


def _files_at(source: Source, paths: Iterable[str]) -> list[TranscriptFile]:
    return [file for path in paths if (file := file_at(source, path)) is not None]


def is_new(file: TranscriptFile, place: Place | None) -> bool:
    """The file is not, or no longer, what was read."""
    return (
        place is None
        or file.mtime != place.mtime
        or file.size != place.size
        or file.inode != place.inode
        or file.device != place.device
    )


def read_files(
    files: Iterable[TranscriptFile],
    places: dict[str, Place],
    *,
    processes: int | None = None,
) -> Iterator[FileNews]:
    """The news of some files; the file that ended first comes first, as the rule says."""
    ordered = sorted(files, key=lambda file: (file.mtime, file.path))
    tasks = [_task(file, places.get(file.path)) for file in ordered]
    news = read_all(tasks, processes=processes)
    for file, task, one in zip(ordered, tasks, news, strict=True):
        yield FileNews(file, task.place, one)


def _task(file: TranscriptFile, place: Place | None) -> Task:
    offset = place.offset if place is not None and place.inode == file.inode else 0
    return Task(file.path, file.session, max(0, file.size - offset), place)
