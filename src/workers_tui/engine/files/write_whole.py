"""An answer that becomes a file: checked before money is spent, written whole or not at all."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pathspec import GitIgnoreSpec

from workers_tui.engine.errors import SandboxRefused, WorkFailed, WrongUse
from workers_tui.engine.files.confined import Place, Roots, check_regular, shown
from workers_tui.engine.files.denied import obeyed_file
from workers_tui.home.files import (
    UNFINISHED,
    is_abandoned,
    is_directory,
    is_there,
    is_unfinished,
)

WRITE_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
SHORT = 200
"""Bytes of a target's name in that of the file that takes its place: 255 is a name's most."""


@dataclass(frozen=True, slots=True)
class Written:
    """An answer that became a file."""

    path: Path
    lines: int


def check_target(roots: Roots, target: str, denied: GitIgnoreSpec) -> Place:
    """The place that may be written. Raises WrongUse and SandboxRefused."""
    place = roots.locate(target)
    if not place.parts or target.endswith("/") or is_directory(place.path):
        raise WrongUse(f"{shown(target)} is a directory: name a file to write to")
    if os.path.lexists(place.path) and not place.path.is_file():
        raise SandboxRefused(f"{shown(target)} is not a regular file: it is not written")
    why = obeyed_file(str(place.path)) or obeyed_file("/" + target)
    if why:
        raise SandboxRefused(
            f"{shown(target)} is not written by a worker: {why} (let it write to another "
            "name, read that, and move it yourself)"
        )
    if denied.match_file(place.below):
        raise SandboxRefused(f"{shown(target)} is on the deny_write list of models.json")
    _check_parent(place)
    return place


def write_whole(
    roots: Roots, place: Place, text: str, keep: Callable[[Path], None] | None
) -> Written:
    """Replace the file; `keep` gets its path first when it exists. Raises WorkFailed."""
    try:
        with roots.directory(place.root, place.parts[:-1], make=True) as directory:
            mode = _old_mode(place, directory)
            if mode is not None and keep is not None:
                keep(place.path)
            _replace(directory, place.parts[-1], text.encode("utf-8", "replace"), mode)
    except OSError as error:
        raise WorkFailed(
            f"{shown(str(place.path))} could not be written ({error.strerror or error}); "
            "the old file is untouched and the answer is kept under its job id"
        ) from error
    lines = text.count("\n") + (not text.endswith("\n") and text != "")
    return Written(place.path, lines)


def _check_parent(place: Place) -> None:
    """Before money is spent: the directory can be made, or is there and can be written."""
    above = place.path.parent
    while not is_there(above) and above != place.root:
        above = above.parent
    if not is_directory(above):
        raise WrongUse(f"{shown(str(above))} is not a directory: nothing can be written in it")
    if not os.access(above, os.W_OK | os.X_OK):
        raise WrongUse(f"{shown(str(above))} cannot be written: Permission denied")


def _old_mode(place: Place, directory: int) -> int | None:
    try:
        status = os.stat(place.parts[-1], dir_fd=directory, follow_symlinks=False)
    except FileNotFoundError:
        return None
    check_regular(place, status)
    return stat.S_IMODE(status.st_mode)


def _replace(directory: int, name: str, data: bytes, mode: int | None) -> None:
    """Write beside the target, flush, and take its place in one step."""
    short = os.fsencode(name)[:SHORT].decode("utf-8", "ignore")
    staged = f".{short}.{secrets.token_hex(4)}{UNFINISHED}"
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
    _sweep(directory, short)


def _sweep(directory: int, target: str) -> None:
    """Remove what a kill in the middle of an earlier answer for this file left."""
    with contextlib.suppress(OSError):
        for name in os.listdir(directory):
            if is_unfinished(name, target) and is_abandoned(
                os.stat(name, dir_fd=directory, follow_symlinks=False)
            ):
                os.unlink(name, dir_fd=directory)
