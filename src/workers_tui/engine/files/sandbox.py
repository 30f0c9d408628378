"""The only door to a path that a caller named: reads files into pieces, writes answers.

What a spec stands for (path, range, directory, glob) is decided here; where it
really lies and how it is opened is `confined`'s, how it is written `write_whole`'s.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

from pathspec import GitIgnoreSpec

from workers_tui.engine.errors import (
    ConfigError,
    SandboxRefused,
    WrongUse,
)
from workers_tui.engine.files.confined import Place, Roots, shown
from workers_tui.engine.files.denied import key_file
from workers_tui.engine.files.file_text import WIDE_BOMS, NotText, decode
from workers_tui.engine.files.listing import (
    GLOB_SIGNS,
    BadGlob,
    TooMuchToList,
    files_below,
    glob_base,
    glob_regex,
)
from workers_tui.engine.files.write_whole import Written, check_target, write_whole
from workers_tui.home.files import is_directory

__all__ = ["FILES_LIMIT", "Piece", "Sandbox", "Written"]

FILES_LIMIT = 200
SCAN_LIMIT = 1 << 30
"""Bytes read in search of a line range."""
CHUNK = 1 << 20
RANGE = re.compile(r"(?P<path>.+):(?P<start>\d{1,9})(?P<dash>-(?P<end>\d{1,9})?)?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Piece:
    """A file, or lines of one, as a worker gets to see it."""

    path: str
    """As shown to the worker, relative to its root."""
    start: int
    """First line, from 1; 0 for an empty file."""
    end: int
    """Last line."""
    text: str
    bytes: int
    """Size of `text` in UTF-8: what leaves the machine."""
    sha256: str
    """Of those bytes."""
    cut: bool = False
    """The file goes on beyond the size limit."""
    note: str = ""
    """What the reader should know: cut, decoded, files left out."""
    size: int = 0
    """Bytes of the whole file on disk."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """One file to read."""

    place: Place
    first: int = 1
    last: int | None = None
    named: bool = True
    """By its own name, not by a directory or a glob."""

    @property
    def ranged(self) -> bool:
        return self.first > 1 or self.last is not None


class Sandbox:
    """Reads and writes for one caller. Raises WrongUse and SandboxRefused."""

    def __init__(
        self,
        roots: Sequence[Path],
        *,
        deny_read: Sequence[str] = (),
        deny_write: Sequence[str] = (),
        allow: Sequence[str] = (),
        private: Sequence[Path] = (),
    ) -> None:
        """`deny_*` and `allow` are .gitignore patterns; `allow` only lifts the key-file names.

        `private` directories are never opened, wherever the roots are.
        """
        self._roots = Roots(roots, private)
        self._deny_read = _patterns("deny_read", deny_read)
        self._deny_write = _patterns("deny_write", deny_write)
        self._allow = _patterns("allow_secrets", allow)

    async def read(self, specs: Sequence[str], *, max_file_bytes: int) -> list[Piece]:
        """Everything that `specs` stand for: paths, globs, directories, `path:10-200`."""
        return await asyncio.to_thread(self.read_now, specs, max_file_bytes)

    def check_write(self, target: str) -> Path:
        """The absolute path that `write` would write, or an error. Blocking; changes nothing."""
        return check_target(self._roots, target, self._deny_write).path

    async def write(
        self, target: str, text: str, keep: Callable[[Path], None] | None = None
    ) -> Written:
        """Replace the target whole; `keep` gets its path first when it exists already."""
        return await asyncio.to_thread(self.write_now, target, text, keep)

    def read_now(self, specs: Sequence[str], max_file_bytes: int) -> list[Piece]:
        """`read` for a thread of one's own."""
        groups = [list(self._expand(spec)) for spec in specs]
        count = len({wanted.place for group in groups for wanted in group})
        if count > FILES_LIMIT:
            raise WrongUse(
                f"{count} files are asked for, at most {FILES_LIMIT} go with one job: "
                "name fewer, narrow the glob, or split the work with delegate_batch"
            )
        pieces: dict[tuple[Place, int, int | None], Piece] = {}
        for spec, group in zip(specs, groups, strict=True):
            for wanted, piece in self._group(spec, group, max_file_bytes):
                pieces.setdefault((wanted.place, wanted.first, wanted.last), piece)
        return list(pieces.values())

    def _group(self, spec: str, group: list[Wanted], limit: int) -> list[tuple[Wanted, Piece]]:
        """Pieces of one spec; in a directory or glob, what cannot go is left out and said."""
        taken: list[tuple[Wanted, Piece]] = []
        left_out: list[str] = []
        for wanted in group:
            try:
                taken.append((wanted, self._piece(wanted, limit)))
            except (WrongUse, SandboxRefused) as error:
                if wanted.named:
                    raise
                left_out.append(str(error).partition(" (")[0])
        if left_out and not taken:
            raise WrongUse(f"nothing in {shown(spec)} can be sent: {left_out[0]}")
        if left_out:
            wanted, last = taken[-1]
            some = "; ".join(left_out[:3])
            note = f"{len(left_out)} of the files in {shown(spec)} left out ({some})"
            taken[-1] = wanted, replace(last, note=_join(last.note, note))
        return taken

    def _expand(self, spec: str) -> Iterator[Wanted]:
        place = self._roots.locate(spec)
        if os.path.lexists(place.path):
            yield from self._existing(place, spec)
            return
        match = RANGE.fullmatch(spec)
        if match is not None:
            yield self._range(match)
        elif GLOB_SIGNS.search(spec):
            yield from self._glob(spec)
        else:
            raise WrongUse(f"no such file: {shown(spec)} (looked in {self._roots.shown()})")

    def _existing(self, place: Place, spec: str) -> Iterator[Wanted]:
        if not is_directory(place.path):
            yield Wanted(place)
            return
        found = self._list(place, spec)
        if not found:
            raise WrongUse(f"{shown(spec)} holds no text files (.gitignore is honoured)")
        yield from found

    def _list(self, top: Place, spec: str, matches: Callable[[str], object] = bool) -> list[Wanted]:
        try:
            return [
                Wanted(Place(top.root, parts), named=False)
                for parts in files_below(top.path, top.root)
                if matches("/".join(parts[len(top.parts) :]))
            ]
        except TooMuchToList:
            raise WrongUse(
                f"{shown(spec)} holds too many files to list: name a smaller directory"
            ) from None

    def _range(self, match: re.Match[str]) -> Wanted:
        place = self._roots.locate(match["path"])
        if not os.path.lexists(place.path):
            raise WrongUse(
                f"no such file: {shown(match['path'])} (looked in {self._roots.shown()})"
            )
        first = int(match["start"])
        last = first if match["dash"] is None else int(match["end"]) if match["end"] else None
        if first < 1 or (last is not None and last < first):
            raise WrongUse(f"{shown(match[0])}: a line range counts from 1 and goes upwards")
        return Wanted(place, first, last)

    def _glob(self, spec: str) -> list[Wanted]:
        base = glob_base(spec, lambda part: is_directory(self._roots.locate(part or "/").path))
        top = self._roots.locate(base or ("/" if spec.startswith("/") else "."))
        if not is_directory(top.path):
            raise WrongUse(f"no file matches {shown(spec)} (looked in {self._roots.shown()})")
        try:
            pattern = glob_regex(spec[len(base) :].lstrip("/"))
        except BadGlob as error:
            raise WrongUse(f"{shown(spec)} is no glob: {error}") from None
        found = self._list(top, spec, pattern.match)
        if not found:
            raise WrongUse(
                f"no file matches {shown(spec)} (looked in {shown(str(top.path))}; "
                ".gitignore is honoured)"
            )
        return found

    def _piece(self, wanted: Wanted, limit: int) -> Piece:
        self._check_read(wanted.place)
        name = self._roots.name(wanted.place)
        with self._roots.open(wanted.place) as file:
            size = os.fstat(file.fileno()).st_size
            raw, more = _lines(file, wanted, limit) if wanted.ranged else _head(file, limit)
        try:
            text = decode(raw, more=more)
        except NotText as error:
            raise WrongUse(f"{name} is not a text file ({error}): it is not sent") from None
        if wanted.ranged and not raw:
            raise WrongUse(f"{name} ends before line {wanted.first}")
        lines = text.text.count("\n") + (not text.text.endswith("\n") and text.text != "")
        sent = text.text.encode("utf-8", "replace")
        end = wanted.first + lines - 1
        cut = f"cut after line {end}: the file has {size:,} bytes, the limit is {limit:,}"
        return Piece(
            path=name,
            start=wanted.first if lines else 0,
            end=end if lines else 0,
            text=text.text,
            bytes=len(sent),
            sha256=hashlib.sha256(sent).hexdigest(),
            cut=text.cut,
            note=_join(text.note, cut if text.cut else ""),
            size=size,
        )

    def _check_read(self, place: Place) -> None:
        if self._deny_read.match_file(place.below):
            raise SandboxRefused(f"{shown(place.below)} is on the deny_read list of models.json")
        kind = key_file(str(place.path))
        if kind and not self._allow.match_file(place.below):
            raise SandboxRefused(
                f"{shown(place.below)} is never sent: {kind} (if it is harmless, add its path "
                "to allow_secrets in models.json)"
            )

    def write_now(
        self, target: str, text: str, keep: Callable[[Path], None] | None = None
    ) -> Written:
        """`write` for a thread of one's own."""
        place = check_target(self._roots, target, self._deny_write)
        return write_whole(self._roots, place, text, keep)


def _patterns(setting: str, lines: Sequence[str]) -> GitIgnoreSpec:
    try:
        return GitIgnoreSpec.from_lines(lines)
    except ValueError as error:
        raise ConfigError(
            f"{setting} in models.json holds a pattern that is none: {error}"
        ) from None


def _head(file: BinaryIO, limit: int) -> tuple[bytes, bool]:
    raw = file.read(limit + 1)
    return raw[:limit], len(raw) > limit


def _lines(file: BinaryIO, wanted: Wanted, limit: int) -> tuple[bytes, bool]:
    """Bytes of the wanted lines, at most `limit`; the second value: there were more."""
    if file.read(4).startswith(WIDE_BOMS):
        raise WrongUse(f"{shown(wanted.place.below)} is UTF-16 or UTF-32: ask for the whole file")
    file.seek(0)
    taken = bytearray()
    number = 1
    scanned = 0
    while scanned < SCAN_LIMIT:
        chunk = file.readline(CHUNK)
        if not chunk or (wanted.last is not None and number > wanted.last):
            return bytes(taken), False
        scanned += len(chunk)
        if number >= wanted.first:
            taken += chunk
        if len(taken) > limit:
            return bytes(taken[:limit]), True
        number += chunk.endswith(b"\n")
    raise WrongUse(f"{shown(wanted.place.below)} is too large to look for line {wanted.first}")


def _join(*notes: str) -> str:
    return "; ".join(note for note in notes if note)
