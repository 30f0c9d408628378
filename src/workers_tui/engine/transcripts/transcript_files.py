"""Which directories hold transcripts, whose they are, and which files lie there.

A place reached twice (by a symlink, or named twice) is one. Nothing here opens
a transcript; what cannot be listed, or is no file, is told, and the rest goes on.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from stat import S_ISREG

MANAGER = ""
"""The owner of the user's own transcripts."""
ENDING = ".jsonl"


@dataclass(frozen=True, slots=True)
class Source:
    """One configuration directory of Claude Code."""

    owner: str
    """MANAGER, or the name of a worker identity."""
    root: str
    """Real path of the directory that has `projects` in it."""


@dataclass(frozen=True, slots=True)
class TranscriptFile:
    """One file as the directory shows it."""

    path: str
    project: str
    """Name of the directory under `projects`."""
    session: str
    """The session that its place names."""
    device: int
    inode: int
    size: int
    mtime: int


@dataclass(slots=True)
class Listing:
    """The files of a source, and what could not be looked at."""

    files: list[TranscriptFile] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)


def find_sources(
    environ: Mapping[str, str],
    *,
    claude_dirs: Sequence[Path] = (),
    workers_root: Path | None = None,
) -> list[Source]:
    """The manager's directories, and one for each worker identity.

    Without `claude_dirs`, those of CLAUDE_CONFIG_DIR, else the two usual ones.
    """
    chosen = [str(path) for path in claude_dirs] or _configured(environ)
    manager = [Source(MANAGER, root) for root in _real(chosen)]
    root = workers_root or environ.get("CLAUDE_WORKERS_ROOT") or Path.home() / ".claude-workers"
    taken = {source.root for source in manager}
    return manager + [one for one in _identities(Path(root)) if one.root not in taken]


def _configured(environ: Mapping[str, str]) -> list[str]:
    said = [part.strip() for part in environ.get("CLAUDE_CONFIG_DIR", "").split(",")]
    home = Path.home()
    return [part for part in said if part] or [str(home / ".claude"), str(home / ".config/claude")]


def _real(paths: Sequence[str]) -> list[str]:
    """Real paths, each once; someone may name the `projects` directory itself."""
    real = [os.path.realpath(Path(path).expanduser()) for path in paths]
    trimmed = [
        path[: -len("/projects")]
        if path.endswith("/projects") and not Path(path, "projects").is_dir()
        else path
        for path in real
    ]
    return list(dict.fromkeys(trimmed))


def _identities(root: Path) -> list[Source]:
    try:
        names = sorted(entry.name for entry in os.scandir(root) if entry.is_dir())
    except OSError:
        return []
    return [
        Source(name, os.path.realpath(root / name)) for name in names if not name.startswith(".")
    ]


def list_files(source: Source) -> Listing:
    """Every transcript of a source. A missing directory has none."""
    found = Listing()
    if not is_text(source.root):
        found.unreadable.append(_nameless(source.root))
        return found
    top = os.path.join(source.root, "projects")  # noqa: PTH118 - pathlib is ten times slower here
    seen = {os.path.realpath(top)}
    pending = [(top, "", "")]
    while pending:
        directory, project, session = pending.pop()
        try:
            with os.scandir(directory) as entries:
                pending += _look(entries, project, session, seen, found)
        except FileNotFoundError:
            continue  # it went away meanwhile
        except OSError as error:
            found.unreadable.append(_why(directory, error))
    found.files = _once(found.files)
    return found


def _look(
    entries: Iterator[os.DirEntry[str]],
    project: str,
    session: str,
    seen: set[str],
    found: Listing,
) -> list[tuple[str, str, str]]:
    """Take the files of one directory; returns its subdirectories."""
    deeper = []
    for entry in entries:
        try:
            if _take(entry, project, session, found) and (
                not entry.is_symlink() or _first_time(entry.path, seen)
            ):
                inner = (project, session or entry.name) if project else (entry.name, "")
                deeper.append((entry.path, *inner))
        except FileNotFoundError:
            continue  # it went away meanwhile
        except OSError as error:
            found.unreadable.append(_why(entry.path, error))
    return deeper


def _take(entry: os.DirEntry[str], project: str, session: str, found: Listing) -> bool:
    """Take a transcript, tell what cannot be one; True for a directory to look into."""
    named = entry.name.endswith(ENDING)
    if not is_text(entry.name):
        if named or entry.is_dir():
            found.unreadable.append(_nameless(entry.path))
        return False
    if named and entry.is_file():
        stat, stem = entry.stat(), session or entry.name[: -len(ENDING)]
        found.files.append(_file(entry.path, project, stem, stat))
        return False
    directory = entry.is_dir()
    if named:
        kind = "a directory" if directory else "no file"
        found.unreadable.append(f"{entry.path}: {kind}, though its name is a transcript's")
    return directory


def _file(path: str, project: str, session: str, stat: os.stat_result) -> TranscriptFile:
    return TranscriptFile(
        path, project, session, stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns
    )


def _once(files: list[TranscriptFile]) -> list[TranscriptFile]:
    """A file with several names under the one that no link leads to, else the first."""
    if len({(file.device, file.inode) for file in files}) == len(files):
        return files
    best: dict[tuple[int, int], TranscriptFile] = {}
    for file in sorted(
        files, key=lambda file: (os.path.realpath(file.path) != file.path, file.path)
    ):
        best.setdefault((file.device, file.inode), file)
    return list(best.values())


def _why(path: str, error: OSError) -> str:
    return f"{path}: {error.strerror or error}"


def is_text(name: str) -> bool:
    """False for a name that is not UTF-8: neither the index nor JSON could hold it."""
    return name.isascii() or not any("\ud800" <= character <= "\udfff" for character in name)


def _nameless(path: str) -> str:
    told = os.fsencode(path).decode(errors="replace")
    return f"{told}: its name is no UTF-8"


def _first_time(path: str, seen: set[str]) -> bool:
    """False when a symlink leads to a directory that was visited or contains this one."""
    real = os.path.realpath(path)
    above = os.path.realpath(os.path.dirname(path))  # noqa: PTH120 - as all of this walk
    if real in seen or f"{above}/".startswith(f"{real}/"):
        return False
    seen.add(real)
    return True


def file_at(source: Source, path: str) -> TranscriptFile | None:
    """One file by its path, as the listing would show it; None when it is none of the source's."""
    top = f"{source.root}/projects/"
    if not path.startswith(top) or not path.endswith(ENDING) or not is_text(path):
        return None
    parts = path[len(top) :].split("/")
    try:
        stat = os.stat(path)  # noqa: PTH116 - called for every wake-up
    except OSError:
        return None
    if not S_ISREG(stat.st_mode):
        return None  # the next listing tells of it
    project = parts[0] if len(parts) > 1 else ""
    session = parts[1] if len(parts) > 2 else parts[-1][: -len(ENDING)]
    return _file(path, project, session, stat)
