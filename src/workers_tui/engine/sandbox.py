"""The only place that opens a path a caller named, for reading or for writing.

Every path is resolved, must lie under one of the roots, and is then opened part
by part from the root without following a link: a path that is swapped between
the check and the opening fails instead of leaving the sandbox.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import hashlib
import os
import re
import secrets as randomness
import stat
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

from pathspec import GitIgnoreSpec

from workers_tui.engine.denied import key_file, obeyed_file
from workers_tui.engine.errors import SandboxRefused, WorkersError, WorkFailed, WrongUse
from workers_tui.engine.file_text import WIDE_BOMS, NotText, decode
from workers_tui.engine.listing import (
    GLOB_SIGNS,
    TooMuchToList,
    files_below,
    glob_base,
    glob_regex,
)

FILES_LIMIT = 200
SCAN_LIMIT = 1 << 30
"""Bytes read in search of a line range."""
CHUNK = 1 << 20
RANGE = re.compile(r"(?P<path>.+):(?P<start>\d{1,9})(?P<dash>-(?P<end>\d{1,9})?)?", re.DOTALL)

DIR_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# O_NONBLOCK: a FIFO put in a file's place must not hold the thread.
READ_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
WRITE_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


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
class Written:
    """An answer that became a file."""

    path: Path
    lines: int


@dataclass(frozen=True, slots=True)
class Place:
    """A path that lies under a root; nothing in it is a link at the time of the check."""

    root: Path
    parts: tuple[str, ...]

    @property
    def path(self) -> Path:
        return self.root.joinpath(*self.parts)

    @property
    def below(self) -> str:
        """Relative to the root, with `/`."""
        return "/".join(self.parts) or "."


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
        self._roots = [Path(os.path.realpath(root)) for root in roots]
        self._private = [Path(os.path.realpath(path)) for path in private]
        self._deny_read = GitIgnoreSpec.from_lines(deny_read)
        self._deny_write = GitIgnoreSpec.from_lines(deny_write)
        self._allow = GitIgnoreSpec.from_lines(allow)

    async def read(self, specs: Sequence[str], *, max_file_bytes: int) -> list[Piece]:
        """Everything that `specs` stand for: paths, globs, directories, `path:10-200`."""
        return await asyncio.to_thread(self.read_now, specs, max_file_bytes)

    async def check_write(self, target: str) -> Path:
        """The absolute path that `write` would write, or an error; the disk stays as it is."""
        place = await asyncio.to_thread(self._target, target)
        return place.path

    async def write(
        self, target: str, text: str, keep: Callable[[Path], None] | None = None
    ) -> Written:
        """Replace the target whole; `keep` gets its path first when it exists already."""
        return await asyncio.to_thread(self.write_now, target, text, keep)

    # ---- reading -------------------------------------------------------------------------

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
            raise WrongUse(f"nothing in {_shown(spec)} can be sent: {left_out[0]}")
        if left_out:
            wanted, last = taken[-1]
            some = "; ".join(left_out[:3])
            note = f"{len(left_out)} of the files in {_shown(spec)} left out ({some})"
            taken[-1] = wanted, replace(last, note=_join(last.note, note))
        return taken

    def _expand(self, spec: str) -> Iterator[Wanted]:
        place = self._locate(spec)
        if os.path.lexists(place.path):
            yield from self._existing(place, spec)
            return
        match = RANGE.fullmatch(spec)
        if match is not None:
            yield self._range(match)
        elif GLOB_SIGNS.search(spec):
            yield from self._glob(spec)
        else:
            raise WrongUse(f"no such file: {_shown(spec)} (looked in {self._roots_shown()})")

    def _existing(self, place: Place, spec: str) -> Iterator[Wanted]:
        if not place.path.is_dir():
            yield Wanted(place)
            return
        found = self._list(place, spec)
        if not found:
            raise WrongUse(f"{_shown(spec)} holds no text files (.gitignore is honoured)")
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
                f"{_shown(spec)} holds too many files to list: name a smaller directory"
            ) from None

    def _range(self, match: re.Match[str]) -> Wanted:
        place = self._locate(match["path"])
        if not os.path.lexists(place.path):
            raise WrongUse(
                f"no such file: {_shown(match['path'])} (looked in {self._roots_shown()})"
            )
        first = int(match["start"])
        last = first if match["dash"] is None else int(match["end"]) if match["end"] else None
        if first < 1 or (last is not None and last < first):
            raise WrongUse(f"{_shown(match[0])}: a line range counts from 1 and goes upwards")
        return Wanted(place, first, last)

    def _glob(self, spec: str) -> list[Wanted]:
        base = glob_base(spec, lambda part: self._locate(part or "/").path.is_dir())
        top = self._locate(base or ("/" if spec.startswith("/") else "."))
        if not top.path.is_dir():
            raise WrongUse(f"no file matches {_shown(spec)} (looked in {self._roots_shown()})")
        pattern = glob_regex(spec[len(base) :].lstrip("/"))
        found = self._list(top, spec, pattern.match)
        if not found:
            raise WrongUse(
                f"no file matches {_shown(spec)} (looked in {_shown(str(top.path))}; "
                ".gitignore is honoured)"
            )
        return found

    def _piece(self, wanted: Wanted, limit: int) -> Piece:
        self._check_read(wanted.place)
        shown = self._name(wanted.place)
        with self._open(wanted.place) as file:
            size = os.fstat(file.fileno()).st_size
            raw, more = _lines(file, wanted, limit) if wanted.ranged else _head(file, limit)
        try:
            text = decode(raw, more=more)
        except NotText as error:
            raise WrongUse(f"{shown} is not a text file ({error}): it is not sent") from None
        if wanted.ranged and not raw:
            raise WrongUse(f"{shown} ends before line {wanted.first}")
        lines = text.text.count("\n") + (not text.text.endswith("\n") and text.text != "")
        sent = text.text.encode("utf-8", "replace")
        end = wanted.first + lines - 1
        cut = f"cut after line {end}: the file has {size:,} bytes, the limit is {limit:,}"
        return Piece(
            path=shown,
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
            raise SandboxRefused(f"{_shown(place.below)} is on the deny_read list of models.json")
        kind = key_file(str(place.path))
        if kind and not self._allow.match_file(place.below):
            raise SandboxRefused(
                f"{_shown(place.below)} is never sent: {kind} (if it is harmless, add its path "
                "to allow_secrets in models.json)"
            )

    # ---- writing -------------------------------------------------------------------------

    def write_now(
        self, target: str, text: str, keep: Callable[[Path], None] | None = None
    ) -> Written:
        """`write` for a thread of one's own."""
        place = self._target(target)
        try:
            with self._directory(place.root, place.parts[:-1], make=True) as directory:
                mode = _old_mode(place, directory)
                if mode is not None and keep is not None:
                    keep(place.path)
                _replace(directory, place.parts[-1], text.encode("utf-8", "replace"), mode)
        except OSError as error:
            raise WorkFailed(
                f"{_shown(str(place.path))} could not be written ({error.strerror or error}); "
                "the old file is untouched and the answer is kept under its job id"
            ) from error
        lines = text.count("\n") + (not text.endswith("\n") and text != "")
        return Written(place.path, lines)

    def _target(self, target: str) -> Place:
        place = self._locate(target)
        if not place.parts or target.endswith("/") or place.path.is_dir():
            raise WrongUse(f"{_shown(target)} is a directory: name a file to write to")
        if os.path.lexists(place.path) and not place.path.is_file():
            raise SandboxRefused(f"{_shown(target)} is not a regular file: it is not written")
        why = obeyed_file(str(place.path)) or obeyed_file("/" + target)
        if why:
            raise SandboxRefused(
                f"{_shown(target)} is not written by a worker: {why} (let it write to another "
                "name, read that, and move it yourself)"
            )
        if self._deny_write.match_file(place.below):
            raise SandboxRefused(f"{_shown(target)} is on the deny_write list of models.json")
        return place

    # ---- places --------------------------------------------------------------------------

    def _locate(self, spec: str) -> Place:
        """Where a path really is, whether it exists or not. Raises when that is outside."""
        if not self._roots:
            raise SandboxRefused(
                "no directory may be read: the client named none; start it in a project, "
                "or set WORKERS_ALLOWED_ROOTS"
            )
        if not spec or "\0" in spec:
            raise WrongUse("an empty path, or one with a NUL in it, names no file")
        try:
            path = Path(spec).expanduser() if spec.startswith("~/") else Path(spec)
            real = Path(os.path.realpath(self._roots[0] / path))
        except (OSError, ValueError, RuntimeError):  # not encodable, or no home to expand
            raise WrongUse(f"{_shown(spec)} names no file") from None
        for root in self._roots:
            if real.is_relative_to(root):
                return self._not_private(Place(root, real.relative_to(root).parts), spec)
        raise self._outside(spec)

    def _not_private(self, place: Place, spec: str) -> Place:
        for private in self._private:
            # A project that lies inside our home was put there by its owner.
            inside = place.root != private and place.root.is_relative_to(private)
            if place.path.is_relative_to(private) and not inside:
                raise SandboxRefused(
                    f"{_shown(spec)} belongs to workers-tui itself: it is not opened"
                )
        return place

    def _outside(self, spec: str) -> SandboxRefused:
        return SandboxRefused(
            f"{_shown(spec)} lies outside {self._roots_shown()}; to allow it, add its directory "
            "to WORKERS_ALLOWED_ROOTS"
        )

    def _roots_shown(self) -> str:
        return ", ".join(_shown(str(root)) for root in self._roots)

    def _name(self, place: Place) -> str:
        """Relative to the first root; files of another root carry that root's name in front."""
        if place.root == self._roots[0]:
            return _shown(place.below)
        return _shown(f"{place.root.name}/{place.below}")

    # ---- opening -------------------------------------------------------------------------

    @contextlib.contextmanager
    def _directory(self, root: Path, parts: Sequence[str], *, make: bool = False) -> Iterator[int]:
        """A descriptor of the directory, reached without following a link."""
        fd = os.open(root, DIR_FLAGS & ~os.O_NOFOLLOW)
        try:
            for part in parts:
                if make:
                    with contextlib.suppress(FileExistsError):
                        os.mkdir(part, dir_fd=fd)
                inner = os.open(part, DIR_FLAGS, dir_fd=fd)
                os.close(fd)
                fd = inner
            yield fd
        finally:
            os.close(fd)

    @contextlib.contextmanager
    def _open(self, place: Place) -> Iterator[BinaryIO]:
        if not place.parts:
            raise WrongUse(f"{place.path} is a directory")
        try:
            with self._directory(place.root, place.parts[:-1]) as directory:
                name = place.parts[-1]
                # Looked at before it is opened too: opening some devices has effects.
                _regular(place, os.stat(name, dir_fd=directory, follow_symlinks=False))
                fd = os.open(name, READ_FLAGS, dir_fd=directory)
                with os.fdopen(fd, "rb") as file:
                    _regular(place, os.fstat(fd))
                    yield file
        except OSError as error:
            raise _os_refusal(place, error) from error


def _os_refusal(place: Place, error: OSError) -> WorkersError:
    if error.errno == errno.ELOOP:
        return SandboxRefused(f"{_shown(place.below)} became a link while it was being opened")
    return WrongUse(f"{_shown(place.below)} cannot be opened: {error.strerror or error}")


def _regular(place: Place, status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise SandboxRefused(f"{_shown(place.below)} is not a regular file: it is not opened")


def _head(file: BinaryIO, limit: int) -> tuple[bytes, bool]:
    raw = file.read(limit + 1)
    return raw[:limit], len(raw) > limit


def _lines(file: BinaryIO, wanted: Wanted, limit: int) -> tuple[bytes, bool]:
    """Bytes of the wanted lines, at most `limit`; the second value: there were more."""
    if file.read(4).startswith(WIDE_BOMS):
        raise WrongUse(f"{_shown(wanted.place.below)} is UTF-16 or UTF-32: ask for the whole file")
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
    raise WrongUse(f"{_shown(wanted.place.below)} is too large to look for line {wanted.first}")


def _old_mode(place: Place, directory: int) -> int | None:
    try:
        status = os.stat(place.parts[-1], dir_fd=directory, follow_symlinks=False)
    except FileNotFoundError:
        return None
    _regular(place, status)
    return stat.S_IMODE(status.st_mode)


def _replace(directory: int, name: str, data: bytes, mode: int | None) -> None:
    """Write beside the target, flush, and take its place in one step."""
    staged = f".{name[:100]}.{randomness.token_hex(4)}"
    fd = os.open(staged, WRITE_FLAGS, 0o666 if mode is None else 0o600, dir_fd=directory)
    try:
        with os.fdopen(fd, "wb") as file:
            file.write(data)
            file.flush()
            if mode is not None:
                os.fchmod(file.fileno(), mode)
            os.fsync(file.fileno())
        os.rename(staged, name, src_dir_fd=directory, dst_dir_fd=directory)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(staged, dir_fd=directory)
        raise


def _shown(path: str) -> str:
    """A path fit for a message: bytes that are no text and control characters are escaped."""
    text = path.encode("utf-8", "surrogateescape" if _escapable(path) else "replace")
    shown = text.decode("utf-8", "backslashreplace")
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in shown)


def _escapable(path: str) -> bool:
    return not any("\ud800" <= char < "\udc80" or "\udcff" < char <= "\udfff" for char in path)


def _join(*notes: str) -> str:
    return "; ".join(note for note in notes if note)
