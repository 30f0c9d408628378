"""Paths that a caller named, resolved and opened below the roots and nowhere else.

Every path is resolved, must lie under one of the roots, and is then opened part
by part from the root without following a link: a path that is swapped between
the check and the opening fails instead of leaving the sandbox.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from workers_tui.engine.errors import SandboxRefused, WorkersError, WrongUse

DIR_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# O_NONBLOCK: a FIFO put in a file's place must not hold the thread.
READ_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC

SAID = 100
"""Characters that are said again of a path that is too long to be one."""


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


class Roots:
    """The directories one caller may use. Raises WrongUse and SandboxRefused."""

    def __init__(self, roots: Sequence[Path], private: Sequence[Path] = ()) -> None:
        """`private` directories are never opened, wherever the roots are."""
        self._roots = [Path(os.path.realpath(root)) for root in roots]
        self._private = [Path(os.path.realpath(path)) for path in private]

    def locate(self, spec: str) -> Place:
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
            raise WrongUse(f"{shown(spec)} names no file") from None
        for root in self._roots:
            if real.is_relative_to(root):
                place = Place(root, real.relative_to(root).parts)
                _check_length(place, spec)
                return self._not_private(place, spec)
        raise self._outside(spec)

    def _not_private(self, place: Place, spec: str) -> Place:
        for private in self._private:
            # A project that lies inside our home was put there by its owner.
            inside = place.root != private and place.root.is_relative_to(private)
            if place.path.is_relative_to(private) and not inside:
                raise SandboxRefused(
                    f"{shown(spec)} belongs to workers-tui itself: it is not opened"
                )
        return place

    def _outside(self, spec: str) -> SandboxRefused:
        return SandboxRefused(
            f"{shown(spec)} lies outside {self.shown()}; to allow it, add its directory "
            "to WORKERS_ALLOWED_ROOTS"
        )

    def shown(self) -> str:
        """All of them, for a message."""
        return ", ".join(shown(str(root)) for root in self._roots)

    def name(self, place: Place) -> str:
        """Relative to the first root; files of another root carry that root's name in front."""
        if place.root == self._roots[0]:
            return shown(place.below)
        return shown(f"{place.root.name}/{place.below}")

    @contextlib.contextmanager
    def directory(self, root: Path, parts: Sequence[str], *, make: bool = False) -> Iterator[int]:
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
    def open(self, place: Place) -> Iterator[BinaryIO]:
        """A regular file, for reading."""
        if not place.parts:
            raise WrongUse(f"{place.path} is a directory")
        try:
            with self.directory(place.root, place.parts[:-1]) as directory:
                name = place.parts[-1]
                # Looked at before it is opened too: opening some devices has effects.
                check_regular(place, os.stat(name, dir_fd=directory, follow_symlinks=False))
                fd = os.open(name, READ_FLAGS, dir_fd=directory)
                with os.fdopen(fd, "rb") as file:
                    check_regular(place, os.fstat(fd))
                    yield file
        except OSError as error:
            raise _os_refusal(place, error) from error


def _check_length(place: Place, spec: str) -> None:
    """Raises WrongUse for a path, or a name in it, that is too long; it need not exist."""
    longest = max(place.parts, key=lambda part: len(os.fsencode(part)), default="")
    try:
        for path in (place.path, place.root / longest):  # in a new directory no name is looked at
            with contextlib.suppress(FileNotFoundError, NotADirectoryError, PermissionError):
                path.lstat()
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            said = f"{shown(spec[:SAID])}… names no file: {error.strerror}"
            raise WrongUse(said) from None


def _os_refusal(place: Place, error: OSError) -> WorkersError:
    if error.errno == errno.ELOOP:
        return SandboxRefused(f"{shown(place.below)} became a link while it was being opened")
    return WrongUse(f"{shown(place.below)} cannot be opened: {error.strerror or error}")


def check_regular(place: Place, status: os.stat_result) -> None:
    """Raises SandboxRefused for a device, a pipe or a socket."""
    if not stat.S_ISREG(status.st_mode):
        raise SandboxRefused(f"{shown(place.below)} is not a regular file: it is not opened")


def shown(path: str) -> str:
    """A path fit for a message: bytes that are no text and control characters are escaped."""
    text = path.encode("utf-8", "surrogateescape" if _escapable(path) else "replace")
    shown = text.decode("utf-8", "backslashreplace")
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in shown)


def _escapable(path: str) -> bool:
    return not any("\ud800" <= char < "\udc80" or "\udcff" < char <= "\udfff" for char in path)
